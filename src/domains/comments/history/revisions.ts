import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { countOf, decodeCursor, encodeCursor } from '../../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../../core/input/page.ts'
import { type Id, isId } from '../../../core/ids.ts'
import type { Sql } from '../../../core/database/database.ts'
import { isCut, type Measured, upToBytes } from '../../../core/database/lists.ts'
import { statement } from '../../../core/database/statements.ts'
import { getComment } from '../comments.ts'

/** A present or earlier body of a comment. */
export interface CommentRevision {
  revision: number
  /** Null after the reader's erasure. */
  body: string | null
  createdAt: string
  /** Null for the present body. */
  replacedAt: string | null
}

/**
 * The bodies of a comment, the present one first; moderators see those of a deleted comment. Throws
 * `not_found`.
 */
export async function listRevisions(ctx: Ctx, commentId: Id, args: PageArgs): Promise<Page<CommentRevision>> {
  const size = pageSize(args)
  const key = decodeCursor('revisions', 1, args.after)
  const before = key === null ? null : countOf(key[0])
  const { tenant } = requireCaller(ctx)
  const rows = isId(commentId) ? await listBodies(ctx.app.db.query, tenant.id, commentId, before, size + 1) : []
  if (rows.length === 0) await getComment(ctx, commentId)
  const revisions = rows.map(({ revision, body, createdAt, replacedAt }) => ({
    revision,
    body,
    createdAt: createdAt.toISOString(),
    replacedAt: replacedAt?.toISOString() ?? null,
  }))
  return pageOf(revisions, size, args, ({ revision }) => encodeCursor('revisions', revision), isCut(rows))
}

export interface BodyRow extends Measured {
  revision: number
  body: string | null
  createdAt: Date
  replacedAt: Date | null
}

// A replaced body has the time of its replacement, which is when the next body was written.
const BODIES = statement(
  'comment_bodies',
  upToBytes(
    `SELECT v.revision, v.body, coalesce(before.created_at, c.created_at) AS "createdAt", v.replaced_at AS "replacedAt"
   FROM comments c
   CROSS JOIN LATERAL (
     (SELECT c.revision, c.body, NULL::timestamptz AS replaced_at WHERE c.revision < $3)
     UNION ALL
     (SELECT revision, body, created_at FROM comment_revisions
      WHERE tenant_id = c.tenant_id AND comment_id = c.id AND revision < $3 ORDER BY revision DESC LIMIT $4)
   ) v
   LEFT JOIN comment_revisions before
     ON before.tenant_id = c.tenant_id AND before.comment_id = c.id AND before.revision = v.revision - 1
   WHERE c.tenant_id = $1 AND c.id = $2
   ORDER BY v.revision DESC LIMIT $4`,
    "octet_length(coalesce(body, ''))",
  ),
)

const BEFORE_ALL = 2_147_483_647

/** The bodies of a comment with their numbers below `before`, the highest first. */
const listBodies = (sql: Sql, tenantId: Id, commentId: Id, before: number | null, limit: number): Promise<BodyRow[]> =>
  sql<BodyRow>(BODIES, [tenantId, commentId, before ?? BEFORE_ALL, limit])
