import type { App } from '../../core/context.ts'
import type { StoredEvent } from '../../core/events.ts'
import { newId } from '../../core/ids.ts'
import { type IfLocked, sharedWriter } from '../../core/shared-writer.ts'
import type { Span } from '../../core/span.ts'
import { announce } from '../discussions/append-events.ts'
import { type CreateResult, type CreateRow, insertComments } from './create-sql.ts'
import { tellClassifiers, tellModerators } from './change.ts'

/** A comment to create, before it has an id, a time and a number. */
export interface CommentDraft {
  row: Omit<CreateRow, 'id' | 'createdEventId' | 'replyEventId' | 'comment' | 'trace'>
  /** `comment` of the row, made at the last moment. */
  toJson: (id: string, createdAt: Date) => string
  /** The request's span, if it is traced. */
  span?: Span | undefined
}

export interface CreatedComment {
  result: CreateResult
  id: string
  createdAt: Date
}

const write = sharedWriter<CommentDraft, CreatedComment>({
  name: 'comments',
  write: insertAll,
  isBusy: ({ result }) => result.outcome === 'busy',
  tenantOf: ({ row }) => row.tenantId,
  placeOf: ({ row }) => row.discussionId,
  // If repetitions are searched for, equal texts of one author are written one after the other.
  turnOf: ({ row: { tenantId, authorId, repeats, textDigest } }) =>
    !repeats || textDigest === null ? null : `${tenantId} ${authorId} ${textDigest}`,
  spanOf: ({ span }) => span,
})

/**
 * Writes a comment, together with others that arrive at the same time; alone if the request is one
 * transaction (`Scope`).
 */
export const writeComment = (app: App, draft: Omit<CommentDraft, 'span'>): Promise<CreatedComment> =>
  write(app, { ...draft, span: app.span })

/**
 * Writes comments in one statement and announces them. The results are in the order of `drafts`.
 */
async function insertAll(app: App, drafts: readonly CommentDraft[], ifLocked: IfLocked): Promise<CreatedComment[]> {
  const createdAt = new Date()
  const rows = drafts.map((draft) => rowOf(draft, createdAt))
  const results = await insertComments(app.db.query, rows, createdAt, ifLocked)
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

// Rows and events are written out field by field: spreading several objects into another copies
// them repeatedly, and took a tenth of all memory of a posted comment.
function rowOf({ row, toJson, span }: CommentDraft, now: Date): CreateRow {
  const id = newId()
  return {
    tenantId: row.tenantId,
    discussionId: row.discussionId,
    parentId: row.parentId,
    id,
    authorId: row.authorId,
    body: row.body,
    bodyHtml: row.bodyHtml,
    textDigest: row.textDigest,
    repeats: row.repeats,
    reason: row.reason,
    flags: row.flags,
    createdEventId: newId(),
    actor: row.actor,
    comment: toJson(id, now),
    trace: span?.traceparent ?? null,
    approvedBelow: row.approvedBelow,
    asks: row.asks,
    maxDepth: row.maxDepth,
    replyEventId: row.parentId === null ? null : newId(),
  }
}

function eventsOf(row: CreateRow, result: CreateResult, occurredAt: Date): StoredEvent[] {
  const { tenantId, discussionId, actor } = row
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
