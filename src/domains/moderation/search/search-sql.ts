import type { Id } from '../../../core/ids.ts'
import { codeOf } from '../../../core/outage.ts'
import type { Db, Sql } from '../../../core/database/database.ts'
import { anyId, upToBytes } from '../../../core/database/lists.ts'
import { statement, type StatementOf } from '../../../core/database/statements.ts'
import { COMMENT_BYTES, type ShownStatus } from '../../comments/comment.ts'
import type { HoldReason } from '../../comments/rules.ts'
import { QUEUE_COLUMNS, type QueueRow } from '../queue-sql.ts'

export type SearchOrder = 'newest' | 'oldest'

/** What a search is for. Null stands for any. */
export interface Wanted {
  tenantId: Id
  search: string | null
  status: ShownStatus | null
  authorId: Id | null
  discussionId: Id | null
  reason: HoldReason | null
  from: Date | null
  to: Date | null
  /** Only comments that no moderator has looked at. */
  isUnreviewed: boolean
}

/** A stretch of ids, without its ends, in an order. */
export interface Span {
  order: SearchOrder
  low: Id
  high: Id
}

/** A comment that was looked at. */
export interface SearchedRow extends QueueRow {
  /** The last one looked at is returned although it may be no match. */
  isMatch: boolean
  /** How many were looked at up to this one. */
  place: number
  /** How many of these have the words, whatever the other filters say. */
  hits: number
}

// $1 to $11 are the same in all statements: tenant, ends of the span, then `Wanted`.
const QUERY =
  '(SELECT comment_query($1, $7::uuid, CASE WHEN $4::text IS NOT NULL THEN search_split(search_fold($4)) END))'

const FILTERS = `($5::text IS NULL OR $5 = c.status::text) AND ($6::uuid IS NULL OR c.author_id = $6)
  AND ($7::uuid IS NULL OR c.discussion_id = $7) AND ($8::text IS NULL OR c.hold_reason = $8)
  AND ($9::timestamptz IS NULL OR c.created_at >= $9) AND ($10::timestamptz IS NULL OR c.created_at < $10)
  AND (NOT $11 OR c.reviewed_at IS NULL)`

const paramsOf = ({ tenantId, ...wanted }: Wanted, { low, high }: Span) => {
  const { search, status, authorId, discussionId, reason, from, to, isUnreviewed } = wanted
  return [tenantId, low, high, search, status, authorId, discussionId, reason, from, to, isUnreviewed]
}

const ofAuthor = (columns: string): string =>
  `SELECT ${columns} FROM comments c WHERE c.tenant_id = $1 AND c.author_id = $6 AND ${anyId('c.author_id')}`

/** SQL: whether a comment has the terms. A look-up for each, which no plan turns into a join. */
const HAS_TERMS = `CASE WHEN ${QUERY} IS NULL THEN true ELSE coalesce((
    SELECT s.terms @@ ${QUERY} FROM comment_search s WHERE s.tenant_id = c.tenant_id AND s.comment_id = c.id LIMIT 1
  ), false) END`

/** Where a search looks in the order of its list, so that a page ends the search. */
const SOURCES = {
  terms: `SELECT s.comment_id AS id, s.terms @@ ${QUERY} AS has_terms FROM comment_search s
    WHERE s.tenant_id = $1 AND ${anyId('s.tenant_id', 's.comment_id')}`,
  all: `SELECT c.id, $4::text IS NULL AS has_terms FROM comments c WHERE c.tenant_id = $1 AND ${anyId('c.tenant_id', 'c.id')}`,
  // Reviewed ones are passed over without a look-up. No index has the others: each post would pay
  // for it.
  unreviewed: `SELECT c.id, $4::text IS NULL AND c.status = 'approved' AND c.reviewed_at IS NULL AS has_terms FROM comments c
    WHERE c.tenant_id = $1 AND ${anyId('c.tenant_id', 'c.id')}`,
  author: ofAuthor(`c.id, ${HAS_TERMS} AS has_terms`),
  // The condition of the index that has these comments.
  held: `SELECT c.id, ${HAS_TERMS} AS has_terms FROM comments c
    WHERE c.tenant_id = $1 AND c.status IN ('pending', 'rejected') AND c.status = ($5::text)::comment_status
      AND ${anyId('c.tenant_id', 'c.id')}`,
} as const

export type Source = keyof typeof SOURCES

const DIRECTIONS = { newest: 'DESC', oldest: 'ASC' } as const

const sourceIn = (source: Source, order: SearchOrder): string => {
  const id = source === 'terms' ? 's.comment_id' : 'c.id'
  return `${SOURCES[source]} AND ${id} > $2 AND ${id} < $3 ORDER BY ${id} ${DIRECTIONS[order]} LIMIT $12`
}

