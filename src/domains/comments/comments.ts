import { z } from 'zod'

import { type Caller, type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { atMost, noNul } from '../../core/texts.ts'
import { NO_TEXT } from '../../core/withdrawal.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import type { Reader } from '../readers/readers.ts'
import { type CommentRow, isInView, selectComment, selectComments } from './row.ts'

/** A comment as everybody gets it: REST, GraphQL, streams and webhooks. Times are RFC 3339. */
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
  /**
   * Absent where it is still to be looked up; null in events, which are the same for all viewers.
   */
  viewerReaction?: string | null
  createdAt: string
}

/** Strings of a comment that are no text of its author. */
type NoText =
  | 'id'
  | 'discussionId'
  | 'parentId'
  | 'pinnedAt'
  | 'editedAt'
  | 'deletedAt'
  | 'viewerReaction'
  | 'createdAt'

type StringField = { [Name in keyof Comment]-?: string extends Comment[Name] ? Name : never }[keyof Comment]

/**
 * The text of a comment. A string must be in `NO_TEXT`, or in `NoText`: else it would stay in what
 * is told of a comment without its text, and after an erasure.
 */
export type CommentText = Record<Exclude<StringField, NoText>, string>

const WITHOUT_TEXT: Record<keyof CommentText, null> = NO_TEXT

/** How often each type is held. */
export const reactionCountsSchema = z.record(z.string(), z.int().min(1))

export const MAX_BODY_LENGTH = 10_000

export const bodySchema = noNul(atMost(MAX_BODY_LENGTH, z.string().trim().min(1)))

/** What a reader says of a new comment, beside its place. */
export const newCommentSchema = z.object({
  body: bodySchema.describe('Markdown, 1 to 10 000 characters after trimming.'),
})

/** One comment. Throws `not_found`, also for one that the caller may not see. */
export async function getComment(ctx: Ctx, id: Id): Promise<Comment> {
  const caller = requireCaller(ctx)
  const row = isId(id) ? await selectComment(ctx.app.db.query, caller.tenant.id, id) : undefined
  if (row === undefined || !maySee(caller, row)) {
    throw new ServiceError('not_found', { detail: 'There is no such comment.' })
  }
  return toComment(row)
}

/**
 * What is not public is seen by moderators; and by its author, who so learns what became of it,
 * until it is deleted.
 */
export function maySee({ actor, identity }: Caller, row: CommentRow): boolean {
  const isOwn = identity !== null && row.authorExternalId === identity.externalId
  return isInView(row) || hasCapability(actor, 'moderate_content') || (isOwn && row.status !== 'deleted')
}

export function toComment(row: CommentRow): Comment {
  const comment: Comment = {
    id: row.id,
    discussionId: row.discussionId,
    parentId: row.parentId,
    depth: row.depth,
    author: authorOf(row),
    body: row.body,
    bodyHtml: row.bodyHtml,
    status: row.status,
    pinnedAt: row.pinnedAt?.toISOString() ?? null,
    editedAt: row.editedAt?.toISOString() ?? null,
    deletedAt: row.deletedAt?.toISOString() ?? null,
    revision: row.revision,
    replyCount: row.replyCount,
    reactionCounts: row.reactionCounts,
    createdAt: row.createdAt.toISOString(),
  }
  return row.status === 'deleted' ? { ...comment, author: null, ...WITHOUT_TEXT } : comment
}

function authorOf(row: CommentRow): Reader | null {
  const { authorId: id, authorExternalId: externalId } = row
  if (id === null || externalId === null) return null
  return { id, externalId, name: row.authorName, avatarUrl: row.authorAvatarUrl, profileUrl: row.authorProfileUrl }
}

/**
 * The comment that one replies to; null at the top, and where the caller may not see it
 * (`getComment`). One statement serves all of a request.
 */
export const parentOf = async (ctx: Ctx, { parentId }: Comment): Promise<Comment | null> =>
  parentId === null ? null : loadParent(ctx, '', parentId)

const loadParent = perRequest<Id, Comment | null>(async (ctx, _group, ids) => {
  const caller = requireCaller(ctx)
  const rows = await selectComments(ctx.app.db.query, caller.tenant.id, [...new Set(ids)])
  const visible = rows.filter((row) => maySee(caller, row))
  const comments = new Map(visible.map((row) => [row.id, toComment(row)]))
  return ids.map((id) => comments.get(id) ?? null)
})
