import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { sharedReads } from '../../core/queues/shared-reads.ts'
import { columns } from '../../core/database/lists.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { requireReader } from '../readers/readers.ts'
import type { Comment } from './comment.ts'

/**
 * The type of the asserted reader's reaction to a comment; null without an identity. One statement
 * serves all comments of a request.
 */
export const reactionOfViewer = (
  ctx: Ctx,
  { id, viewerReaction }: Pick<Comment, 'id' | 'viewerReaction'>,
): Promise<string | null> | string | null =>
  viewerReaction !== undefined || requireCaller(ctx).identity === null ? (viewerReaction ?? null) : loadViewer(ctx, id)

const loadViewer = perRequest<Id, string | null>(async (ctx, commentIds) => {
  const held = await viewerReactions(ctx, commentIds)
  return commentIds.map((id) => held.get(id) ?? null)
})

/** The asserted reader's reactions on some comments, by comment id. Throws `identity_required`. */
export async function viewerReactions(ctx: Ctx, commentIds: readonly Id[]): Promise<Map<Id, string>> {
  const { id: readerId } = await requireReader(ctx)
  return readViewers(ctx, '', { readerId, commentIds })
}

const readViewers = sharedReads<{ readerId: Id; commentIds: readonly Id[] }, Map<Id, string>>({
  most: 32,
  load: async (sql, tenantId, _group, keys) => {
    const rows = await selectViewerReactions(sql, tenantId, keys)
    const held = keys.map(() => new Map<Id, string>())
    for (const { n, commentId, type } of rows) held[n - 1]?.set(commentId, type)
    return held
  },
})

const VIEWER = statement(
  'viewer_reactions',
  `SELECT k.n, k.comment_id AS "commentId", r.type
   FROM unnest($2::int[], $3::uuid[], $4::uuid[]) AS k (n, reader_id, comment_id)
   CROSS JOIN LATERAL (
     SELECT type FROM reactions WHERE tenant_id = $1 AND comment_id = k.comment_id AND reader_id = k.reader_id LIMIT 1
   ) r WHERE r.type IS NOT NULL`,
)

interface ViewerRow {
  /** The position of the key, from 1. */
  n: number
  commentId: Id
  type: string
}

/** The reactions of readers on one comment each. LATERAL keeps it from reading all reactions. */
function selectViewerReactions(
  sql: Sql,
  tenantId: Id,
  keys: readonly { readerId: Id; commentIds: readonly Id[] }[],
): Promise<ViewerRow[]> {
  const pairs = keys.flatMap(({ readerId, commentIds }, index) =>
    commentIds.map((commentId) => ({ n: index + 1, readerId, commentId })),
  )
  return sql<ViewerRow>(VIEWER, [tenantId, ...columns(pairs, 'n', 'readerId', 'commentId')])
}
