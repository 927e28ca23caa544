import { CHANNELS } from '../../core/bus.ts'
import { type App, type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Audience } from '../../core/events.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { NO_TEXT } from '../../core/withdrawal.ts'
import { announce, appendEvents, type NewEvent } from '../discussions/append-events.ts'
import { addToCommentCount, addToReplyCount, type JudgedComment, setCommentState } from './change-sql.ts'
import { type Comment, isInView, toComment } from './comment.ts'
import { lockComment, type LockedComment } from './locked.ts'
import { isQueued } from './queues.ts'

/** An event of a change. Its data are the comment after the change, and `data`. */
export interface ChangeEvent extends Pick<NewEvent, 'type' | 'audience' | 'actor' | 'recipientId'> {
  data?: object
}

export interface CommentChange {
  comment: LockedComment
  /** Empty if nothing has changed. */
  events: readonly ChangeEvent[]
}

/**
 * Changes one comment in a transaction, with its events; the comment and its discussion are locked.
 * Returns the comment after the change. Throws `not_found`, and what `change` throws; then nothing
 * has changed.
 */
export const changeComment = (ctx: Ctx, id: Id, change: CommentChanger): Promise<Comment> =>
  changeCommentOf(ctx.app, requireCaller(ctx).tenant.id, id, change)

/** The change itself, called once the comment is locked. */
type CommentChanger = (sql: Sql, comment: LockedComment, now: Date) => Promise<CommentChange>

/** The same for the service's own changes, which have no caller. */
export async function changeCommentOf(app: App, tenantId: Id, id: Id, change: CommentChanger): Promise<Comment> {
  const { comment, written, isOfQueue } = await app.db.transaction(async (sql) => {
    const now = new Date()
    const locked = isId(id) ? await lockComment(sql, tenantId, id, now) : undefined
    if (locked === undefined) throw new ServiceError('not_found', { detail: 'There is no such comment.' })
    const { comment: row, events } = await change(sql, locked, now)
    const changed = toComment(row)
    const common = { tenantId, discussionId: row.discussionId }
    const newEvents = events.map(({ data, ...event }) => ({
      ...event,
      ...common,
      data: JSON.stringify({ comment: eventForm(changed, event.audience), ...data }),
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

/**
 * A comment as an event shows it: the public gets a comment that left the view without its text.
 */
function eventForm(comment: Comment, audience: Audience): Comment {
  const isWithdrawn = audience === 'public' && comment.status !== 'approved'
  return { ...comment, ...(isWithdrawn ? NO_TEXT : {}), viewerReaction: null }
}

/**
 * Updates the counters after a comment's state has changed from `before` to `after`.
 *
 * Whether a comment is in view depends on itself alone: it is approved, or a tombstone with replies
 * in view. Replies below a pending or rejected comment keep their own states, and still count in
 * the discussion's `commentCount` and in the comment's `replyCount`; they can be reached again when
 * the comment can.
 */
export async function changeView(sql: Sql, tenantId: Id, before: LockedComment, after: LockedComment): Promise<void> {
  const counted = Number(after.status === 'approved') - Number(before.status === 'approved')
  if (counted !== 0) await addToCommentCount(sql, tenantId, before, counted > 0 ? 1 : -1)
  const shown = Number(isInView(after)) - Number(isInView(before))
  if (shown !== 0) await addToReplyCount(sql, tenantId, before.parentId, shown > 0 ? 1 : -1)
}

/** Changes a locked comment's state and its counters. Returns the comment after that. */
export async function setState(
  sql: Sql,
  tenantId: Id,
  before: LockedComment,
  to: JudgedComment,
): Promise<LockedComment> {
  const { status, pinnedAt, holdReason, answersReports } = to
  const after = { ...before, status, pinnedAt, holdReason, flagged: before.flagged && !answersReports }
  await setCommentState(sql, tenantId, before.id, to)
  await changeView(sql, tenantId, before, after)
  return after
}

/**
 * The audience of a change: public if the public sees the comment or its tombstone, or did until
 * now.
 */
export const audienceOf = (before: LockedComment, after: LockedComment): 'public' | 'tenant' =>
  isInView(before) || isInView(after) ? 'public' : 'tenant'

/**
 * Notifies followers of the tenant's queues that these may have changed. Call it only after the
 * commit.
 */
export const tellModerators = (app: App, tenantId: Id): void => app.bus.publish(CHANNELS.queues(tenantId), '')

/** Wakes the workers that ask classifiers. Call it only after the commit. */
export const tellClassifiers = (app: App): void => app.bus.publish(CHANNELS.work, 'classifier')
