import { RowCosts } from './row-costs.ts'
import { inBatches, type BatchEntry } from './batches.ts'
import { type App, perApp } from '../app.ts'
import { ServiceError } from '../errors.ts'
import type { Id } from '../ids.ts'
import { counter, gauge, histogram, metricsOf } from '../telemetry/metrics.ts'
import { troubleOf } from '../outage.ts'
import { isStuck, ofTenant, Semaphore, tooBusy } from './patience.ts'
import { isLockFailure } from '../database/locks.ts'
import type { Span } from '../span.ts'
import { tracedFor } from '../telemetry/trace.ts'

/** The most rows in one statement: a larger batch only makes its first row wait longer. */
const MAX_BATCH = 128

/** How long a statement may take where other tenants may wait for it. */
const SHORT_MS = 50

/**
 * How long a statement may take while only one tenant writes: longer ones write more rows a second.
 */
const LONG_MS = 200

/** The most rows that wait for one lock: clients of further rows would time out. */
const MAX_IN_LANE = 1000

/** The most rows that wait in one turn. */
const MAX_IN_TURN = 50

/**
 * Errors by which PostgreSQL refused the statement. Any other error may have come after the commit,
 * so its rows must not be retried.
 */
const SQLSTATE = /^(?!08|57P|XX|40003)[0-9A-Z]{5}$/

/** What to do with rows whose discussion is locked by another transaction. */
export type IfLocked = 'wait' | 'skip'

/** Rows of one kind that are written together. */
export interface SharedWrite<Draft, Result> {
  /** The name in metrics. */
  name: 'comments' | 'reactions'
  /**
   * Writes drafts in one statement, which is one transaction; the results are in the same order.
   * With `skip` it waits for no discussion's lock: rows of a locked discussion come back as busy.
   */
  write(app: App, drafts: readonly Draft[], ifLocked: IfLocked): Promise<Result[]>
  /** Whether the row was not written because its discussion was locked. */
  isBusy(result: Result): boolean
  tenantOf(draft: Draft): Id
  /** The key of a lane: the draft's discussion, or a stand-in until that is known. */
  placeOf(draft: Draft, app: App): Id
  /**
   * Drafts of one turn are written one after the other, because a statement does not see
   * uncommitted rows of another one. Null: the draft depends on no other.
   */
  turnOf(draft: Draft): string | null
  /** The span of the request, if it is traced. */
  spanOf(draft: Draft): Span | undefined
}

/** Writes a draft on behalf of the request whose app is `requester`. */
export type SharedWriter<Draft, Result> = (requester: App, draft: Draft) => Promise<Result>

/** A draft that waits for a statement. It is dropped after `until`, or once `isGone`. */
interface Queued<Draft> {
  draft: Draft
  until: number
  isGone: (() => boolean) | undefined
}

type Write<Draft, Result> = (queued: Queued<Draft>) => Promise<Result>

/**
 * Queues of drafts by key: lanes by tenant and discussion, lines by their number, and each tenant's
 * way to its line. A queue is there while it has drafts that wait or are being written.
 */
class Queues<Draft, Result> {
  readonly #open: (draft: Draft) => Write<Draft, Result>
  readonly #queues = new Map<string, { write: Write<Draft, Result>; drafts: number }>()

  constructor(open: (draft: Draft) => Write<Draft, Result>) {
    this.#open = open
  }

  get size(): number {
    return this.#queues.size
  }

  draftsIn(key: string): number {
    return this.#queues.get(key)?.drafts ?? 0
  }

