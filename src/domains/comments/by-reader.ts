import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import { encodeCursor, idInCursor } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { type Id, isId, LAST_ID } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId, cutKeys, type Measured, upToBytes } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { namedIds, requireNamed } from '../discussions/scope.ts'
import { beginningsFor, isOfSiteSql } from '../sites/pages.ts'
import { loadDiscussion } from '../discussions/discussions.ts'
import type { Reader } from '../readers/fields.ts'
import { viewerInShadow } from '../readers/readers.ts'
import { seesRecords, sightOf } from '../readers/records.ts'
import { type Comment, inShadow, type ShownStatus, toComment } from './comment.ts'
import { COMMENT_BYTES, COMMENT_COLUMNS, type CommentRow } from './comment.ts'
import { ownComment } from './shadow.ts'

/** The most comments that are counted: a reader may have written for years. */
export const COUNTED_COMMENTS = 1000

/** The most comments that one page looks through for those of a discussion or a state. */
export const SEARCHED_COMMENTS = 1000

interface ListOfReader extends PageArgs {
  discussionId?: Id | null | undefined
  status?: ShownStatus | null | undefined
}

/**
 * A reader's comments in any state, newest first; to the reader as they see each (`getComment`),
 * and as a tombstone after its deletion. Null for callers who see neither. A filtered page may be
 * short, or empty, and go on. One statement serves all readers of a request. Throws `not_found`
 * for an unknown discussion.
 */
export async function listCommentsOfReader(
  ctx: Ctx,
  reader: Reader,
  args: ListOfReader,
): Promise<Page<Comment> | null> {
  const sight = await sightOf(ctx, reader)
  if (sight === 'none') return null
  const isOwn = sight === 'own'
  const size = pageSize(args)
  const { rows, isCut } = await loadRows(ctx, reader.id, {
    before: idInCursor('by-reader', args.after),
    limit: size + 1,
    discussionIds: await discussionsFor(ctx, args.discussionId),
    beginnings: beginningsFor(ctx),
    status: args.status ?? null,
    showsShadow: isOwn && (await viewerInShadow(ctx)) !== null,
  })
  const found = rows.filter(({ isMatch }) => isMatch)
  if (found.length === 0 && args.discussionId != null) await loadDiscussion(ctx, args.discussionId)
  const comments = isOwn ? await Promise.all(found.map((row) => ownComment(ctx, row))) : found.map(toComment)
  const last = rows.findLast(({ isLast }) => isLast)
  const page = pageOf(comments, size, args, ({ id }) => encodeCursor('by-reader', id), isCut || last !== undefined)
  if (last === undefined || found.length > size) return page
  return { ...page, pageInfo: { ...page.pageInfo, endCursor: encodeCursor('by-reader', last.id) } }
}

/** The discussions whose comments are shown; null for all. Throws `not_found`. */
async function discussionsFor(ctx: Ctx, discussionId: Id | null | undefined): Promise<readonly Id[] | null> {
  if (discussionId == null) return namedIds(ctx)
  await requireNamed(ctx, discussionId)
  if (!isId(discussionId)) throw noSuch('discussion')
  return [discussionId]
}

const loadRows = perRequest<Id, { rows: FoundRow[]; isCut: boolean }, [ReaderLevel]>(async (ctx, readerIds, level) => {
  const { tenant } = requireCaller(ctx)
  const asked = [...new Set(readerIds)]
  const rows = await listByReaders(ctx.app.db.query, tenant.id, asked, level)
  const cut = cutKeys<Id | null>(rows, asked, rows.at(-1)?.authorId)
  const byReader = new Map<Id | null, FoundRow[]>(readerIds.map((id) => [id, []]))
  for (const row of rows) byReader.get(row.authorId)?.push(row)
  return readerIds.map((id) => ({ rows: byReader.get(id) ?? [], isCut: cut.has(id) }))
})

const NONE: ReaderCommentCounts = { total: 0, approved: 0, pending: 0, rejected: 0, deleted: 0, reportsReceived: 0 }

/**
 * A reader's newest comments counted by state; null for callers who do not see readers' records.
 * One statement serves all readers of a request.
 */
