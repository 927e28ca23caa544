import { readFileSync } from 'node:fs'

import { expect, inject, test } from 'vitest'

import { openDump } from '../../src/data/embedded.ts'
import { pendingChanges } from '../../src/data/migrate.ts'

// On the embedded form in every run: the comparison reads a column type that Prisma's adapter for pg cannot.
test('the migrations lead to schema.prisma: nothing is left to change', async () => {
  const { adapter, close } = await openDump(new Blob([readFileSync(inject('dump'))]))
  try {
    expect(await pendingChanges(adapter)).toBe('')
  } finally {
    await close()
  }
})
