import { expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import type { Sql } from '../../src/core/database/database.ts'
import type { Outcome } from '../../src/worker/statements/record-sql.ts'
import { createRecorder } from '../../src/worker/recorder.ts'
import { figuresOf } from '../harness/figures.ts'

const outcomeOf = (tenantId: string): Outcome => ({
  lease: { tenantId, endpointId: `endpoint of ${tenantId}` } as Outcome['lease'],
  at: new Date(),
  durationMs: 1,
  statusCode: 200,
  error: null,
  responseSnippet: null,
  headers: null,
  retryInMs: null,
  wasSent: true,
  pauseMs: null,
})

/**
 * A database in which a row of the tenant `locked` is locked until `unlock`; `batches` are the
 * tenants of each statement.
 */
function lockedDatabase() {
  const batches: string[][] = []
  let isLocked = true
  const query = (async (_statement, params) => {
    const tenants = params?.[0] as string[]
    batches.push(tenants)
    await new Promise((resolve) => setImmediate(resolve))
    if (isLocked && tenants.includes('locked')) throw Object.assign(new Error('lock timeout'), { code: '55P03' })
    return [{ count: tenants.length, waiting: [] }]
  }) as Sql
  return { app: { db: { query }, log: createLog('silent') } as App, batches, unlock: () => (isLocked = false) }
}

test("a locked row of one tenant delays no other tenant's outcomes", async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const { app, batches, unlock } = lockedDatabase()
  const recorder = createRecorder(app)
  let isRecorded = false
  const first = recorder.record(outcomeOf('other'))
  const stuck = recorder.record(outcomeOf('locked')).then(() => (isRecorded = true))
  await Promise.all([first, recorder.record(outcomeOf('other'))])
  // No clock has moved: nobody has waited.
  await Promise.all([recorder.record(outcomeOf('other')), recorder.record(outcomeOf('third'))])
  expect(isRecorded).toBe(false)
  expect(await figuresOf(app)).toMatchObject({
    'write_lanes{of="outcomes"}': 1,
    'write_lane_rows_total{of="outcomes"}': 2,
  })
  unlock()
  await vi.advanceTimersByTimeAsync(500)
  await stuck
  expect(batches.filter((tenants) => tenants.includes('locked') && tenants.length > 1)).toHaveLength(1)
  // Later ones go together again.
  await Promise.all(['other', 'locked', 'other', 'locked'].map((tenantId) => recorder.record(outcomeOf(tenantId))))
  expect(batches.at(-1)).toEqual(['locked', 'other', 'locked'])
  expect(await figuresOf(app)).toMatchObject({ 'write_lanes{of="outcomes"}': 0 })
  vi.useRealTimers()
})

test("due deliveries of an endpoint do not count for another tenant's endpoint with the same id", async () => {
  const query = (async () => [{ count: 2, waiting: [{ tenantId: 'one', endpointId: 'twin' }] }]) as unknown as Sql
  const recorder = createRecorder({ db: { query }, log: createLog('silent') } as App)
  const record = (tenantId: string): Promise<boolean> => {
    const outcome = outcomeOf(tenantId)
    return recorder.record({ ...outcome, lease: { ...outcome.lease, endpointId: 'twin' } })
  }
  expect(await Promise.all([record('one'), record('other')])).toEqual([true, false])
})
