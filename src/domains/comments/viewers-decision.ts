import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { banIn } from '../readers/bans.ts'
import { requireReader, viewerInShadow } from '../readers/readers.ts'
import type { Comment } from './comment.ts'
import type { Decision } from './decision.ts'

/**
 * The decision on a comment for the asserted reader, if they wrote it; null for other callers, and
 * for a reader banned in shadow. One statement serves all comments of a request.
 */
export const decisionOfViewer = (ctx: Ctx, comment: Comment): Promise<Decision | null> | Decision | null =>
  comment.decision !== undefined || requireCaller(ctx).identity === null
    ? (comment.decision ?? null)
    : lookUpDecision(ctx, comment)

async function lookUpDecision(ctx: Ctx, { id, status, author }: Comment): Promise<Decision | null> {
  const { id: readerId } = await requireReader(ctx)
  return mayHaveDecisionFor(readerId, { status, authorId: author?.id ?? null }) ? loadDecision(ctx, id) : null
}

/** Whether a comment that a reader sees may be their own. Tombstones do not name the author. */
export const mayHaveDecisionFor = (
  readerId: Id,
  { status, authorId }: { status: string; authorId: Id | null },
): boolean => (authorId === null ? status === 'deleted' : authorId === readerId)

const loadDecision = perRequest<Id, Decision | null>(async (ctx, commentIds) => {
  const decisions = await decisionsForViewer(ctx, commentIds)
  return commentIds.map((id) => decisions.get(id) ?? null)
})

/** Those of these comments that the asserted reader wrote, and that a decision was made on. */
export async function decisionsForViewer(ctx: Ctx, commentIds: readonly Id[]): Promise<ReadonlyMap<Id, Decision>> {
  if ((await viewerInShadow(ctx)) !== null) return new Map()
  const { id: readerId } = await requireReader(ctx)
  const { tenant } = requireCaller(ctx)
  return selectDecisions(ctx.app.db.query, tenant.id, readerId, [...new Set(commentIds)])
}

/**
 * What the author of a comment is told of the last decision on it, for moderators; null if nothing,
 * as without an author or while they are banned in shadow. One statement serves all comments of
 * a request.
 */
export const loadToldDecision = perRequest<Id, Decision | null>(async (ctx, commentIds) => {
  const { tenant } = requireCaller(ctx)
  const told = await selectDecisions(ctx.app.db.query, tenant.id, null, [...new Set(commentIds)])
  return commentIds.map((id) => told.get(id) ?? null)
})

const DECISIONS = statement(
  'decisions_on_comments',
  `SELECT c.id, c.decision FROM unnest($3::uuid[]) AS k (id)
   CROSS JOIN LATERAL (
     SELECT id, author_id, decision FROM comments WHERE tenant_id = $1 AND id = k.id LIMIT 1
   ) c
   WHERE ($2::uuid IS NULL OR c.author_id = $2) AND c.decision IS NOT NULL
     AND (SELECT ${banIn('r', '$4::timestamptz')} IS DISTINCT FROM 'shadow' FROM readers r
       WHERE r.tenant_id = $1 AND r.id = c.author_id)`,
)

/** What authors are told of these comments: of those of one author, or of all for null. */
async function selectDecisions(
  sql: Sql,
  tenantId: Id,
  authorId: Id | null,
  ids: readonly Id[],
): Promise<ReadonlyMap<Id, Decision>> {
  const rows = await sql<{ id: Id; decision: Decision }>(DECISIONS, [tenantId, authorId, ids, new Date()])
  return new Map(rows.map(({ id, decision }) => [id, decision]))
}
