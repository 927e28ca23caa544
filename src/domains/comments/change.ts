import { CHANNELS } from '../../core/bus.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import type { Audience } from '../../core/events.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { announce, appendEvents, type NewEvent } from '../discussions/append-events.ts'
import { addToCommentCount, addToReplyCount, type JudgedComment, setCommentState } from './change-sql.ts'
import { type Comment, isInView, publicForm, selectComments, toComment } from './comment.ts'
import { VIEWERS_FIELDS } from './fields.ts'
import { isInShadow, lockComment, type LockedComment } from './locked.ts'
import { isQueued } from './queues.ts'
import type { HoldReason } from './rules.ts'

/** An event of a change. Its data are the comment after the change, and `data`. */
export interface ChangeEvent extends Pick<NewEvent, 'type' | 'audience' | 'actor' | 'recipientId'> {
  data?: object
}

export interface CommentChange {
  comment: LockedComment
  /** Empty if nothing has changed. */
  events: readonly ChangeEvent[]
  /** Those above it that have come into view or left it: see `changeView`. */
  tombstones?: readonly Comment[]
}

/**
 * Changes one comment in a transaction, with its events; the comment and its discussion are locked.
 * Returns the comment after the change. Throws `not_found`, and what `change` throws; then nothing
 * has changed.
 */
export const changeComment = (ctx: Ctx, id: Id, change: CommentChanger): Promise<Comment> =>
  changeCommentOf(ctx.app, requireCaller(ctx).tenant.id, id, change)

/** The change itself, called once the comment is locked. */
type CommentChanger = (sql: TxSql, comment: LockedComment, now: Date) => Promise<CommentChange>

/** Changes a comment for the service itself, without a caller. */
export async function changeCommentOf(app: App, tenantId: Id, id: Id, change: CommentChanger): Promise<Comment> {
  const { comment, written, isOfQueue } = await app.db.transaction(async (sql) => {
    const now = new Date()
    const locked = isId(id) ? await lockComment(sql, tenantId, id, now) : undefined
    if (locked === undefined) throw noSuch('comment')
    const { comment: row, events, tombstones = [] } = await change(sql, locked, now)
    const changed = toComment(row)
    const common = { tenantId, discussionId: row.discussionId }
    const newEvents = events
      .flatMap((event) => withOwn(event, locked, row))
      .map(({ data, ...event }) => ({
        ...event,
        ...common,
        data: JSON.stringify({ ...changeData(locked, row, event.audience, tombstones), ...data }),
      }))
    return {
      comment: changed,
      written: await appendEvents(sql, newEvents),
      isOfQueue: isQueued(locked) || isQueued(row),
    }
  })
  announce(app, written)
  if (isOfQueue) tellModerators(app, tenantId)
  return comment
}

/** The data of an approval that its author gets, to whom the comment was approved before. */
export const WAS_APPROVED = { wasApproved: true }

/**
 * An event, and what its author is told if they are banned in shadow and take the comment for
 * public. While it is in shadow they get the comment itself, in place of what the public gets; once
 * it leaves the shadow, its tombstone, or that it is approved, as it was to them.
 */
function withOwn(event: ChangeEvent, before: LockedComment, after: LockedComment): ChangeEvent[] {
  const recipientId = before.authorId
  const isToPublic = event.audience === 'public'
  if (recipientId === null || before.authorBan !== 'shadow' || event.audience === 'recipient') return [event]
  const own = { ...event, audience: 'own', recipientId } as const
  if (!isInShadow(after)) {
    if (!isInShadow(before)) return [event]
    if (after.status === 'approved')
      return [
        { ...event, recipientId },
        { ...own, data: WAS_APPROVED },
      ]
    return isToPublic ? [event] : [event, own]
  }
  return isToPublic ? [{ ...event, recipientId }, own] : [{ ...event, audience: 'recipient', recipientId }]
}

/**
 * A comment as an event shows it: a tombstone to the public, unless it is approved. Its author gets
 * the same, but one that only their shadow ban holds as it is: streams say that it is approved.
 */
const eventForm = (comment: Comment, audience: Audience, isShadowed = false): Comment => ({
  ...(audience === 'public' || (audience === 'own' && !isShadowed) ? publicForm(comment) : comment),
  ...VIEWERS_FIELDS,
})

