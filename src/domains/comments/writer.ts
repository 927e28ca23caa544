import { inBatches, type BatchEntry } from '../../core/batches.ts'
import { type App, perApp } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { StoredEvent } from '../../core/events.ts'
import { newId } from '../../core/ids.ts'
import { counter, gauge, histogram, metricsOf } from '../../core/metrics.ts'
import { troubleOf } from '../../core/outage.ts'
import { isStuck, ofTenant, tooBusy } from '../../core/patience.ts'
import { isLockFailure } from '../../core/sql.ts'
import { type Span, tracedFor } from '../../core/trace.ts'
import { announce } from '../discussions/append-events.ts'
import { tellClassifiers } from './classifier-sql.ts'
import {
  DEPTH_SLOT,
  type CreateResult,
  type CreateRow,
  insertComments,
  insertUnlockedComments,
  STATUS_SLOT,
} from './create-sql.ts'
import { tellModerators } from './change.ts'

/** A comment to create, before its statement gives it an id, a time and a number. */
export interface NewComment {
  row: Omit<CreateRow, 'id' | 'createdEventId' | 'replyEventId' | 'comment' | 'trace'>
  /** The comment's JSON, made at the last moment, with DEPTH_SLOT and STATUS_SLOT. */
  toJson: (id: string, createdAt: Date) => string
  /** Of the request, where it is traced. */
  span?: Span | undefined
}

/** A draft on its way to a statement. After `until`, and once `isGone`, it is not sent any more. */
interface Queued extends NewComment {
  until: number
  isGone: (() => boolean) | undefined
}

export interface CreatedComment {
  result: CreateResult
  id: string
  createdAt: Date
}

/**
 * The most comments in one statement: beyond it a batch only makes its first comment wait longer.
 */
const MAX_BATCH = 128

/**
 * The most comments that wait for one locked discussion: more would wait longer than their clients
 * do.
 */
const MAX_IN_LANE = 1000

/** The most comments of one author with one text that wait for one another. */
const MAX_REPEATED = 50

/**
 * PostgreSQL's own refusals. Anything else may have come after the commit, and must not be tried
 * again.
 */
const SQLSTATE = /^(?!08|57P|XX|40003)[0-9A-Z]{5}$/

type Write = (draft: Queued) => Promise<CreatedComment>
type Insert = (drafts: readonly NewComment[]) => Promise<CreatedComment[]>

interface Lane {
  write: Write
  /** How many comments are waiting in it or being written. */
  drafts: number
}

/**
 * Writes the process's comments. Nothing is acknowledged before its commit.
 *
 * Comments that come at the same time share one statement, whatever tenant they are of. It waits
 * for the lock of no discussion: where one is taken, the discussion's comments go on in a lane of
 * their own, which does wait. So do all comments of a tenant whose writes wait for some other lock.
 */
const commentWriter = perApp((app): Write => {
  const registry = metricsOf(app)
  const batches = histogram(registry, 'write_batch_rows')
  const sizes = { shared: batches.labels('comments'), lanes: batches.labels('comments_in_lane') }
  const openLanes = gauge(registry, 'write_lanes').labels('comments')
  const laneRows = counter(registry, 'write_lane_rows_total').labels('comments')
  /**
   * By tenant and discussion: a tenant may name a discussion of another. Each is there while it has
   * comments to write.
   */
  const lanes = new Map<string, Lane>()
  const keyOf = ({ row: { tenantId, discussionId } }: NewComment): string => `${tenantId} ${discussionId}`

  const openLane = ({ tenantId }: NewComment['row']): Lane => {
    const waiting: Insert = (drafts) => {
      sizes.lanes.observe(drafts.length)
      return insertAll(ofTenant(app, tenantId), insertComments, drafts)
    }
    openLanes.inc()
    return { write: inBatches<Queued, CreatedComment>(MAX_BATCH, (batch) => flush(waiting, batch)), drafts: 0 }
  }

  const inLane: Write = async (draft) => {
    const key = keyOf(draft)
    const lane = lanes.get(key) ?? openLane(draft.row)
    if (lane.drafts >= MAX_IN_LANE) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    lanes.set(key, lane)
    lane.drafts++
    laneRows.inc()
    try {
      return await lane.write(draft)
    } finally {
      if (--lane.drafts === 0 && lanes.delete(key)) openLanes.dec()
    }
  }

  const unlocked: Insert = (drafts) => {
    sizes.shared.observe(drafts.length)
    return insertAll(app, insertUnlockedComments, drafts)
  }
  const shared = inBatches<Queued, CreatedComment>(MAX_BATCH, (batch) => flush(unlocked, batch, inLane))

  const write: Write = (draft) =>
    lanes.has(keyOf(draft)) || isStuck(app, draft.row.tenantId) ? inLane(draft) : shared(draft)

  /**
   * Each text that an author is posting where a repetition is looked for: how often, and the last.
   */
  const repeated = new Map<string, { times: number; last: Promise<unknown> }>()
  return async (draft) => {
    const { tenantId, authorId, repeats, textDigest } = draft.row
    if (!repeats || textDigest === null) return write(draft)
    // One after the other: a statement does not see what another one has not committed yet.
    const key = `${tenantId} ${authorId} ${textDigest}`
    const text = repeated.get(key) ?? { times: 0, last: Promise.resolve() }
    if (text.times >= MAX_REPEATED) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    repeated.set(key, text)
    const written = text.times++ === 0 ? write(draft) : text.last.then(() => write(draft))
    const over = (): void => void (--text.times === 0 && repeated.delete(key))
    text.last = written.then(over, over)
    return written
  }
})

