import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import { startLoop } from './loop.ts'

/** A task of the worker. */
export interface Task {
  wake(): void
  /** Takes no more work, waits for work under way up to `graceMs`, and gives the rest back. */
  stop(graceMs: number): Promise<void>
}

/** How a task handles its pieces of work. */
interface TaskOptions<T> {
  name: string
  /** The most pieces under way in one worker. */
  maxInFlight: number
  /** Leases up to `limit` due pieces; `inFlight` are those under way in this worker. */
  lease(limit: number, inFlight: Iterable<T>): Promise<T[]>
  /**
   * Does one piece, and records the result. If `signal` is aborted, the piece is given back
   * instead.
   */
  perform(piece: T, signal: AbortSignal): Promise<void>
  /** Gives a piece back; it is due again at once. */
  release(piece: T): Promise<unknown>
  /** Identifies a piece in the log. */
  idsOf(piece: T): object
}

/** Leases due pieces of work and does them concurrently; any number of workers may run it. */
export function startTask<T>(app: App, work: TaskOptions<T>): Task {
  const { name, maxInFlight, lease, perform, release, idsOf } = work
  const inFlight = new Map<T, { giveUp: AbortController; over: Promise<void> }>()
  let stopping = false
  const loop = startLoop({ name, pollMs: app.settings.WEBHOOK_POLL_SECONDS * 1000, log: app.log, work: fill })

  async function fill(): Promise<void> {
    const limit = maxInFlight - inFlight.size
    if (limit <= 0) return
    const due = await lease(limit, inFlight.keys())
    if (stopping) return void (await Promise.all(due.map(release)))
    for (const piece of due) start(piece)
  }

  function start(piece: T): void {
    const giveUp = new AbortController()
    const over = perform(piece, giveUp.signal)
      .catch((err: unknown) => app.log.warn({ err, task: name, ...idsOf(piece) }, 'work of this task has failed'))
      .finally(() => {
        inFlight.delete(piece)
        // Other pieces may wait for the slot; if none do, one query costs little.
        loop.wake()
      })
    inFlight.set(piece, { giveUp, over })
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true
    await withinMs(
      graceMs,
      loop.stop().then(() => Promise.all([...inFlight.values()].map(({ over }) => over))),
    )
    const rest = [...inFlight]
    for (const [, { giveUp }] of rest) giveUp.abort(new Error('stopping'))
    await withinMs(1000, Promise.all(rest.map(([piece]) => release(piece))))
  }

  return { wake: loop.wake, stop }
}

/** The number of pieces for each tenant. */
export function countByTenant(pieces: Iterable<{ tenantId: Id }>): Map<Id, number> {
  const counts = new Map<Id, number>()
  for (const { tenantId } of pieces) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
  return counts
}

/** Waits for `work`, at most `ms`, and ignores its result. */
export async function withinMs(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([work.catch(() => undefined), late])
  clearTimeout(timer)
}
