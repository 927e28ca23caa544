import { inBatches, type BatchEntry } from './batches.ts'
import { type App, perApp } from './context.ts'
import { ServiceError } from './errors.ts'
import type { Id } from './ids.ts'
import { counter, gauge, histogram, metricsOf } from './metrics.ts'
import { troubleOf } from './outage.ts'
import { isStuck, ofTenant, tooBusy } from './patience.ts'
import { isLockFailure } from './sql.ts'
import { type Span, tracedFor } from './trace.ts'

/**
 * The most rows in one statement: beyond it a batch only makes its first row wait longer.
 */
const MAX_BATCH = 128

/** The most rows that wait for one lock: more would wait longer than their clients do. */
const MAX_IN_LANE = 1000

/** The most rows that wait for one another because they share a turn. */
const MAX_IN_TURN = 50

/**
 * PostgreSQL's own refusals. Anything else may have come after the commit, and must not be tried
 * again.
 */
const SQLSTATE = /^(?!08|57P|XX|40003)[0-9A-Z]{5}$/

/** What is done with a row whose discussion another transaction has locked. */
export type IfLocked = 'wait' | 'skip'

/** Rows of one kind that are written together. */
export interface SharedWrite<Draft, Result> {
  /** By which metrics call them. */
  name: 'comments' | 'reactions'
  /**
   * Writes drafts in one statement, which is one transaction; the results are in their order. With
   * `skip` it waits for the lock of no discussion: rows there are busy.
   */
  write(app: App, drafts: readonly Draft[], ifLocked: IfLocked): Promise<Result[]>
  /** Whether nothing was written, because of a discussion that was locked. */
  isBusy(result: Result): boolean
  tenantOf(draft: Draft): Id
  /** What a lane is for: the draft's discussion, or what stands for it until it is known. */
  placeOf(draft: Draft, app: App): Id
  /**
   * Drafts of one turn are written one after the other, because a statement does not see what
   * another one has not committed yet. Null: the draft depends on no other.
   */
  turnOf(draft: Draft): string | null
  /** Of the request, where it is traced. */
  spanOf(draft: Draft): Span | undefined
}

/** Writes a draft on behalf of a request, whose app is `requester`. */
export type SharedWriter<Draft, Result> = (requester: App, draft: Draft) => Promise<Result>

/** A draft on its way to a statement. After `until`, and once `isGone`, it is not sent any more. */
interface Queued<Draft> {
  draft: Draft
  until: number
  isGone: (() => boolean) | undefined
}

type Write<Draft, Result> = (queued: Queued<Draft>) => Promise<Result>

interface Lane<Draft, Result> {
  write: Write<Draft, Result>
  /** How many drafts are waiting in it or being written. */
  drafts: number
}

/**
 * Writes the process's rows of one kind. Nothing is acknowledged before its commit.
 *
 * Rows that come at the same time share one statement, whatever tenant they are of. It waits for
 * the lock of no discussion: where one is taken, the discussion's rows go on in a lane of their
 * own, which does wait. So do all rows of a tenant whose writes wait for some other lock. A request
 * with a transaction of its own writes alone, in that.
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
  const sizes = { skip: batches.labels(name), wait: batches.labels(`${name}_in_lane`) }
  const openLanes = gauge(registry, 'write_lanes').labels(name)
  const laneRows = counter(registry, 'write_lane_rows_total').labels(name)
  /**
   * By tenant and place: a tenant may name a discussion of another. Each is there while it has rows
   * to write.
   */
  const lanes = new Map<string, Lane<Draft, Result>>()
  const keyOf = (draft: Draft): string => `${tenantOf(draft)} ${placeOf(draft, app)}`

  const insert =
    (writing: App, ifLocked: IfLocked) =>
    (drafts: readonly Draft[]): Promise<Result[]> => {
      sizes[ifLocked].observe(drafts.length)
      const spans = drafts.flatMap((draft) => kind.spanOf(draft) ?? [])
      return kind.write(tracedFor(writing, spans), drafts, ifLocked)
    }

  const openLane = (draft: Draft): Lane<Draft, Result> => {
    const waiting = insert(ofTenant(app, tenantOf(draft)), 'wait')
    openLanes.inc()
    const write = inBatches<Queued<Draft>, Result>(MAX_BATCH, (batch) => flush(kind, waiting, batch))
    return { write, drafts: 0 }
  }

  const inLane: Write<Draft, Result> = async (queued) => {
    const key = keyOf(queued.draft)
    const lane = lanes.get(key) ?? openLane(queued.draft)
    if (lane.drafts >= MAX_IN_LANE) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    lanes.set(key, lane)
    lane.drafts++
    laneRows.inc()
    try {
      return await lane.write(queued)
    } finally {
      if (--lane.drafts === 0 && lanes.delete(key)) openLanes.dec()
    }
  }

  const unlocked = insert(app, 'skip')
  const shared = inBatches<Queued<Draft>, Result>(MAX_BATCH, (batch) => flush(kind, unlocked, batch, inLane))
  return (queued) =>
    lanes.has(keyOf(queued.draft)) || isStuck(app, tenantOf(queued.draft)) ? inLane(queued) : shared(queued)
}

/** Drafts of one turn one after the other, all others at once. */
function inTurns<Draft, Result>(
  { turnOf }: SharedWrite<Draft, Result>,
  write: Write<Draft, Result>,
): Write<Draft, Result> {
  /** How many of each turn are on their way, and the last. */
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

/** Writes a batch; `elsewhere` takes what has to wait for a lock. */
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
    // The statement was rolled back as a whole. Alone, each row meets its own fate.
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
