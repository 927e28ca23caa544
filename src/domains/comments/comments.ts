import { z } from 'zod'

import { type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import {
  decodeCursor,
  encodeCursor,
  idOf,
  instantOf,
  type Page,
  type PageArgs,
  pageOf,
  pageSize,
} from '../../core/cursor.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { TenantSettings } from '../../core/tenant-settings.ts'
import { noNul } from '../../core/texts.ts'
import { validate } from '../../core/validate.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { createDiscussion, findDiscussionId } from '../discussions/discussions.ts'
import { type Reader, requireReader } from '../readers/readers.ts'
import { selectBan } from '../readers/sql.ts'
import { renderMarkdown } from './markdown.ts'
import {
  type CommentRow,
  type CommentSort,
  type CreateOutcome,
  type LevelPlace,
  listLevel,
  selectComment,
  UNKNOWN_DEPTH,
} from './sql.ts'
import { commentWriter } from './writer.ts'

/** A comment as everybody gets it: REST, GraphQL, streams and webhooks (contract, section 4). Times are RFC 3339. */
export interface Comment {
  id: Id
  discussionId: Id
  parentId: Id | null
  depth: number
  author: Reader | null
  body: string | null
  bodyHtml: string | null
  status: CommentStatus
  pinnedAt: string | null
  editedAt: string | null
  deletedAt: string | null
  revision: number
  replyCount: number
  reactionCounts: Record<string, number>
  /** Absent where it is still to be looked up; null in events, which are the same for all viewers. */
  viewerReaction?: string | null
  createdAt: string
}

export const bodySchema = noNul(z.string().trim().min(1).max(10_000))

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
  const author = await requireReader(ctx)
  const discussionId = await targetOf(ctx, input, parentId, author.id)
  const bodyHtml = renderMarkdown(body)
  const proposed = statusOf(tenant.settings)
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
  const { result, id, createdAt } = await commentWriter(ctx.app).write({
    row: {
      tenantId: tenant.id,
      discussionId,
      parentId,
      authorId: author.id,
      body,
      bodyHtml,
      status: proposed,
      maxDepth: tenant.settings.maxDepth,
      actor: JSON.stringify({ kind: 'reader', readerId: author.id, externalId: author.externalId }),
    },
    toJson: (newId, at) => JSON.stringify(commentOf(newId, at, UNKNOWN_DEPTH, proposed)),
  })
  if (result.outcome !== 'created') throw refusal(result.outcome, tenant.settings)
  return commentOf(id, createdAt, result.depth, result.status)
}

/** What becomes of a new text: under pre-moderation it waits for a moderator. */
export const statusOf = ({ moderationMode }: TenantSettings): 'approved' | 'pending' =>
  moderationMode === 'pre' ? 'pending' : 'approved'

/** The discussion to post in. A reply to a page that has no discussion yet has nothing to reply to. */
async function targetOf(
  ctx: Ctx,
  { discussionId, externalId }: CreateComment,
  parentId: Id | null,
  readerId: Id,
): Promise<Id> {
  if ((discussionId == null) === (externalId == null)) {
    throw invalid('/discussionId', 'required', 'give either the discussionId or the externalId of the discussion')
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
  const { discussion } = await createDiscussion(ctx, { externalId: externalId ?? '' })
  return discussion.id
}

function refusal(outcome: Exclude<CreateOutcome, 'created'>, { maxDepth }: TenantSettings): ServiceError {
  switch (outcome) {
    case 'not_found':
      return new ServiceError('not_found', { detail: 'There is no such discussion.' })
    case 'parent_not_found':
      return new ServiceError('not_found', { detail: 'There is no such comment to reply to.' })
    case 'too_deep':
      return invalid('/parentId', 'too_deep', `A reply may be at most ${maxDepth} levels deep.`)
    default:
      return new ServiceError(outcome)
  }
}

/** One comment. Throws `not_found`, also for one that is not public, except to a moderator. */
export async function getComment(ctx: Ctx, id: Id): Promise<Comment> {
  const { tenant, actor } = requireCaller(ctx)
  const row = isId(id) ? await selectComment(ctx.app.db.query, tenant.id, id) : undefined
  if (row === undefined || !(isInView(row) || hasCapability(actor, 'moderate_content'))) {
    throw new ServiceError('not_found', { detail: 'There is no such comment.' })
  }
  return toComment(row)
}

/** Whether the public sees it: approved, or a tombstone with replies in view. */
export const isInView = ({ status, replyCount }: CommentRow): boolean =>
  status === 'approved' || (status === 'deleted' && replyCount > 0)

interface ListComments extends PageArgs {
  discussionId: Id
  parentId?: Id | null | undefined
  sort?: CommentSort | null | undefined
}

/**
 * A page of one level of a discussion of the tenant: the roots, or the replies of `parentId`; pinned ones first.
 * Throws `not_found`.
 */
export async function listComments(ctx: Ctx, args: ListComments): Promise<Page<Comment>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const sort = args.sort ?? 'newest'
  const parentId = args.parentId ?? null
  if (parentId !== null && !isId(parentId)) throw new ServiceError('not_found', { detail: 'There is no such comment.' })
  const rows = await listLevel(ctx.app.db.query, tenant.id, args.discussionId, {
    parentId,
    sort,
    after: placeOf(sort, args.after),
    limit: size + 1,
  })
  if (parentId !== null && rows.length === 0) await requireParent(ctx, args.discussionId, parentId)
  return pageOf(rows.map(toComment), size, args, ({ id, pinnedAt }) => encodeCursor(sort, pinnedAt ?? '', id))
}

/** The place that a cursor names. A comment that is pinned or unpinned meanwhile moves, as its event says. */
function placeOf(sort: CommentSort, cursor: string | null | undefined): LevelPlace | null {
  const key = decodeCursor(sort, 2, cursor)
  if (key === null) return null
  const [pinnedAt = '', id] = key
  return { pinnedAt: pinnedAt === '' ? null : instantOf(pinnedAt), id: idOf(id) }
}

async function requireParent(ctx: Ctx, discussionId: Id, parentId: Id): Promise<void> {
  const parent = await getComment(ctx, parentId)
  if (parent.discussionId !== discussionId) throw new ServiceError('not_found', { detail: 'There is no such comment.' })
}

export function toComment(row: CommentRow): Comment {
  const isDeleted = row.status === 'deleted'
  return {
    id: row.id,
    discussionId: row.discussionId,
    parentId: row.parentId,
    depth: row.depth,
    author: isDeleted ? null : authorOf(row),
    body: isDeleted ? null : row.body,
    bodyHtml: isDeleted ? null : row.bodyHtml,
    status: row.status,
    pinnedAt: row.pinnedAt?.toISOString() ?? null,
    editedAt: row.editedAt?.toISOString() ?? null,
    deletedAt: row.deletedAt?.toISOString() ?? null,
    revision: row.revision,
    replyCount: row.replyCount,
    reactionCounts: row.reactionCounts,
    createdAt: row.createdAt.toISOString(),
  }
}

function authorOf(row: CommentRow): Reader | null {
  const { authorId: id, authorExternalId: externalId } = row
  if (id === null || externalId === null) return null
  return { id, externalId, name: row.authorName, avatarUrl: row.authorAvatarUrl, profileUrl: row.authorProfileUrl }
}
