import { expect, test } from 'vitest'

import { pendingChanges } from '../../src/data/migrate.ts'
import { openTestDatabase } from '../harness/database.ts'

test('the migrations lead to schema.prisma: nothing is left to change', async () => {
  const { adapter, close } = await openTestDatabase()
  try {
    expect(await pendingChanges(adapter)).toBe('')
  } finally {
    await close()
  }
})
