import { z } from 'zod'

import { doerOf, recordAuditOf } from '../../../core/audit.ts'
import { requireCaller } from '../../../core/access.ts'
import { hasCapability, type Tenant } from '../../../core/caller.ts'
import type { Ctx } from '../../../core/context.ts'
import { invalid, noSuch, ServiceError } from '../../../core/errors.ts'
import type { EventActor } from '../../../core/events.ts'
import { type Id, isId } from '../../../core/ids.ts'
import type { Sql } from '../../../core/database/database.ts'
import { validate } from '../../../core/input/validate.ts'
import { notifyOfMentions } from '../notify-mentioned.ts'
import { notifyOfDecision } from '../notify.ts'
import type { Reader } from '../../readers/fields.ts'
import { requireReader } from '../../readers/readers.ts'
import { audienceOf, changeComment, type ChangeEvent, changeView, tellClassifiers } from '../change.ts'
import { reviseComment, tombstoneComment, askClassifier, forgetClassifierRequest } from '../change-sql.ts'
import { type Comment, type CommentRow, type CommentText, toComment } from '../comment.ts'
import { recordDecision } from '../decided.ts'
import { decisionBy, type Explanation, explanationSchema, givenIn, keptFor } from '../decision.ts'
import { bodySchema } from '../fields.ts'
import { selectHistory } from './history-sql.ts'
import { findMentioned } from '../mentioned.ts'
import { mentionsIn } from '../text/mentions.ts'
import { isInShadow, type LockedComment, peekComment } from '../locked.ts'
import { authorsComment, isTombstoneInShadow } from '../shadow.ts'
import {
  decide,
  guestBelowOf,
  holdPolicy,
  type Judgement,
  holdReasonOf,
  type Ruling,
  underMode,
  underTrust,
} from '../rules.ts'
import { digestOf, normalizeBody } from '../text/normalize.ts'
import { type CheckedText, checkText } from '../checked-text.ts'
import { countingText } from './posted-texts.ts'

export const editSchema = z.object({
  body: bodySchema,
  revision: z.int().min(1).nullish(),
})

interface UpdateComment {
  commentId: Id
  body: string
  /** The one that the author has read. */
  revision?: number | null | undefined
}

/**
 * Replaces the body of the asserted reader's own comment; the old one is kept as a revision. If the
 * new text must wait for a moderator, the comment leaves the view. The same body again changes
 * nothing. With `revision`, an edit does not replace one from another device that the author has
 * not read. Throws `not_found`, `not_author`, `edit_window_closed`, `discussion_locked`,
 * `discussion_archived`, `invalid_transition`.
 */
export async function updateComment(ctx: Ctx, { commentId, ...input }: UpdateComment): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const { body, revision = null } = validate(editSchema, input)
  const reader = await requireReader(ctx)
  const now = new Date()
  // Checks first without a lock: refused texts are not rendered, and rendering holds no lock.
  const found = isId(commentId) ? await peekComment(ctx.app.db.query, tenant.id, commentId, now) : undefined
  if (found === undefined) throw noSuch('comment')
  requireEditable(found, reader, tenant, now)
  if (found.body === body) return authorsComment(ctx, found)
  requireRevision(found, revision)
  const present = await findMentioned(ctx, body, found.discussionId)
  const checked = checkText(ctx, body, new Set([...present, ...mentionsIn(found.bodyHtml)]))
  const write = (judgement: Judgement) => writeEdit(ctx, found, reader, { ...checked, judgement, revision })
  const isNewText = checked.judgement.textDigest !== digestOf(normalizeBody(found.body ?? ''))
  return isNewText ? countingText(ctx, checked.judgement, write) : write(checked.judgement)
}

