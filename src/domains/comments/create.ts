import type { z } from 'zod'

import { requireCaller, requireIdentity } from '../../core/access.ts'
import { hasCapability } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { TenantSettings } from '../../core/settings/tenant.ts'
import { validate } from '../../core/input/validate.ts'
import { createDiscussion, type DiscussionName, findDiscussionId } from '../discussions/discussions.ts'
import { ReaderGone } from '../readers/gone.ts'
import type { Reader } from '../readers/fields.ts'
import { asReader } from '../readers/readers.ts'
import { beginPage } from '../discussions/begin-page.ts'
import type { Comment } from './comment.ts'
import type { CreateOutcome } from './create-sql.ts'
import { findMentioned } from './mentioned.ts'
import { newCommentSchema } from './fields.ts'
import { countingText } from './history/posted-texts.ts'
import { isCheapToRender, renderMarkdown } from './text/markdown.ts'
import { foreseeOutcome } from './refusal-sql.ts'
import { explainText, guestBelowOf, holdPolicy } from './rules.ts'
import { writeInSlowMode } from './slow-mode.ts'
import { type CheckedText, checkText } from './checked-text.ts'
import { writeComment } from './writer.ts'

interface CreateComment extends z.input<typeof newCommentSchema> {
  discussion: DiscussionName
  parentId?: Id | null | undefined
}

/**
 * Posts a comment for the asserted reader. A page named by external id gets its discussion by this.
 * Throws `validation_failed`, `not_found`, `discussion_locked`, `discussion_archived`,
 * `reader_banned`, `slow_mode`, `rate_limited`; a reply deeper than the tenant's `maxDepth` is
 * `validation_failed` with `too_deep`.
 */
export async function createComment(ctx: Ctx, input: CreateComment): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const given = validate(newCommentSchema, input)
  const parentId = input.parentId ?? null
  if (parentId !== null && !isId(parentId)) throw refusal('parent_not_found', tenant.settings)
  const { discussion } = input
  const place = {
    discussionId: await findDiscussion(ctx, discussion),
    externalId: discussion.externalId ?? '',
    parentId,
  }
  if (place.discussionId === null || !isCheapToRender(given.body)) await refuseEarly(ctx, place)
  // Before the reader and the discussion are created, so that a refused text leaves nothing
  // stored.
  const mentioned = await findMentioned(ctx, given.body, place.discussionId)
  const text = { ...given, ...checkText(ctx, given.body, mentioned) }
  return asReader(ctx, (author) =>
    countingText(ctx, text.judgement, (judgement) => postComment(ctx, place, { ...text, judgement }, author)),
  )
}

type CheckedInput = z.infer<typeof newCommentSchema> & CheckedText

interface CommentTarget {
  /** Null for a page without a discussion. */
  discussionId: Id | null
  externalId: string
  parentId: Id | null
}

/** The discussion to post in; null if the page has none yet. */
async function findDiscussion(ctx: Ctx, { id, externalId }: DiscussionName): Promise<Id | null> {
  if (id == null) return findDiscussionId(ctx, externalId ?? '')
  if (!isId(id)) throw noSuch('discussion')
  return id
}

/**
 * Refuses early what the creating statement would refuse. Only for texts whose rendering costs more
 * than this query, and before a discussion is created for a reader who may not write in it.
 */
async function refuseEarly(ctx: Ctx, { discussionId, parentId }: CommentTarget): Promise<void> {
  const { settings, id: tenantId } = requireCaller(ctx).tenant
  const { externalId: authorExternalId } = requireIdentity(ctx)
  const place = { tenantId, discussionId, parentId, authorExternalId, maxDepth: settings.maxDepth }
  const outcome = await foreseeOutcome(ctx.app.db.query, place, new Date())
  if (outcome !== 'created') throw refusal(outcome, settings)
}

/** Posts a checked comment. Throws ReaderGone, and the refusals of `createComment`. */
async function postComment(ctx: Ctx, place: CommentTarget, text: CheckedInput, author: Reader): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const { judgement, ...given } = text
  const { parentId, externalId } = place
  const { id: discussionId, isNew } =
    place.discussionId === null ? await begin(ctx, externalId) : { id: place.discussionId, isNew: false }
  const draft = {
    ...given,
    ...judgement,
    ...holdPolicy(tenant.settings),
    tenantId: tenant.id,
    discussionId,
    parentId,
    authorId: author.id,
    maxDepth: tenant.settings.maxDepth,
    guestBelow: guestBelowOf(author.externalId, tenant.settings),
    actor: { kind: 'reader', readerId: author.id, externalId: author.externalId } as const,
  }
  const { outcome, data, inShadow } = isExempt(ctx)
    ? await writeComment(ctx.app, { ...draft, pace: 'pass' })
    : await writeInSlowMode(ctx.app, draft, tenant.settings.slowModeSeconds)
  // The discussion was deleted since this process learned which one the page has.
  if (outcome === 'not_found' && externalId !== '' && place.discussionId !== null)
    return postComment(ctx, { ...place, discussionId: null }, text, author)
  if (outcome !== 'created') throw refusal(outcome, tenant.settings)
  const { comment } = JSON.parse(data ?? '') as { comment: Comment }
  if (isNew && comment.status === 'approved' && !inShadow) await nameAfterPage(ctx, externalId)
  return inShadow ? { ...comment, status: 'approved' } : comment
}

/** The discussion of a page that had none. */
async function begin(ctx: Ctx, externalId: string): Promise<{ id: Id; isNew: boolean }> {
  if (requireCaller(ctx).actor.kind === 'site') return beginPage(ctx, externalId)
  const { discussion, created } = await createDiscussion(ctx, { externalId }, { isForReader: true })
  return { id: discussion.id, isNew: created }
}

/**
 * The discussion of a site's page gets the title that the page has sent. It is a reader's text: it
 * is kept where the comment is in view, and the rules pass it.
 */
async function nameAfterPage(ctx: Ctx, externalId: string): Promise<void> {
  const { tenant, actor } = requireCaller(ctx)
  const title = actor.kind === 'site' ? actor.title : null
  if (title === null) return
  const { reason, isRefused } = explainText(title, renderMarkdown(title), tenant.settings)
  if (reason !== null || isRefused) return
  await createDiscussion(ctx, { externalId, title }, { isForReader: true }).catch((err: unknown) =>
    // The comment is posted.
    ctx.app.log.warn({ err, externalId }, 'the title of a page was not stored'),
  )
}

/** Slow mode is for readers: a member who moderates writes as they must. */
function isExempt(ctx: Ctx): boolean {
  const { actor } = requireCaller(ctx)
  return actor.kind === 'admin' && hasCapability(actor, 'moderate_content')
}

function refusal(outcome: Exclude<CreateOutcome, 'created'>, { maxDepth }: TenantSettings): ServiceError {
  switch (outcome) {
    case 'not_found':
      return noSuch('discussion')
    case 'parent_not_found':
      return new ServiceError('not_found', { detail: 'There is no such comment to reply to.' })
    case 'too_deep':
      return invalid('/parentId', 'too_deep', `is at the maximum depth of ${maxDepth} and takes no replies`)
    case 'unavailable':
      return new ReaderGone()
    case 'busy':
      return new ServiceError('unavailable', { retryAfterSeconds: 1 })
    default:
      return new ServiceError(outcome)
  }
}