/**
 * What an event says of a change. `tombstones` are the comments that come into view, change or
 * leave it beside an approved one: the comment itself if it was a tombstone before, and `above`. A
 * client that counts comments cannot tell that by the comment. To an author the comment changes
 * nothing above it, unless it is approved out of their shadow: then they get what the public gets.
 */
export function changeData(
  before: LockedComment,
  after: LockedComment,
  audience: Audience,
  above: readonly Comment[],
): { comment: Comment; tombstones?: readonly Comment[] } {
  const comment = eventForm(toComment(after), audience, isInShadow(after))
  const isTombstoneStill = audience === 'public' && before.status !== 'approved' && after.status !== 'approved'
  const tombstones = isTombstoneStill ? [comment, ...above] : above
  const isKept = audience === 'recipient' || (audience === 'own' && after.status !== 'approved')
  return tombstones.length === 0 || isKept ? { comment } : { comment, tombstones }
}

/**
 * Updates the counters after a comment's state has changed from `before` to `after`. Returns the
 * tombstones above it that come into view or leave it thereby, the nearest first, as the public
 * sees them.
 *
 * Replies below a comment that is not approved keep their own states. Those in view still count,
 * and are reached below the comment's tombstone.
 */
export async function changeView(
  sql: Sql,
  tenantId: Id,
  before: LockedComment,
  after: LockedComment,
): Promise<Comment[]> {
  const counted = Number(after.status === 'approved') - Number(before.status === 'approved')
  if (counted !== 0) await addToCommentCount(sql, tenantId, before, counted > 0 ? 1 : -1)
  const shown = Number(isInView(after)) - Number(isInView(before))
  if (shown === 0) return []
  const crossed = await addToReplyCount(sql, tenantId, before.parentId, shown > 0 ? 1 : -1)
  if (crossed.length === 0) return []
  const rows = await selectComments(sql, tenantId, crossed)
  return rows.sort((one, other) => other.depth - one.depth).map((row) => eventForm(toComment(row), 'public'))
}

/** Changes a locked comment's state and its counters. Returns the comment after that. */
export async function setState(
  sql: Sql,
  tenantId: Id,
  before: LockedComment,
  to: JudgedComment,
): Promise<{ after: LockedComment; tombstones: Comment[] }> {
  const { status, pinnedAt, holdReason, answersReports } = to
  const after = { ...before, status, pinnedAt, holdReason, flagged: before.flagged && !answersReports }
  await setCommentState(sql, tenantId, before.id, to)
  return { after, tombstones: await changeView(sql, tenantId, before, after) }
}

/** Takes an approved comment out of view, until a moderator judges it. */
export async function withholdComment(
  sql: Sql,
  tenantId: Id,
  comment: LockedComment,
  holdReason: HoldReason,
  now: Date,
): Promise<CommentChange> {
  const to = { status: 'pending', pinnedAt: null, answersReports: false, isReviewed: false, decision: null } as const
  const { after, tombstones } = await setState(sql, tenantId, comment, { ...to, holdReason, now })
  const event = { type: 'comment_edited', audience: 'public', actor: { kind: 'system' } } as const
  return { comment: after, events: [event], tombstones }
}

/**
 * The audience of a change: public if the public sees another comment or tombstone than before.
 * What happens behind a tombstone is not told: a rejection would tell that the comment was pending.
 */
export function audienceOf(before: LockedComment, after: LockedComment): 'public' | 'tenant' {
  const isShown = before.status === 'approved' || after.status === 'approved'
  const isLaidOpen = isInView(after) && before.status !== after.status && after.status === 'deleted'
  return isShown || isLaidOpen ? 'public' : 'tenant'
}

/**
 * Notifies followers of the tenant's queues that these may have changed. Call it only after the
 * commit.
 */
export const tellModerators = (app: App, tenantId: Id): void => app.bus.publish(CHANNELS.queues(tenantId), '')

/** Wakes the workers that ask classifiers. Call it only after the commit. */
export const tellClassifiers = (app: App): void => app.bus.publish(CHANNELS.work, 'classifier')