const inOrder = (source: Source, order: SearchOrder): StatementOf<SearchedRow> =>
  statement(
    `search_comments_${source}_${order}`,
    upToBytes(
      `SELECT ${QUEUE_COLUMNS}, c.matches AS "isMatch", c.place, c.hits FROM (
         SELECT c.*, k.place, k.hits, k.has_terms AND ${FILTERS} AS matches FROM (
           SELECT id, has_terms, row_number() OVER (ORDER BY id ${DIRECTIONS[order]})::int AS place,
             count(*) FILTER (WHERE has_terms) OVER (ORDER BY id ${DIRECTIONS[order]} ROWS UNBOUNDED PRECEDING)::int AS hits
           FROM (${sourceIn(source, order)}) near
         ) k
         CROSS JOIN LATERAL (SELECT * FROM comments WHERE tenant_id = $1 AND id = k.id LIMIT 1) c
         WHERE k.has_terms OR k.place = $12
       ) c
       LEFT JOIN LATERAL (SELECT * FROM readers WHERE tenant_id = c.tenant_id AND id = c.author_id LIMIT 1) r ON true
       WHERE c.matches OR c.place = $12
       ORDER BY c.id ${DIRECTIONS[order]} LIMIT $13`,
      COMMENT_BYTES,
    ),
  )

const ofEach = <Found>(make: (order: SearchOrder) => Found): Readonly<Record<SearchOrder, Found>> => ({
  newest: make('newest'),
  oldest: make('oldest'),
})

const IN_ORDER: Readonly<Record<Source, Readonly<Record<SearchOrder, StatementOf<SearchedRow>>>>> = {
  terms: ofEach((order) => inOrder('terms', order)),
  all: ofEach((order) => inOrder('all', order)),
  unreviewed: ofEach((order) => inOrder('unreviewed', order)),
  author: ofEach((order) => inOrder('author', order)),
  held: ofEach((order) => inOrder('held', order)),
}

/**
 * The first `limit` matches among the next `candidates` comments of `source` in the span, and the
 * last of these comments.
 */
export const searchInOrder = (
  sql: Sql,
  source: Source,
  wanted: Wanted,
  span: Span,
  { candidates, limit }: { candidates: number; limit: number },
): Promise<SearchedRow[]> =>
  sql<SearchedRow>(IN_ORDER[source][span.order], [...paramsOf(wanted, span), candidates, limit])

/** A comment that the index found. A search that found too many, or none, has one empty row. */
export interface IndexedRow extends QueueRow {
  tooMany: boolean
  isMatch: boolean
}

// The subselect hides the query's value: by statistics PostgreSQL would read the whole table for a
// frequent word, also the rows of other tenants.
const byIndex = (order: SearchOrder): StatementOf<IndexedRow> =>
  statement(
    `search_comments_index_${order}`,
    upToBytes(
      `WITH found AS MATERIALIZED (
         SELECT s.comment_id FROM comment_search s WHERE s.terms @@ ${QUERY} LIMIT $12 + 1
       )
       SELECT n.too_many AS "tooMany", c.id IS NOT NULL AS "isMatch", ${QUEUE_COLUMNS}
       FROM (SELECT count(*) > $12 AS too_many FROM found) n
       LEFT JOIN LATERAL (
         SELECT c.* FROM (
           SELECT comment_id FROM found WHERE comment_id > $2 AND comment_id < $3 ORDER BY comment_id ${DIRECTIONS[order]} OFFSET 0
         ) k
         CROSS JOIN LATERAL (SELECT * FROM comments WHERE tenant_id = $1 AND id = k.comment_id LIMIT 1) c
         WHERE NOT n.too_many AND ${FILTERS}
         ORDER BY k.comment_id ${DIRECTIONS[order]} LIMIT $13
       ) c ON true
       LEFT JOIN LATERAL (SELECT * FROM readers WHERE tenant_id = c.tenant_id AND id = c.author_id LIMIT 1) r ON true
       ORDER BY c.id ${DIRECTIONS[order]}`,
      COMMENT_BYTES,
    ),
  )

const BY_INDEX = ofEach(byIndex)

/**
 * How long the index may take. It reads all that it has of each term before the first row: among
 * 1 000 000 comments 0.2 s for two words that half of them have each.
 */
const INDEX_MS = 50

const IN_TIME = statement('search_comments_in_time', `SET LOCAL statement_timeout = ${INDEX_MS}`)

const isLate = (error: unknown): boolean => error instanceof Error && codeOf(error) === '57014'

/**
 * The first `limit` matches in the span; null if more than `candidates` comments have the terms, or
 * if the index takes longer than INDEX_MS.
 */
export async function searchByIndex(
  db: Db,
  wanted: Wanted,
  span: Span,
  { candidates, limit }: { candidates: number; limit: number },
): Promise<QueueRow[] | null> {
  const rows = await db
    .transaction(async (sql) => {
      await sql(IN_TIME)
      return sql<IndexedRow>(BY_INDEX[span.order], [...paramsOf(wanted, span), candidates, limit])
    })
    .catch((error: unknown) => {
      if (isLate(error)) return null
      throw error
    })
  return rows === null || rows[0]?.tooMany === true ? null : rows.filter(({ isMatch }) => isMatch)
}
