import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { EventActor } from '../../core/events.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { validate } from '../../core/validate.ts'
import { announce, appendEvent, type NewEvent, type Written } from '../discussions/events.ts'
import { type Reader, requireReader } from '../readers/readers.ts'
import { addToCommentCount, leaveView, lockComment, reviseComment, tombstoneComment } from './change-sql.ts'
import { bodySchema, type Comment, statusOf, toComment } from './comments.ts'
import { renderMarkdown } from './markdown.ts'

type LockedComment = NonNullable<Awaited<ReturnType<typeof lockComment>>>

/**
 * Gives the asserted reader's own comment a new body; the old one is kept as a revision. Where the new text has to wait
 * for a moderator, the comment leaves the view. The same body again changes nothing.
 * Throws `not_found`, `not_author`, `edit_window_closed`, `discussion_locked`, `discussion_archived`, `invalid_transition`.
 */
export async function updateComment(ctx: Ctx, { commentId, body: text }: { commentId: Id; body: string }): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const { body } = validate(z.object({ body: bodySchema }), { body: text })
  const reader = await requireReader(ctx)
  const bodyHtml = renderMarkdown(body)
  return changeComment(ctx, commentId, async (sql, comment) => {
    requireAuthor(comment, reader)
    requireOpen(comment)
    if (comment.status === 'rejected') throw new ServiceError('invalid_transition')
    const now = new Date()
    if (now.getTime() - comment.createdAt.getTime() > tenant.settings.editWindowSeconds * 1000) {
      throw new ServiceError('edit_window_closed')
    }
    if (comment.body === body) return { comment, event: null }
    const status = comment.status === 'pending' ? 'pending' : statusOf(tenant.settings)
    await reviseComment(sql, tenant.id, comment.id, { body, bodyHtml, status, now })
    const wasPublic = comment.status === 'approved'
    if (wasPublic && status === 'pending') await withdraw(sql, tenant.id, comment)
    const edited = { ...comment, body, bodyHtml, status, editedAt: now, revision: comment.revision + 1 }
    if (status === 'pending') edited.pinnedAt = null
    const audience = wasPublic ? 'public' : 'tenant'
    return { comment: edited, event: { type: 'comment_edited', audience, actor: readerActor(reader) } }
  })
}

/**
 * Deletes a comment: the asserted reader's own, or, without an identity, any, with `moderate_content`. It stays as a
 * tombstone while it has replies in view. Deleting it again changes nothing.
 * Throws `not_found`, `not_author`, `missing_capability`, `discussion_archived`.
 */
export async function deleteComment(ctx: Ctx, { commentId }: { commentId: Id }): Promise<Comment> {
  const { tenant, identity, actor } = requireCaller(ctx)
  const reader = identity === null ? null : await requireReader(ctx)
  if (reader === null && !hasCapability(actor, 'moderate_content')) {
    const detail = 'This needs the capability moderate_content, or the identity of the author.'
    throw new ServiceError('missing_capability', { detail })
  }
  return changeComment(ctx, commentId, async (sql, comment) => {
    if (reader !== null) requireAuthor(comment, reader)
    if (comment.discussionState === 'archived') throw new ServiceError('discussion_archived')
    if (comment.status === 'deleted') return { comment, event: null }
    const now = new Date()
    await tombstoneComment(sql, tenant.id, comment.id, now)
    const wasPublic = comment.status === 'approved'
    if (wasPublic) await withdraw(sql, tenant.id, comment)
    const deleted = { ...comment, status: 'deleted' as const, deletedAt: now, pinnedAt: null }
    if (reader === null) {
      const target = { action: 'comment.delete', targetType: 'comment', targetId: comment.id }
      await recordAudit(sql, ctx, { ...target, before: toComment(comment), after: toComment(deleted) })
    }
    const by: EventActor = reader === null ? { kind: 'moderator' } : readerActor(reader)
    return { comment: deleted, event: { type: 'comment_deleted', audience: wasPublic ? 'public' : 'tenant', actor: by } }
  })
}

interface Change {
  comment: LockedComment
  /** Null where nothing has changed, and so nothing is said. */
  event: Pick<NewEvent, 'type' | 'audience' | 'actor'> | null
}

/** One change of one comment in a transaction: its row and its discussion are locked, its event goes with it. */
async function changeComment(
  ctx: Ctx,
  id: Id,
  change: (sql: Sql, comment: LockedComment) => Promise<Change>,
): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const { comment, written } = await ctx.app.db.transaction(async (sql) => {
    const locked = isId(id) ? await lockComment(sql, tenant.id, id) : undefined
    if (locked === undefined) throw new ServiceError('not_found', { detail: 'There is no such comment.' })
    const changed = await change(sql, locked)
    const result: { comment: Comment; written: Written | null } = { comment: toComment(changed.comment), written: null }
    if (changed.event !== null) {
      const data = JSON.stringify({ comment: eventForm(result.comment, changed.event.audience) })
      const { discussionId } = locked
      result.written = await appendEvent(sql, { ...changed.event, tenantId: tenant.id, discussionId, data })
    }
    return result
  })
  if (written !== null) announce(ctx.app, written)
  return comment
}

/** A comment as an event shows it: one that has left the view reaches the public without its text. */
function eventForm(comment: Comment, audience: NewEvent['audience']): Comment {
  const isWithdrawn = audience === 'public' && comment.status !== 'approved'
  return { ...comment, ...(isWithdrawn ? { body: null, bodyHtml: null } : {}), viewerReaction: null }
}

/** An approved comment leaves the view; as a tombstone it stays while it has replies there. */
async function withdraw(sql: Sql, tenantId: Id, comment: LockedComment): Promise<void> {
  await addToCommentCount(sql, tenantId, comment.discussionId, -1)
  if (comment.replyCount === 0) await leaveView(sql, tenantId, comment.parentId)
}

function requireAuthor(comment: LockedComment, reader: Reader): void {
  if (comment.authorId === reader.id) return
  // Who may not know that it exists does not learn it here.
  throw new ServiceError(comment.status === 'approved' ? 'not_author' : 'not_found')
}

function requireOpen({ discussionState, status }: LockedComment): void {
  if (status === 'deleted') throw new ServiceError('not_found', { detail: 'There is no such comment.' })
  if (discussionState === 'archived') throw new ServiceError('discussion_archived')
  if (discussionState === 'locked') throw new ServiceError('discussion_locked')
}

const readerActor = (reader: Reader): EventActor => ({ kind: 'reader', readerId: reader.id, externalId: reader.externalId })