async function writeEdit(
  ctx: Ctx,
  found: LockedComment,
  reader: Reader,
  { body, bodyHtml, judgement, revision: read }: CheckedText & { revision: number | null },
): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  let asks = false
  let edited: CommentRow = found
  await changeComment(ctx, found.id, async (sql, comment, at) => {
    requireEditable(comment, reader, tenant, at)
    edited = comment
    if (comment.body === body) return { comment, events: [] }
    requireRevision(comment, read)
    const decision = await decideOnEdit(sql, tenant, comment, reader, judgement, at)
    asks = decision.asks
    const { textDigest, reason } = judgement
    const details = decision.holdReason === reason ? judgement.details : null
    const texts: CommentText = { body, bodyHtml }
    await reviseComment(sql, tenant.id, comment.id, { ...decision, ...texts, textDigest, details, now: at })
    const revision = comment.revision + 1
    if (asks) await askClassifier(sql, tenant.id, comment.id, revision)
    else if (comment.isAsked) await forgetClassifierRequest(sql, tenant.id, comment.id)
    if (decision.status === 'approved') {
      const told = new Set(mentionsIn(comment.bodyHtml))
      const readerIds = mentionsIn(bodyHtml).filter((id) => !told.has(id))
      const { id: commentId, authorId } = comment
      await notifyOfMentions(sql, { tenantId: tenant.id, readerIds, commentId, authorId, now: at })
    }
    const pinnedAt = decision.status === 'pending' ? null : comment.pinnedAt
    const inShadow = isInShadow(decision)
    const after = { ...comment, ...decision, ...texts, editedAt: at, revision, pinnedAt, inShadow }
    edited = after
    const tombstones = await changeView(sql, tenant.id, comment, after)
    const audience = audienceOf(comment, after)
    return { comment: after, events: [{ type: 'comment_edited', audience, actor: readerActor(reader) }], tombstones }
  })
  if (asks) tellClassifiers(ctx.app)
  return authorsComment(ctx, edited)
}

/** Throws `invalid_transition` if the comment has been edited since the author read it. */
function requireRevision({ revision }: LockedComment, read: number | null): void {
  if (read === null || read === revision) return
  throw new ServiceError('invalid_transition', { detail: `The comment is at revision ${revision}, not ${read}.` })
}

/** Throws the reason if the reader may not edit a comment now. */
function requireEditable(comment: LockedComment, reader: Reader, { settings }: Tenant, now: Date): void {
  requireAuthor(comment, reader)
  requireOpen(comment)
  if (comment.authorBan === 'open') throw new ServiceError('reader_banned')
  if (comment.status === 'rejected') throw new ServiceError('invalid_transition')
  if (now.getTime() - comment.createdAt.getTime() > settings.editWindowSeconds * 1000) {
    throw new ServiceError('edit_window_closed')
  }
}

/**
 * The rules' decision on a new text. A comment that waits for a moderator, or is flagged, stays so.
 */
async function decideOnEdit(
  sql: Sql,
  { id: tenantId, settings }: Tenant,
  comment: LockedComment,
  { externalId }: Reader,
  judgement: Judgement,
  now: Date,
): Promise<Ruling> {
  const author = { tenantId, authorId: comment.authorId ?? comment.id, commentId: comment.id }
  const inMode = underMode(comment.moderationMode, { ...judgement, ...holdPolicy(settings) })
  const judged = underTrust(comment.authorTrust, inMode)
  const guestBelow = comment.authorTrust === 'never_hold' ? 0 : guestBelowOf(externalId, settings)
  // The approval was of another text: it does not count for the new one.
  const own = guestBelow > 0 && comment.status === 'approved' ? 1 : 0
  const asked = { ...judged, approvedBelow: Math.max(judged.approvedBelow, guestBelow + own) }
  const history = await selectHistory(sql, author, asked, now)
  const isNewGuest = history.approvedCount - own < guestBelow
  const policy = { ...judged, flags: judged.flags && !isNewGuest }
  const reason = holdReasonOf(policy, history) ?? (isNewGuest ? 'guest' : null)
  if (comment.status === 'pending' && !comment.isAsked) {
    const isPublicToAuthor = comment.inShadow && policy.flags
    const holdReason = isPublicToAuthor ? comment.holdReason : (reason ?? comment.holdReason)
    return { status: 'pending', holdReason, flagged: comment.flagged, asks: false }
  }
  const decision = decide(reason, comment.authorBan === 'shadow', policy)
  // The classifier was switched off meanwhile: a comment that was never in view then needs a
  // moderator.
  if (comment.status === 'pending' && decision.status === 'approved') {
    return { ...decision, status: 'pending', holdReason: reason ?? comment.holdReason }
  }
  if (!comment.flagged) return decision
  return { ...decision, flagged: true, holdReason: reason ?? comment.holdReason }
}

interface DeleteComment {
  commentId: Id
  /** Whether the asserted reader must be the author, even if the caller could moderate. */
  asAuthor?: boolean | null | undefined
  reason?: Explanation['reason']
  message?: Explanation['message']
}

/**
 * Deletes a comment: as its author if the asserted reader wrote it, else as a moderator, with
 * `moderate_content`. It stays as a tombstone while it has replies in view. Deleting it again
 * changes nothing. Only a moderator gives the author a reason. Throws `validation_failed`,
 * `not_found`, `not_author`, `missing_capability`, `identity_required`, `discussion_archived`.
 */
