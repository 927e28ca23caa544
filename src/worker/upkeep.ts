import type { App } from '../core/context.ts'
import { holdDeliveries, releaseHeld } from '../domains/webhooks/holding-sql.ts'
import { deleteExpiredSecrets, deleteOldDeliveries, deleteOldEvents } from '../domains/webhooks/retention-sql.ts'
import { type Loop, startLoop } from './loop.ts'

const HOLDING_MS = 5000
const RETENTION_MS = 60_000
/** Rows that one statement touches: long ones would keep locks from those who wait, and a stop waiting. */
const BATCH = 2000

type Batch = (limit: number) => Promise<number>

/** A loop whose work is done in batches, each kind until one is not full. A stop waits for one batch at most. */
function startBatches(app: App, name: string, pollMs: number, kinds: readonly Batch[]): Loop {
  let stopping = false
  const loop = startLoop({
    name,
    pollMs,
    log: app.log,
    work: async () => {
      for (const batch of kinds) while (!stopping && (await batch(BATCH)) === BATCH);
    },
  })
  return {
    ...loop,
    stop: () => {
      stopping = true
      return loop.stop()
    },
  }
}

/** Holds what waits for disabled endpoints, and queues what is still held of those that are on again. */
export const startHolding = (app: App): Loop =>
  startBatches(app, 'holding', HOLDING_MS, [
    (limit) => holdDeliveries(app.db.query, limit),
    (limit) => releaseHeld(app.db.query, limit),
  ])

/** Deletes what nobody keeps any longer. Deliveries first: events stay while a delivery may need them. */
export const startRetention = (app: App): Loop =>
  startBatches(app, 'retention', RETENTION_MS, [
    (limit) => deleteOldDeliveries(app.db.query, limit),
    (limit) => deleteOldEvents(app.db.query, limit),
    (limit) => deleteExpiredSecrets(app.db.query, limit),
  ])
