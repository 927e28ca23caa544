import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { toSnakeCase } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import type { TenantSettings } from '../../core/settings/tenant.ts'
import { NO_TEXT, TEXTS } from '../../core/withdrawal.ts'
import { audienceOf, changeData, changeView } from '../comments/change.ts'
import { lockComment, type LockedComment } from '../comments/locked.ts'
import type { NewEvent } from '../discussions/append-events.ts'
import { forgetInAnswers } from '../idempotency/idempotency.ts'
import { type ReaderWork, workThrough } from './erase-batches.ts'

/** An erasure under way in this process. */
export interface Erasure extends ReaderWork {
  mode: TenantSettings['erasureMode']
}

/**
 * Turns a batch of the reader's comments into tombstones without an author; in the mode `delete`
 * removes their rows, except those with replies. Returns false if none was left.
 */
export const eraseComments = (erasure: Erasure): Promise<boolean> =>
  workThrough(erasure, 'comments', async (sql, ids) => {
    const { tenantId, mode } = erasure
    const now = new Date()
    const events: NewEvent[] = []
    for (const id of ids) events.push(...(await eraseComment(sql, erasure, id, now)))
    await forgetCommentTexts(sql, tenantId, ids)
    await forgetInAnswers(sql, tenantId, ids)
    if (mode === 'delete') await removeChildless(sql, tenantId, ids)
    return events
  })

/** One after the other: the result for a comment depends on the replies that it still has. */
async function eraseComment(sql: Sql, { tenantId, readerId }: Erasure, id: Id, now: Date): Promise<NewEvent[]> {
  const before = await lockComment(sql, tenantId, id, now)
  if (before?.authorId !== readerId) return []
  await blankComment(sql, tenantId, id, now)
  if (before.status === 'deleted') return []
  const after: LockedComment = { ...before, status: 'deleted', deletedAt: now, pinnedAt: null }
  const tombstones = await changeView(sql, tenantId, before, after)
  const audience = audienceOf(before, after)
  const data = JSON.stringify(changeData(before, after, audience, tombstones))
  const { discussionId } = before
  return [{ tenantId, discussionId, type: 'comment_deleted', audience, actor: { kind: 'system' }, data }]
}

/** A blank tombstone is removed with its last reply, and so on upwards. */
async function removeChildless(sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<void> {
  for (let next = ids; next.length > 0;) next = await removeBlankComments(sql, tenantId, next)
}

/** Turns a comment into a tombstone without an author. */
const blankComment = statement(
  'blank_comment',
  `UPDATE comments SET status = 'deleted', deleted_at = coalesce(deleted_at, $3), pinned_at = NULL, author_id = NULL,
     ${TEXTS.map((name) => `${toSnakeCase(name)} = NULL`).join(', ')}, text_digest = NULL, hold_reason = NULL, flagged = false,
     decision = NULL, hold_details = NULL
   WHERE tenant_id = $1 AND id = $2`,
).run<[tenantId: Id, id: Id, now: Date]>()

const NOBODYS = JSON.stringify({ author: null, ...NO_TEXT })

// Reports of others on a comment may name its author just as the comment does.
/**
 * Removes the texts of comments, and messages to their author, from everything that belongs to
 * them: revisions, questions to classifiers, notes of moderators and of reports, the audit log. So
 * are notifications, which name their author.
 */
const forgetCommentTexts = statement(
  'forget_comment_texts',
  `WITH revisions AS (
     DELETE FROM comment_revisions WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[])
   ),
   questions AS (
     DELETE FROM classifier_requests WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[])
   ),
   claims AS (
     DELETE FROM comment_claims WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[])
   ),
   notified AS (
     DELETE FROM notifications WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[])
   ),
   moderators_notes AS (
     DELETE FROM notes WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[])
   ),
   report_notes AS (
     UPDATE reports SET note = NULL WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[]) AND note IS NOT NULL
   )
   UPDATE audit_log SET
     before = CASE WHEN jsonb_exists(before, 'author') THEN before || '${NOBODYS}' ELSE before END,
     after = CASE WHEN jsonb_exists(after, 'author') THEN after || '${NOBODYS}' ELSE after END - 'message'
   WHERE tenant_id = $1 AND target_id = ANY($2::text[]) AND target_type = 'comment'`,
).run<[tenantId: Id, ids: readonly Id[]]>()

// `status =` would let PostgreSQL take the index of all that are deleted, without statistics.
const REMOVE = statement(
  'remove_blank_comments',
  `DELETE FROM comments c
   WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[]) AND c.status IS NOT DISTINCT FROM 'deleted' AND c.author_id IS NULL
     AND NOT EXISTS (SELECT 1 FROM comments r WHERE r.tenant_id = $1 AND r.parent_id = c.id)
   RETURNING c.parent_id AS "parentId"`,
)

/**
 * Removes those of these comments that are blank tombstones without replies. Returns the ids of
 * their parents.
 */
const removeBlankComments = async (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<Id[]> => {
  const rows = await sql<{ parentId: Id | null }>(REMOVE, [tenantId, ids])
  return rows.flatMap(({ parentId }) => (parentId === null ? [] : [parentId]))
}
