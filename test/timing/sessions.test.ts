import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { Sessions } from '../../src/live/sessions.ts'

test('a shutdown ends every session, spread over the grace period', async () => {
  const sessions = new Sessions(() => undefined)
  const ended: number[] = []
  const session = { tenantId: newId(), credential: null, endsAt: Infinity, end: () => ended.push(Date.now()) }
  for (let n = 0; n < 4; n++) sessions.enter({ ...session })
  const begun = Date.now()
  await sessions.endAll(400)
  expect(ended).toHaveLength(4)
  expect((ended.at(-1) ?? 0) - begun).toBeGreaterThanOrEqual(250)
})
