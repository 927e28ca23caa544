import { inBatches, type Waiting } from '../../core/batches.ts'
import { type App, perApp } from '../../core/context.ts'
import type { StoredEvent } from '../../core/events.ts'
import { newId } from '../../core/ids.ts'
import { announce } from '../discussions/events.ts'
import { tellClassifiers } from './classifier-sql.ts'
import { DEPTH_SLOT, type CreateResult, type CreateRow, insertComments, STATUS_SLOT } from './create-sql.ts'
import { tellModerators } from './queued.ts'

/** A comment to create, before its statement gives it an id, a time and a number. */
export interface Draft {
  row: Omit<CreateRow, 'id' | 'createdEventId' | 'replyEventId' | 'comment'>
  /** The comment's JSON, made at the last moment, with DEPTH_SLOT and STATUS_SLOT. */
  toJson: (id: string, createdAt: Date) => string
}

export interface Written {
  result: CreateResult
  id: string
  createdAt: Date
}

/** The most comments in one statement: beyond it a batch only makes its first comment wait longer. */
const MAX_BATCH = 128

/** PostgreSQL's own refusals. Anything else may have come after the commit, and must not be tried again. */
const SQLSTATE = /^(?!08|57P|XX)[0-9A-Z]{5}$/

/** Writes the process's comments (design decision 9). Nothing is acknowledged before its commit. */
const commentWriter = perApp((app) => inBatches<Draft, Written>(MAX_BATCH, (batch) => flush(app, batch)))

async function flush(app: App, batch: readonly Waiting<Draft, Written>[]): Promise<void> {
  try {
    const written = await insertAll(
      app,
      batch.map(({ input }) => input),
    )
    for (const [index, one] of written.entries()) batch[index]?.resolve(one)
  } catch (error) {
    // The statement was rolled back as a whole. Alone, each row meets its own fate.
    if (batch.length > 1 && isRefusal(error)) for (const waiting of batch) await flush(app, [waiting])
    else for (const { reject } of batch) reject(error)
  }
}

/** Writes a comment, with others that come at the same time; alone where the request has a transaction of its own. */
export async function writeComment(app: App, draft: Draft): Promise<Written> {
  if (app.scope === undefined) return commentWriter(app)(draft)
  const [written] = await insertAll(app, [draft])
  if (written === undefined) throw new Error('the statement lost a row')
  return written
}

/** Writes comments in one statement and announces them. The results are in the order of `drafts`. */
async function insertAll(app: App, drafts: readonly Draft[]): Promise<Written[]> {
  const createdAt = new Date()
  const rows = drafts.map((draft) => rowOf(draft, createdAt))
  const results = await insertComments(app.db.query, rows, createdAt)
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
  return typeof code === 'string' && SQLSTATE.test(code)
}

function rowOf({ row, toJson }: Draft, now: Date): CreateRow {
  const id = newId()
  return { ...row, id, createdEventId: newId(), replyEventId: newId(), comment: toJson(id, now) }
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
