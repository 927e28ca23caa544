import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import { counter, gauge, histogram, metricsOf } from '../core/telemetry/metrics.ts'
import { isLockFailure } from '../core/database/locks.ts'
import { endpointKey } from './statements/lease-sql.ts'
import { type Outcome, recordAttempts } from './statements/record-sql.ts'

export interface Recorder {
  /**
   * Resolves once the outcome is recorded, or dropped. Returns whether its endpoint has more
   * deliveries due.
   */
  record(outcome: Outcome): Promise<boolean>
  /** Stops retrying. */
  close(): void
}

interface PendingOutcome {
  outcome: Outcome
  since: number
  done: (hasMore: boolean | Promise<boolean>) => void
}

const BATCH = 200
const PAUSE_MS = 500
// After this long the lease has ended, and another attempt is under way.
const GIVE_UP_MS = 60_000

/**
 * Records outcomes, those of all tenants together. If a row of one of them is locked, each tenant
 * of that batch continues alone until it has none left, so that no tenant's outcomes wait for
 * another tenant's row.
 */
export function createRecorder(app: App): Recorder {
  const apart = new Map<Id, { recorder: Recorder; outcomes: number }>()
  let isClosed = false
  const registry = metricsOf(app)
  const batches = histogram(registry, 'write_batch_rows')
  const openLanes = gauge(registry, 'write_lanes').labels('outcomes')
  const laneRows = counter(registry, 'write_lane_rows_total').labels('outcomes')

  const openLane = (): { recorder: Recorder; outcomes: number } => {
    const { observe } = batches.labels('outcomes_in_lane')
    openLanes.inc()
    return { recorder: createLine(app, observe), outcomes: 0 }
  }

  const recordApart = async (outcome: Outcome): Promise<boolean> => {
    const { tenantId } = outcome.lease
    const lane = apart.get(tenantId) ?? openLane()
    if (isClosed) lane.recorder.close()
    apart.set(tenantId, lane)
    lane.outcomes++
    laneRows.inc()
    const hasMore = await lane.recorder.record(outcome)
    if (--lane.outcomes === 0 && apart.delete(tenantId)) openLanes.dec()
    return hasMore
  }

  const together = createLine(app, batches.labels('outcomes').observe, recordApart)
  return {
    record: (outcome) => (apart.has(outcome.lease.tenantId) ? recordApart(outcome) : together.record(outcome)),
    close: () => {
      isClosed = true
      together.close()
      for (const { recorder } of apart.values()) recorder.close()
    },
  }
}

/**
 * Batches outcomes: those that arrive during a statement go together into the next one; a lone one
 * goes at once. `onBatch` gets the size of each batch; `elsewhere` takes a batch that met a lock.
 */
function createLine(
  app: App,
  onBatch: (rows: number) => void,
  elsewhere?: (outcome: Outcome) => Promise<boolean>,
): Recorder {
  const queue: PendingOutcome[] = []
  let writing = false
  let closed = false

  async function drain(): Promise<void> {
    let size = BATCH
    while (queue.length > 0 && !closed) {
      const batch = queue.slice(0, size)
      onBatch(batch.length)
      try {
        const { waiting } = await recordAttempts(
          app.db.query,
          batch.map(({ outcome }) => outcome),
        )
        queue.splice(0, batch.length)
        const keys = new Set(waiting.map(endpointKey))
        for (const { done, outcome } of batch) done(keys.has(endpointKey(outcome.lease)))
        size = BATCH
      } catch (err) {
        if (elsewhere !== undefined && isLockFailure(err)) {
          for (const { done, outcome } of queue.splice(0, batch.length)) done(elsewhere(outcome))
          continue
        }
        // From here on one by one: a row that the database refuses must not block the others.
        size = 1
        app.log.warn({ err }, 'attempts could not be recorded; trying again')
        giveUpOld()
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      }
    }
    writing = false
  }

  /** Moves the oldest to the end of the line, so that the others get their turn, or drops it. */
  function giveUpOld(): void {
    const oldest = queue.shift()
    if (oldest === undefined) return
    if (performance.now() - oldest.since < GIVE_UP_MS) queue.push(oldest)
    else oldest.done(false)
  }

  return {
    record: (outcome) =>
      new Promise((done) => {
        queue.push({ outcome, since: performance.now(), done })
        if (writing) return
        writing = true
        void drain()
      }),
    close: () => void (closed = true),
  }
}