export async function deleteComment(ctx: Ctx, { commentId, asAuthor, ...input }: DeleteComment): Promise<Comment> {
  const explanation = validate(explanationSchema, input)
  const { identity, actor } = requireCaller(ctx)
  const mayModerate = asAuthor !== true && hasCapability(actor, 'moderate_content')
  if (identity === null && mayModerate) return removeComment(ctx, commentId, { reader: null, mayModerate }, explanation)
  if (identity === null && asAuthor !== true) {
    const detail = 'This needs the capability moderate_content, or the identity of the author.'
    throw new ServiceError('missing_capability', { detail })
  }
  return removeComment(ctx, commentId, { reader: await requireReader(ctx), mayModerate }, explanation)
}

/**
 * Who deletes a comment: a reader, who must be its author unless `mayModerate`; null for a
 * moderator.
 */
type Remover = { reader: Reader; mayModerate: boolean } | { reader: null; mayModerate: true }

/** Deletes a comment. See `deleteComment`. */
export async function removeComment(
  ctx: Ctx,
  commentId: Id,
  { reader, mayModerate }: Remover,
  explanation: Explanation,
): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  return changeComment(ctx, commentId, async (sql, comment, now) => {
    if (reader !== null && !mayModerate) requireAuthor(comment, reader)
    const author = reader?.id === comment.authorId ? reader : null
    if (comment.discussionState === 'archived') throw new ServiceError('discussion_archived')
    if (author !== null) refuseExplanation(explanation)
    if (comment.status === 'deleted') return { comment, events: [] }
    const actor: EventActor = author === null ? { kind: 'moderator' } : readerActor(author)
    const decision = author === null ? keptFor(decisionBy(actor, 'delete', explanation, now), comment) : null
    await tombstoneComment(sql, tenant.id, comment.id, { now, decision })
    if (decision !== null) {
      await notifyOfDecision(sql, { tenantId: tenant.id, readerId: comment.authorId, commentId: comment.id, now })
    }
    const deleted = { ...comment, status: 'deleted' as const, deletedAt: now, pinnedAt: null }
    const tombstones = await changeView(sql, tenant.id, comment, deleted)
    if (author === null) {
      const after = { ...toComment(deleted), ...givenIn(explanation) }
      const doer = doerOf(ctx)
      const before = toComment(comment)
      await recordAuditOf(sql, doer, { action: 'comment.delete', targetId: comment.id, before, after })
      await recordDecision(sql, doer, comment, { action: 'delete', now })
    }
    const audience = audienceOf(comment, deleted)
    const event = { type: 'comment_deleted', audience, actor } as const
    const own = await ownTombstone(sql, tenant.id, comment, event)
    return { comment: deleted, events: [event, ...own], tombstones }
  })
}

/**
 * What an author banned in shadow is told of a deletion behind a tombstone that only they see,
 * above replies of theirs: without their ban the tombstone would be public, and its deletion too.
 */
async function ownTombstone(
  sql: Sql,
  tenantId: Id,
  comment: LockedComment,
  event: ChangeEvent,
): Promise<ChangeEvent[]> {
  const { authorId, authorBan } = comment
  if (event.audience !== 'tenant' || authorId === null || authorBan !== 'shadow' || isInShadow(comment)) return []
  const isSeen = await isTombstoneInShadow(sql, tenantId, authorId, comment)
  return isSeen ? [{ ...event, audience: 'own', recipientId: authorId }] : []
}

/** Nobody else would get it. */
function refuseExplanation(explanation: Explanation): void {
  const [name] = Object.keys(givenIn(explanation))
  if (name !== undefined) throw invalid(`/${name}`, 'not_allowed', 'is only taken of a moderator')
}

function requireAuthor(comment: LockedComment, reader: Reader): void {
  if (comment.authorId === reader.id) return
  // A caller who may not see the comment must not learn that it exists.
  throw comment.status === 'approved' ? new ServiceError('not_author') : noSuch('comment')
}

function requireOpen({ discussionState, status }: LockedComment): void {
  if (status === 'deleted') throw noSuch('comment')
  if (discussionState === 'archived') throw new ServiceError('discussion_archived')
  if (discussionState === 'locked') throw new ServiceError('discussion_locked')
}

const readerActor = (reader: Reader): EventActor => ({
  kind: 'reader',
  readerId: reader.id,
  externalId: reader.externalId,
})
