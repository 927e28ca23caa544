import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { viewerInShadow } from '../readers/readers.ts'
import {
  type Comment,
  type CommentRow,
  inShadow,
  selectComment,
  toAuthorsComment,
  toComment,
  toPublicComment,
} from './comment.ts'

// A reader who is banned in shadow sees their own comments as if they were public: in lists, counts
// and by id. Other viewers cost nothing here.

/** A comment that such a reader sees and the public does not, as far as lists need it. */
interface ShownKey {
  id: Id
  discussionId: Id
  parentId: Id | null
  reactionCount: number
  replyCount: number
  /** Their own; else a tombstone above one of these. */
  isOwn: boolean
}

// Of their newest comments: a reader may have written for years.
const selectShown = statement(
  'comments_shown_in_shadow',
  `WITH RECURSIVE own AS MATERIALIZED (
     SELECT * FROM (
       SELECT * FROM comments WHERE tenant_id = $1 AND author_id = $2 AND ${anyId('author_id')} ORDER BY id DESC LIMIT 1000
     ) c WHERE c.discussion_id = ANY($3::uuid[]) AND ${inShadow('c')}
   ),
   shown AS (
     SELECT id, discussion_id, parent_id, reaction_count, reply_count, true AS is_own FROM own
     UNION
     SELECT p.id, p.discussion_id, p.parent_id, p.reaction_count, p.reply_count, false FROM shown s
     JOIN comments p ON p.tenant_id = $1 AND p.id = s.parent_id
     WHERE p.status <> 'approved' AND p.reply_count = 0 AND p.id NOT IN (SELECT id FROM own)
   )
   SELECT id, discussion_id AS "discussionId", parent_id AS "parentId", reaction_count AS "reactionCount",
     reply_count AS "replyCount", is_own AS "isOwn"
   FROM shown`,
).rows<[tenantId: Id, readerId: Id, discussionIds: readonly Id[]], ShownKey>()

/** Whether a reader banned in shadow sees a comment as a tombstone that the public does not see. */
export const isTombstoneInShadow = async (
  sql: Sql,
  tenantId: Id,
  readerId: Id,
  { id, discussionId }: Pick<Comment, 'id' | 'discussionId'>,
): Promise<boolean> =>
  (await selectShown(sql, tenantId, readerId, [discussionId])).some((shown) => shown.id === id && !shown.isOwn)

/** Whether the public's list lacks it: one with replies stands there as a tombstone. */
export const isBesidePublic = ({ replyCount }: ShownKey): boolean => replyCount === 0

/** What a viewer banned in shadow sees of a discussion, and the public does not. */
export class Shadow {
  readonly shown: ReadonlyMap<Id, ShownKey>
  readonly #replies = new Map<Id | null, number>()

  constructor(keys: readonly ShownKey[]) {
    this.shown = new Map(keys.map((key) => [key.id, key]))
    const beside = keys.filter(isBesidePublic)
    for (const { parentId } of beside) this.#replies.set(parentId, (this.#replies.get(parentId) ?? 0) + 1)
  }

  /** How many comments more than the public they count. */
  get count(): number {
    return [...this.shown.values()].filter(({ isOwn }) => isOwn).length
  }

  /** A comment with the replies that they count. */
  adjusted(comment: Comment): Comment {
    const more = this.#replies.get(comment.id)
    return more === undefined ? comment : { ...comment, replyCount: comment.replyCount + more }
  }
}

/** See `Shadow`. One statement serves all discussions of a request. */
export async function shadowIn(ctx: Ctx, discussionId: Id): Promise<Shadow | null> {
  return (await viewerInShadow(ctx)) === null ? null : loadShadow(ctx, discussionId)
}

const loadShadow = perRequest<Id, Shadow>(async (ctx, discussionIds) => {
  const readerId = await viewerInShadow(ctx)
  if (readerId === null) return discussionIds.map(() => new Shadow([]))
  const { tenant } = requireCaller(ctx)
  const keys = await selectShown(ctx.app.db.query, tenant.id, readerId, [...new Set(discussionIds)])
  return discussionIds.map((id) => new Shadow(keys.filter(({ discussionId }) => discussionId === id)))
})

