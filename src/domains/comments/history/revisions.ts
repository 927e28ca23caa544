import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { countOf, decodeCursor, encodeCursor } from '../../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../../core/input/page.ts'
import { type Id, isId } from '../../../core/ids.ts'
import { perRequest } from '../../../core/per-request.ts'
import type { Sql } from '../../../core/database/database.ts'
import { cutKeys, isCut, type Measured, upToBytes } from '../../../core/database/lists.ts'
import { statement } from '../../../core/database/statements.ts'
import { requireReader } from '../../readers/readers.ts'
import type { Comment } from '../comment.ts'
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
  const part = partOf(args)
  const { tenant } = requireCaller(ctx)
  const rows = isId(commentId) ? await listBodies(ctx.app.db.query, tenant.id, [commentId], part, MODERATORS) : []
  if (rows.length === 0) await getComment(ctx, commentId)
  return pageOfBodies({ rows, isCut: isCut(rows) }, part, args)
}

/**
 * The bodies of a comment that readers may read, the present one first: those that the public saw
 * until an edit replaced them, while the comment is approved. Moderators get the same, because a
 * publisher's backend may ask with a key that may moderate. The author gets all of their own: what
 * is public must not tell them of a ban in shadow. None without the setting `showEditHistory`. One
 * statement serves all comments of a request.
 */
export async function listHistory(ctx: Ctx, comment: Comment, args: PageArgs): Promise<Page<CommentRevision>> {
  const part = partOf(args)
  const { tenant } = requireCaller(ctx)
  if (!tenant.settings.showEditHistory || comment.body === null) return pageOf([], part.limit - 1, args, cursorOf)
  return pageOfBodies(await loadHistory(ctx, comment.id, part), part, args)
}

interface Part {
  before: number
  /** One more than the page has. */
  limit: number
}

const BEFORE_ALL = 2_147_483_647

function partOf(args: PageArgs): Part {
  const key = decodeCursor('revisions', 1, args.after)
  return { before: key === null ? BEFORE_ALL : countOf(key[0]), limit: pageSize(args) + 1 }
}

interface Bodies {
  rows: readonly BodyRow[]
  isCut: boolean
}

const loadHistory = perRequest<Id, Bodies, [Part]>(async (ctx, commentIds, part) => {
  const { tenant, identity } = requireCaller(ctx)
  const readerId = identity === null ? null : (await requireReader(ctx)).id
  const asked = [...new Set(commentIds)]
  const rows = await listBodies(ctx.app.db.query, tenant.id, asked, part, { areModerators: false, readerId })
  const cut = cutKeys(rows, asked, rows.at(-1)?.commentId)
  return commentIds.map((id) => ({ rows: rows.filter(({ commentId }) => commentId === id), isCut: cut.has(id) }))
})

function pageOfBodies({ rows, isCut: isListCut }: Bodies, { limit }: Part, args: PageArgs): Page<CommentRevision> {
  const revisions = rows.map(({ revision, body, createdAt, replacedAt }) => ({
    revision,
    body,
    createdAt: createdAt.toISOString(),
    replacedAt: replacedAt?.toISOString() ?? null,
  }))
  return pageOf(revisions, limit - 1, args, cursorOf, isListCut)
}

const cursorOf = ({ revision }: CommentRevision): string => encodeCursor('revisions', revision)

export interface BodyRow extends Measured {
  commentId: Id
  revision: number
  body: string | null
  createdAt: Date
  replacedAt: Date | null
}

/** Who reads bodies: moderators, or the public and perhaps a reader. */
interface Viewers {
  areModerators: boolean
  readerId: Id | null
}

const MODERATORS: Viewers = { areModerators: true, readerId: null }

// A replaced body has the time of its replacement, which is when the next body was written. The
// public has a branch and an index of its own: an author may make thousands of edits unseen.
const BODIES = statement(
  'comment_bodies',
  upToBytes(
    `SELECT c.id AS "commentId", v.revision, v.body, coalesce(before.created_at, c.created_at) AS "createdAt",
     v.replaced_at AS "replacedAt"
   FROM unnest($2::uuid[]) WITH ORDINALITY AS k (id, n)
   CROSS JOIN LATERAL (
     SELECT id, revision, body, created_at, status = 'approved' AS is_public,
       $5::bool OR (author_id = $6::uuid AND status <> 'deleted') AS is_all
     FROM comments WHERE tenant_id = $1 AND id = k.id LIMIT 1
   ) c
   CROSS JOIN LATERAL (
     (SELECT c.revision, c.body, NULL::timestamptz AS replaced_at WHERE c.revision < $3 AND (c.is_public OR c.is_all))
     UNION ALL
     (SELECT revision, body, created_at FROM comment_revisions
      WHERE tenant_id = $1 AND comment_id = c.id AND revision < $3 AND c.is_all
      ORDER BY revision DESC LIMIT $4)
     UNION ALL
     (SELECT revision, body, created_at FROM comment_revisions
      WHERE tenant_id = $1 AND comment_id = c.id AND revision < $3 AND was_public
        AND c.is_public AND c.is_all IS NOT TRUE
      ORDER BY revision DESC LIMIT $4)
     ORDER BY revision DESC LIMIT $4
   ) v
   LEFT JOIN LATERAL (
     SELECT created_at FROM comment_revisions
     WHERE tenant_id = $1 AND comment_id = c.id AND revision = v.revision - 1 LIMIT 1
   ) before ON true
   ORDER BY k.n, v.revision DESC`,
    "octet_length(coalesce(body, ''))",
  ),
)

/** The bodies of comments with their numbers below `before`, by comment, the highest first. */
const listBodies = (
  sql: Sql,
  tenantId: Id,
  commentIds: readonly Id[],
  { before, limit }: Part,
  { areModerators, readerId }: Viewers,
): Promise<BodyRow[]> => sql(BODIES, [tenantId, commentIds, before, limit, areModerators, readerId])
