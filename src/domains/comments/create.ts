import { z } from 'zod'

import { type Ctx, requireCaller } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { TenantSettings } from '../../core/tenant-settings.ts'
import { validate } from '../../core/validate.ts'
import { createDiscussion, findDiscussionId } from '../discussions/discussions.ts'
import { ReaderGone } from '../readers/gone.ts'
import { asReader, type Reader } from '../readers/readers.ts'
import { selectBan } from '../readers/sql.ts'
import { bodySchema, type Comment } from './comments.ts'
import { type CreateOutcome, UNKNOWN_DEPTH } from './create-sql.ts'
import { renderMarkdown } from './markdown.ts'
import { holdPolicy, type Judgement, judgeText } from './rules.ts'
import { writeComment } from './writer.ts'

interface CreateComment {
  discussionId?: Id | null | undefined
  externalId?: string | null | undefined
  parentId?: Id | null | undefined
  body: string
}

/**
 * Posts a comment for the asserted reader; by the external id of a page it brings the discussion into being.
 * Throws `validation_failed`, `not_found`, `discussion_locked`, `discussion_archived`, `reader_banned`; a reply deeper
 * than the tenant's `maxDepth` is `validation_failed` with `too_deep`.
 */
export async function createComment(ctx: Ctx, input: CreateComment): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const { body } = validate(z.object({ body: bodySchema }), { body: input.body })
  const parentId = input.parentId ?? null
  if (parentId !== null && !isId(parentId)) throw refusal('parent_not_found', tenant.settings)
  const bodyHtml = renderMarkdown(body)
  // Before the reader and the discussion come into being: of a text that is refused nothing is stored.
  const judgement = judgeText(body, bodyHtml, tenant.settings)
  return asReader(ctx, (author) => postComment(ctx, { ...input, parentId, body, bodyHtml, judgement }, author))
}

interface CheckedComment extends CreateComment {
  parentId: Id | null
  bodyHtml: string
  judgement: Judgement
}

/** Posts what has been checked. Throws ReaderGone, and the refusals of `createComment`. */
async function postComment(ctx: Ctx, input: CheckedComment, author: Reader): Promise<Comment> {
  const { tenant } = requireCaller(ctx)
  const { body, bodyHtml, parentId, judgement } = input
  const discussionId = await targetOf(ctx, input, parentId, author.id)
  const commentOf = (id: Id, createdAt: Date, depth: number, status: 'approved' | 'pending'): Comment => ({
    id,
    discussionId,
    parentId,
    depth,
    author,
    body,
    bodyHtml,
    status,
    pinnedAt: null,
    editedAt: null,
    deletedAt: null,
    revision: 1,
    replyCount: 0,
    reactionCounts: {},
    viewerReaction: null,
    createdAt: createdAt.toISOString(),
  })
  const { result, id, createdAt } = await writeComment(ctx.app, {
    row: {
      tenantId: tenant.id,
      discussionId,
      parentId,
      authorId: author.id,
      body,
      bodyHtml,
      ...judgement,
      ...holdPolicy(tenant.settings),
      maxDepth: tenant.settings.maxDepth,
      actor: JSON.stringify({ kind: 'reader', readerId: author.id, externalId: author.externalId }),
    },
    toJson: (newId, at) => JSON.stringify(commentOf(newId, at, UNKNOWN_DEPTH, 'approved')),
  })
  if (result.outcome !== 'created') throw refusal(result.outcome, tenant.settings)
  return commentOf(id, createdAt, result.depth, result.status)
}

/** The discussion to post in. A reply to a page that has no discussion yet has nothing to reply to. */
async function targetOf(
  ctx: Ctx,
  { discussionId, externalId }: CreateComment,
  parentId: Id | null,
  readerId: Id,
): Promise<Id> {
  if ((discussionId == null) === (externalId == null)) {
    throw invalid('/discussionId', 'required', 'must be given, or externalId, and not both')
  }
  if (discussionId != null) {
    if (!isId(discussionId)) throw new ServiceError('not_found', { detail: 'There is no such discussion.' })
    return discussionId
  }
  const known = await findDiscussionId(ctx, externalId ?? '')
  if (known !== null) return known
  if (parentId !== null) throw new ServiceError('not_found', { detail: 'There is no such comment to reply to.' })
  // The statement that creates the comment judges again; this spares a discussion that nobody has written in.
  if ((await selectBan(ctx.app.db.query, requireCaller(ctx).tenant.id, readerId, new Date())) === 'open') {
    throw new ServiceError('reader_banned')
  }
  const { discussion } = await createDiscussion(ctx, { externalId: externalId ?? '' }, { isForReader: true })
  return discussion.id
}

function refusal(outcome: Exclude<CreateOutcome, 'created'>, { maxDepth }: TenantSettings): ServiceError {
  switch (outcome) {
    case 'not_found':
      return new ServiceError('not_found', { detail: 'There is no such discussion.' })
    case 'parent_not_found':
      return new ServiceError('not_found', { detail: 'There is no such comment to reply to.' })
    case 'too_deep':
      return invalid('/parentId', 'too_deep', `must not be ${maxDepth} levels deep already: no reply may be deeper`)
    case 'unavailable':
      return new ReaderGone()
    default:
      return new ServiceError(outcome)
  }
}