  async write(key: string, queued: Queued<Draft>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { write: this.#open(queued.draft), drafts: 0 }
    this.#queues.set(key, queue)
    queue.drafts++
    try {
      return await queue.write(queued)
    } finally {
      if (--queue.drafts === 0) this.#queues.delete(key)
    }
  }
}

/**
 * Writes the process's rows of one kind. Nothing is acknowledged before its commit.
 *
 * Rows that come at the same time share one statement, whatever tenant they are of. It waits for
 * the lock of no discussion: where one is taken, the discussion's rows go on in a lane of their
 * own, which does wait. So do all rows of a tenant whose writes wait for some other lock. A tenant
 * whose rows take long writes apart from the others (`RowCosts`): such tenants share a few lines,
 * each with one statement at a time, which use a quarter of the connections. A request with a
 * transaction of its own writes alone, in that.
 *
 *     draft ── turn ─┬─ its lane is open, or its tenant waits ──────────► lane of its discussion
 *                    │                                                        ▲
 *                    └─ shared queue ─┬─ most tenants: one statement ── busy ─┤
 *                                     └─ slow tenants: shortest line ── busy ─┘
 */
export function sharedWriter<Draft, Result>(kind: SharedWrite<Draft, Result>): SharedWriter<Draft, Result> {
  const writers = perApp((app) => inTurns(kind, writerOf(app, kind)))
  return async (requester, draft) => {
    if (requester.scope === undefined) {
      const until = performance.now() + requester.db.maxWaitMs
      return writers(requester)({ draft, until, isGone: requester.isGone })
    }
    const [result] = await kind.write(requester, [draft], 'wait')
    if (result === undefined) throw new Error('the statement lost a row')
    return result
  }
}

function writerOf<Draft, Result>(app: App, kind: SharedWrite<Draft, Result>): Write<Draft, Result> {
  const { name, tenantOf, placeOf } = kind
  const registry = metricsOf(app)
  const batches = histogram(registry, 'write_batch_rows')
  const openLanes = gauge(registry, 'write_lanes').labels(name)
  const laneRows = counter(registry, 'write_lane_rows_total').labels(name)
  const costs = new RowCosts()
  const tenantsOf = (entries: readonly BatchEntry<Queued<Draft>, Result>[]): Id[] =>
    entries.slice(0, MAX_BATCH).map(({ input }) => tenantOf(input.draft))
  // On a single connection all statements wait for one another: queue them here, so that waiting
  // does not count as a statement's duration.
  const isLone = app.db.connections === 1
  const turns = new Semaphore(isLone ? 1 : Infinity)
  const apartMs = isLone ? SHORT_MS : LONG_MS
  const fittingApart = (queue: readonly BatchEntry<Queued<Draft>, Result>[]): number =>
    costs.fitting(tenantsOf(queue), apartMs)

  const insert = (writing: App, ifLocked: IfLocked, where: '' | '_apart' | '_in_lane') => {
    const sizes = batches.labels(`${name}${where}`)
    return async (drafts: readonly Draft[]): Promise<Result[]> => {
      sizes.observe(drafts.length)
      const spans = drafts.flatMap((draft) => kind.spanOf(draft) ?? [])
      const write = (): Promise<Result[]> => kind.write(tracedFor(writing, spans), drafts, ifLocked)
      // Only statements that wait for no lock teach the costs, and only by the rows that they
      // wrote.
      if (ifLocked === 'wait') return write()
      return turns.run(async () => {
        const started = performance.now()
        const results = await write()
        const isTypical = !results.some((result) => kind.isBusy(result))
        if (isTypical) costs.learn(drafts.map(tenantOf), performance.now() - started)
        return results
      })
    }
  }

  /** The tenant is part of the key: a tenant may send the id of another's discussion. */
  const keyOf = (draft: Draft): string => `${tenantOf(draft)} ${placeOf(draft, app)}`
  const lanes = new Queues<Draft, Result>((draft) => {
    const waiting = insert(ofTenant(app, tenantOf(draft)), 'wait', '_in_lane')
    return inBatches(fittingApart, (batch) => flush(kind, waiting, batch))
  })
  const inLane: Write<Draft, Result> = async (queued) => {
    const key = keyOf(queued.draft)
    if (lanes.draftsIn(key) >= MAX_IN_LANE) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    laneRows.inc()
    const written = lanes.write(key, queued)
    openLanes.set(lanes.size)
    return written.finally(() => openLanes.set(lanes.size))
  }

  const apartFrom = insert(app, 'skip', '_apart')
  const lines = new Queues<Draft, Result>(() =>
    inBatches(fittingApart, (batch) => {
      costs.heavy(tenantsOf(batch))
      return flush(kind, apartFrom, batch, inLane)
    }),
  )
  const lineKeys = Array.from({ length: Math.max(1, Math.floor(app.db.connections / 4)) }, (_, n) => `${n}`)
  /** By tenant: the line in which its rows wait. A tenant takes the shortest. */
  const apart = new Queues<Draft, Result>(() => {
    const key = lineKeys.reduce((one, other) => (lines.draftsIn(other) < lines.draftsIn(one) ? other : one))
    return (queued) => lines.write(key, queued)
  })

  const together = insert(app, 'skip', '')
  const isApart = (tenant: Id): boolean => apart.draftsIn(tenant) > 0
  // Rows that are written apart pass through this queue too, so that a tenant's rows keep their
  // order.
  const shared = inBatches<Queued<Draft>, Result>(
    (queue) => {
      if (queue.length === 1) return 1
      const tenants = tenantsOf(queue).map((tenant) => (isApart(tenant) ? null : tenant))
      return costs.fitting(tenants, costs.isAlone ? LONG_MS : SHORT_MS)
    },
    async (batch) => {
      const heavy = costs.heavy(tenantsOf(batch))
      const rest = batch.filter(({ input, resolve, reject }) => {
        const tenant = tenantOf(input.draft)
        const stays = !heavy.has(tenant) && !isApart(tenant)
        if (!stays) apart.write(tenant, input).then(resolve, reject)
        return stays
      })
      await flush(kind, together, rest, inLane)
    },
  )
  return (queued) => {
    const tenant = tenantOf(queued.draft)
    costs.note(tenant)
    return lanes.draftsIn(keyOf(queued.draft)) > 0 || isStuck(app, tenant) ? inLane(queued) : shared(queued)
  }
}

/** Drafts of one turn run one after the other, all others at once. */
function inTurns<Draft, Result>(
  { turnOf }: SharedWrite<Draft, Result>,
  write: Write<Draft, Result>,
): Write<Draft, Result> {
  /** For each turn, the number of drafts under way, and the last one. */
  const turns = new Map<string, { drafts: number; last: Promise<unknown> }>()
  return async (queued) => {
    const key = turnOf(queued.draft)
    if (key === null) return write(queued)
    const turn = turns.get(key) ?? { drafts: 0, last: Promise.resolve() }
    if (turn.drafts >= MAX_IN_TURN) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    turns.set(key, turn)
    const written = turn.drafts++ === 0 ? write(queued) : turn.last.then(() => write(queued))
    const over = (): void => void (--turn.drafts === 0 && turns.delete(key))
    turn.last = written.then(over, over)
    return written
  }
}

/** Writes a batch; `elsewhere` takes rows that must wait for a lock. */
async function flush<Draft, Result>(
  kind: SharedWrite<Draft, Result>,
  insert: (drafts: readonly Draft[]) => Promise<Result[]>,
  all: readonly BatchEntry<Queued<Draft>, Result>[],
  elsewhere?: Write<Draft, Result>,
): Promise<void> {
  const now = performance.now()
  const batch = all.filter(({ input: { until, isGone }, reject }) => {
    const isWanted = now < until && isGone?.() !== true
    if (!isWanted) reject(tooBusy())
    return isWanted
  })
  if (batch.length === 0) return
  const move = ({ input, resolve, reject }: BatchEntry<Queued<Draft>, Result>): void => {
    elsewhere?.(input).then(resolve, reject)
  }
  try {
    const results = await insert(batch.map(({ input }) => input.draft))
    for (const [index, waiting] of batch.entries()) {
      const result = results[index]
      if (result === undefined) throw new Error('the statement lost a row')
      if (kind.isBusy(result)) move(waiting)
      else waiting.resolve(result)
    }
  } catch (error) {
    // The whole statement was rolled back. Each row is now written alone.
    if (elsewhere !== undefined && isLockFailure(error)) batch.forEach(move)
    else if (batch.length > 1 && isRefusal(error)) {
      for (const waiting of batch) await flush(kind, insert, [waiting], elsewhere)
    } else for (const { reject } of batch) reject(error)
  }
}

const isRefusal = (error: unknown): boolean => {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && SQLSTATE.test(code) && troubleOf(error) === null
}
