import type { NewEvent } from '../discussions/events.ts'
import { audienceOf, changeView } from '../comments/change.ts'
import { type LockedComment, lockComment } from '../comments/locked.ts'
import { toComment } from '../comments/comments.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { forgetReader as forgetInAnswers } from '../idempotency/idempotency.ts'
import { blankComment, forgetCommentTexts, removeBlankComments, selectTheirComments } from './comments-sql.ts'
import { BATCH, eraseAt, type Erasure } from './erasure.ts'

/**
 * Makes a batch of the reader's comments tombstones of nobody; in the mode `delete` their rows go,
 * but for those that have replies. False where none was left.
 */
export async function eraseComments(erasure: Erasure): Promise<boolean> {
  const { app, tenantId, readerId, mode } = erasure
  const theirs = await selectTheirComments(app.db.query, tenantId, readerId, BATCH)
  if (theirs.length === 0) return false
  await eraseAt(erasure, theirs, async (sql, ids) => {
    const now = new Date()
    const events: NewEvent[] = []
    for (const id of ids) events.push(...(await eraseComment(sql, erasure, id, now)))
    await forgetCommentTexts(sql, tenantId, ids)
    await forgetInAnswers(sql, tenantId, ids)
    if (mode === 'delete') await removeChildless(sql, tenantId, ids)
    return events
  })
  return true
}

/**
 * One after the other: what becomes of a comment depends on the replies that it has left by then.
 */
async function eraseComment(sql: Sql, { tenantId, readerId }: Erasure, id: Id, now: Date): Promise<NewEvent[]> {
  const before = await lockComment(sql, tenantId, id, now)
  if (before?.authorId !== readerId) return []
  await blankComment(sql, tenantId, id, now)
  if (before.status === 'deleted') return []
  const after: LockedComment = { ...before, status: 'deleted', deletedAt: now, pinnedAt: null }
  await changeView(sql, tenantId, before, after)
  const data = JSON.stringify({ comment: { ...toComment(after), viewerReaction: null } })
  const audience = audienceOf(before, after)
  const { discussionId } = before
  return [{ tenantId, discussionId, type: 'comment_deleted', audience, actor: { kind: 'system' }, data }]
}

/** With its last reply goes a tombstone that nobody has written, and so on upwards. */
async function removeChildless(sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<void> {
  for (let next = ids; next.length > 0;) next = await removeBlankComments(sql, tenantId, next)
}
