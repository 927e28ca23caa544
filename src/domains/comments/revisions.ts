import { type Ctx, requireCaller } from '../../core/context.ts'
import { countOf, decodeCursor, encodeCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { type Id, isId } from '../../core/ids.ts'
import { isCut } from '../../core/sql.ts'
import { getComment } from './comments.ts'
import { listBodies } from './revision-sql.ts'

/** A body that a comment has or had. */
export interface CommentRevision {
  revision: number
  /** Null after the erasure of the reader. */
  body: string | null
  createdAt: string
  /** Null for the present one. */
  replacedAt: string | null
}

/**
 * The bodies of a comment, the present one first; a deleted one keeps them for moderators. Throws
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