const REACTIONS = statement(
  'shadow_reactions',
  `SELECT s.comment_id AS "commentId", s.type, r.type AS "publicType" FROM shadow_reactions s
   LEFT JOIN reactions r ON r.tenant_id = s.tenant_id AND r.comment_id = s.comment_id AND r.reader_id = s.reader_id
   WHERE s.tenant_id = $1 AND s.comment_id = ANY($2::uuid[]) AND s.reader_id = $3
     AND (r.updated_at IS NULL OR r.updated_at <= s.updated_at)`,
)

/** What a reader has chosen in shadow, and what counts for all of them since before their ban. */
interface OwnReaction {
  commentId: Id
  type: string | null
  publicType: string | null
}

const selectOwn = (sql: Sql, tenantId: Id, readerId: Id, commentIds: readonly Id[]): Promise<OwnReaction[]> =>
  sql(REACTIONS, [tenantId, commentIds, readerId])

function countsWith({ type, publicType }: OwnReaction, counts: Record<string, number>): Record<string, number> {
  const sums = new Map(Object.entries(counts))
  if (publicType !== null) sums.set(publicType, (sums.get(publicType) ?? 1) - 1)
  if (type !== null) sums.set(type, (sums.get(type) ?? 0) + 1)
  return Object.fromEntries([...sums].filter(([, n]) => n > 0))
}

/** Comments as a viewer banned in shadow sees them: with their own replies and reactions. */
export async function asSeenInShadow(ctx: Ctx, shadow: Shadow, comments: readonly Comment[]): Promise<Comment[]> {
  const readerId = await viewerInShadow(ctx)
  if (readerId === null) return [...comments]
  return Promise.all(
    comments.map(async (comment) => {
      const own = await loadOwn(ctx, comment.id, readerId)
      const adjusted = shadow.adjusted(comment)
      if (own === undefined) return adjusted
      return { ...adjusted, reactionCounts: countsWith(own, comment.reactionCounts), viewerReaction: own.type }
    }),
  )
}

const loadOwn = perRequest<Id, OwnReaction | undefined, [Id]>(async (ctx, commentIds, readerId) => {
  const { tenant } = requireCaller(ctx)
  const rows = await selectOwn(ctx.app.db.query, tenant.id, readerId, [...new Set(commentIds)])
  const held = new Map(rows.map((row) => [row.commentId, row]))
  return commentIds.map((id) => held.get(id))
})

/** The counts of a comment's reactions for a reader who has reacted in shadow. */
export async function countsInShadow(sql: Sql, tenantId: Id, id: Id, readerId: Id): Promise<Record<string, number>> {
  const row = await selectComment(sql, tenantId, id)
  const [own] = await selectOwn(sql, tenantId, readerId, [id])
  if (row === undefined) throw noSuch('comment')
  return own === undefined ? row.reactionCounts : countsWith(own, row.reactionCounts)
}

/** The asserted reader's own comment, or one that they see, with what only they see of it. */
export async function seenByViewer(ctx: Ctx, comment: Comment): Promise<Comment> {
  const shadow = await shadowIn(ctx, comment.discussionId)
  if (shadow === null) return comment
  const [seen = comment] = await asSeenInShadow(ctx, shadow, [comment])
  return seen
}

/** A comment as its author sees it, who learns the truth once their ban is lifted. */
export const authorsComment = async (ctx: Ctx, row: CommentRow): Promise<Comment> =>
  (await viewerInShadow(ctx)) === null ? toComment(row) : seenByViewer(ctx, toAuthorsComment(row))

/** `authorsComment`; of a deleted comment what is left of it to everybody. */
export const ownComment = (ctx: Ctx, row: CommentRow): Promise<Comment> =>
  row.status === 'deleted' ? seenByViewer(ctx, toPublicComment(row)) : authorsComment(ctx, row)