/** Writes a batch; `elsewhere` takes what has to wait for a lock. */
async function flush(
  insert: Insert,
  all: readonly BatchEntry<Queued, CreatedComment>[],
  elsewhere?: Write,
): Promise<void> {
  const now = performance.now()
  const batch = all.filter(({ input: { until, isGone }, reject }) => {
    const isWanted = now < until && isGone?.() !== true
    if (!isWanted) reject(tooBusy())
    return isWanted
  })
  if (batch.length === 0) return
  const move = ({ input, resolve, reject }: BatchEntry<Queued, CreatedComment>): void => {
    elsewhere?.(input).then(resolve, reject)
  }
  try {
    const written = await insert(batch.map(({ input }) => input))
    for (const [index, waiting] of batch.entries()) {
      const one = written[index]
      if (one?.result.outcome === 'busy') move(waiting)
      else if (one !== undefined) waiting.resolve(one)
    }
  } catch (error) {
    // The statement was rolled back as a whole. Alone, each row meets its own fate.
    if (elsewhere !== undefined && isLockFailure(error)) batch.forEach(move)
    else if (batch.length > 1 && isRefusal(error)) {
      for (const waiting of batch) await flush(insert, [waiting], elsewhere)
    } else for (const { reject } of batch) reject(error)
  }
}

/**
 * Writes a comment, with others that come at the same time; alone where the request has a
 * transaction of its own.
 */
export async function writeComment(app: App, draft: NewComment): Promise<CreatedComment> {
  if (app.scope === undefined) {
    const until = performance.now() + app.db.maxWaitMs
    return commentWriter(app)({ ...draft, until, isGone: app.isGone, span: app.span })
  }
  const [written] = await insertAll(app, insertComments, [{ ...draft, span: app.span }])
  if (written === undefined) throw new Error('the statement lost a row')
  return written
}

/**
 * Writes comments in one statement and announces them. The results are in the order of `drafts`.
 */
async function insertAll(
  writing: App,
  insert: typeof insertComments,
  drafts: readonly NewComment[],
): Promise<CreatedComment[]> {
  // The app of one request is traced already.
  const app =
    writing.span === undefined
      ? tracedFor(
          writing,
          drafts.flatMap(({ span }) => span ?? []),
        )
      : writing
  const createdAt = new Date()
  const rows = drafts.map((draft) => rowOf(draft, createdAt))
  const results = await insert(app.db.query, rows, createdAt)
  const written = rows.map((row, index) => {
    const result = results[index]
    if (result === undefined) throw new Error('the statement lost a row')
    return { row, result }
  })
  announce(app, {
    events: written.flatMap(({ row, result }) => eventsOf(row, result, createdAt)),
    deliveries: results[0]?.deliveries ?? 0,
  })
  if (results.some(({ isAsked }) => isAsked)) tellClassifiers(app)
  const queued = written.flatMap(({ row, result }) => (result.isQueued ? [row.tenantId] : []))
  for (const tenantId of new Set(queued)) tellModerators(app, tenantId)
  return written.map(({ row, result }) => ({ result, id: row.id, createdAt }))
}

const isRefusal = (error: unknown): boolean => {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && SQLSTATE.test(code) && troubleOf(error) === null
}

function rowOf({ row, toJson, span }: NewComment, now: Date): CreateRow {
  const id = newId()
  const events = { createdEventId: newId(), replyEventId: newId(), trace: span?.traceparent ?? null }
  return { ...row, id, ...events, comment: toJson(id, now) }
}

function eventsOf(
  row: CreateRow,
  { seq, depth, status, replyData, recipientId }: CreateResult,
  occurredAt: Date,
): StoredEvent[] {
  if (seq === null) return []
  const common = { discussionId: row.discussionId, occurredAt, actor: row.actor }
  const created: StoredEvent = {
    ...common,
    seq,
    id: row.createdEventId,
    type: 'comment_created',
    audience: status === 'approved' ? 'public' : 'tenant',
    recipientId: null,
    data: `{"comment":${fill(row, depth, status)}}`,
  }
  if (replyData === null) return [created]
  const reply = {
    seq: seq + 1,
    id: row.replyEventId,
    type: 'notification_reply',
    audience: 'recipient',
    recipientId,
  } as const
  return [created, { ...common, ...reply, data: replyData }]
}

/** The comment's JSON with what only the statement knew, as the statement itself fills it in. */
const fill = ({ comment }: CreateRow, depth: number, status: string): string =>
  comment.replace(DEPTH_SLOT, () => `"depth":${depth}`).replace(STATUS_SLOT, () => `"status":"${status}"`)
