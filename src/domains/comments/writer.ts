import { type App, perApp } from '../../core/app.ts'
import type { StoredEvent } from '../../core/events.ts'
import { newId } from '../../core/ids.ts'
import { Semaphore } from '../../core/queues/patience.ts'
import { type IfLocked, sharedWriter } from '../../core/queues/shared-writer.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import type { Span } from '../../core/span.ts'
import { announce } from '../discussions/append-events.ts'
import { type CreateResult, type CreateRow, insertComments } from './create-sql.ts'
import { notifyOfMentions } from './notify-mentioned.ts'
import { hasMentions, mentionsIn } from './text/mentions.ts'
import { tellClassifiers, tellModerators } from './change.ts'

/** A comment to create, before it has an id, a time and a number. */
export type CommentDraft = Omit<CreateRow, 'id' | 'createdEventId' | 'replyEventId' | 'trace'>

interface Waiting {
  draft: CommentDraft
  /** The request's span, if it is traced. */
  span: Span | undefined
}

const write = sharedWriter<Waiting, CreateResult>({
  name: 'comments',
  write: insertAll,
  isBusy: ({ outcome }) => outcome === 'busy',
  tenantOf: ({ draft }) => draft.tenantId,
  placeOf: ({ draft }) => draft.discussionId,
  // If repetitions are searched for, equal texts of one author are written one after the other.
  turnOf: ({ draft: { tenantId, authorId, repeats, textDigest } }) =>
    !repeats || textDigest === null ? null : `${tenantId} ${authorId} ${textDigest}`,
  spanOf: ({ span }) => span,
})

/**
 * Writes a comment, together with others that arrive at the same time; alone if the request is one
 * transaction (`Scope`), or if it names readers.
 */
export const writeComment = (app: App, draft: CommentDraft): Promise<CreateResult> =>
  hasMentions(draft.bodyHtml)
    ? takingTurns(app, () => writeAlone(app, () => Promise.resolve(draft)))
    : write(app, { draft, span: app.span })

/**
 * Transactions of several statements hold locks for longer: they leave most connections to others.
 */
const turns = perApp(
  ({ db }) => new Semaphore(db.connections === 1 ? 1 : Math.max(1, Math.floor(db.connections / 4)), db.maxWaitMs),
)

export const takingTurns = <T>(app: App, work: () => Promise<T>): Promise<T> =>
  app.scope === undefined ? turns(app).run(work) : work()

/** Writes the comment that `prepare` gives in the same transaction, and notifies whom it names. */
export async function writeAlone(app: App, prepare: (sql: TxSql) => Promise<CommentDraft>): Promise<CreateResult> {
  const written = await app.db.transaction(async (sql) => {
    const inserted = await insertDrafts(sql, [{ draft: await prepare(sql), span: app.span }], 'wait')
    const [row] = inserted.rows
    const [result] = inserted.results
    if (row !== undefined && result?.outcome === 'created' && result.audience === 'public') {
      await notifyOf(sql, row, inserted.createdAt)
    }
    return inserted
  })
  announceWritten(app, written)
  const [result] = written.results
  if (result === undefined) throw new Error('the statement lost a row')
  return result
}

const notifyOf = (sql: TxSql, { tenantId, id: commentId, authorId, bodyHtml }: CreateRow, now: Date): Promise<void> =>
  notifyOfMentions(sql, { tenantId, readerIds: mentionsIn(bodyHtml), commentId, authorId, now })

/**
 * Writes comments in one statement and announces them. The results are in the order of `drafts`.
 */
async function insertAll(app: App, drafts: readonly Waiting[], ifLocked: IfLocked): Promise<CreateResult[]> {
  const written = await insertDrafts(app.db.query, drafts, ifLocked)
  announceWritten(app, written)
  return written.results
}

interface Written {
  rows: CreateRow[]
  /** In the order of the rows. */
  results: CreateResult[]
  createdAt: Date
}

/** Writes comments in one statement. Announce them after its commit. */
async function insertDrafts(sql: Sql, drafts: readonly Waiting[], ifLocked: IfLocked): Promise<Written> {
  const createdAt = new Date()
  const rows = drafts.map(rowOf)
  return { rows, results: await insertComments(sql, rows, createdAt, ifLocked), createdAt }
}

function announceWritten(app: App, { rows, results, createdAt }: Written): void {
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
}

const rowOf = ({ draft, span }: Waiting): CreateRow => ({
  ...draft,
  id: newId(),
  createdEventId: newId(),
  replyEventId: draft.parentId === null ? null : newId(),
  trace: span?.traceparent ?? null,
})

function eventsOf(row: CreateRow, result: CreateResult, occurredAt: Date): StoredEvent[] {
  const { tenantId, discussionId } = row
  const actor = JSON.stringify(row.actor)
  const { seq, audience, data, replyData, recipientId } = result
  if (seq === null || data === null) return []
  const created: StoredEvent = {
    tenantId,
    discussionId,
    seq,
    id: row.createdEventId,
    type: 'comment_created',
    audience,
    recipientId: audience === 'recipient' ? row.authorId : null,
    occurredAt,
    actor,
    data,
  }
  if (replyData === null || row.replyEventId === null) return [created]
  const reply: StoredEvent = {
    tenantId,
    discussionId,
    seq: seq + 1,
    id: row.replyEventId,
    type: 'notification_reply',
    audience: 'recipient',
    recipientId,
    occurredAt,
    actor,
    data: replyData,
  }
  return [created, reply]
}