export const countCommentsOfReader = async (ctx: Ctx, readerId: Id): Promise<ReaderCommentCounts | null> =>
  seesRecords(ctx) ? loadCounts(ctx, readerId) : null

const loadCounts = perRequest<Id, ReaderCommentCounts>(async (ctx, readerIds) => {
  const { tenant } = requireCaller(ctx)
  const rows = await countByReaders(ctx.app.db.query, tenant.id, [...new Set(readerIds)], COUNTED_COMMENTS)
  const counts = new Map(rows.map((row) => [row.readerId, row]))
  return readerIds.map((id) => counts.get(id) ?? NONE)
})

// The last comment that is looked through is returned although it may not match: the next page
// begins after it.
const BY_READER = statement(
  'comments_by_reader',
  upToBytes(
    `SELECT l.* FROM unnest($2::uuid[]) WITH ORDINALITY AS p (id, n)
   JOIN readers r ON r.tenant_id = $1 AND r.id = p.id
   CROSS JOIN LATERAL (
     SELECT ${COMMENT_COLUMNS}, m.matches AS "isMatch", c.place = ${SEARCHED_COMMENTS} AS "isLast" FROM (
       SELECT *, row_number() OVER (ORDER BY id DESC) AS place FROM (
         SELECT * FROM comments
         WHERE tenant_id = $1 AND author_id = p.id AND id < $3 AND ${anyId('author_id')}
         ORDER BY id DESC LIMIT ${SEARCHED_COMMENTS}
       ) newest
     ) c
     CROSS JOIN LATERAL (
       SELECT ($5::uuid[] IS NULL OR c.discussion_id = ANY($5)) AND ${isOfSiteSql('$1', 'c.discussion_id', '$8')}
         AND ($6::text IS NULL OR $6 = CASE WHEN $7 AND ${inShadow('c')} THEN 'approved' ELSE c.status::text END)
         AS matches
     ) m
     WHERE m.matches OR c.place = ${SEARCHED_COMMENTS}
     ORDER BY c.id DESC LIMIT $4
   ) l
   ORDER BY p.n, l.id DESC`,
    COMMENT_BYTES,
  ),
)

type FoundRow = CommentRow & Measured & { isMatch: boolean; isLast: boolean }

interface ReaderLevel {
  before: Id | null
  limit: number
  /** Null: all. */
  discussionIds: readonly Id[] | null
  /** Those of the addresses of a site's pages; null: all pages. */
  beginnings: readonly string[] | null
  status: ShownStatus | null
  /** Whether comments that only a ban in shadow holds count as approved. */
  showsShadow: boolean
}

/** Comments of each of several readers in any state, newest first, those older than `before`. */
const listByReaders = (
  sql: Sql,
  tenantId: Id,
  readerIds: readonly Id[],
  { before, limit, discussionIds, beginnings, status, showsShadow }: ReaderLevel,
): Promise<FoundRow[]> =>
  sql(BY_READER, [tenantId, readerIds, before ?? LAST_ID, limit, discussionIds, status, showsShadow, beginnings])

/** A reader's comments, counted by state. */
export interface ReaderCommentCounts {
  total: number
  approved: number
  pending: number
  rejected: number
  deleted: number
  reportsReceived: number
}

/** Counts the newest `limit` comments of each of several readers. */
const countByReaders = statement(
  'comment_counts_of_readers',
  `SELECT p.id AS "readerId", l.* FROM unnest($2::uuid[]) AS p (id)
   CROSS JOIN LATERAL (
     SELECT count(*) AS total, count(*) FILTER (WHERE status = 'approved') AS approved,
       count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'rejected') AS rejected,
       count(*) FILTER (WHERE status = 'deleted') AS deleted, coalesce(sum(report_count), 0)::int AS "reportsReceived"
     FROM (
       SELECT status, report_count FROM comments c
       WHERE c.tenant_id = $1 AND c.author_id = p.id AND ${anyId('c.author_id')} ORDER BY c.id DESC LIMIT $3
     ) newest
   ) l`,
).rows<[tenantId: Id, readerIds: readonly Id[], limit: number], ReaderCommentCounts & { readerId: Id }>()
