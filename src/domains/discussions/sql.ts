import { type Id, LAST_ID } from '../../core/ids.ts'
import { findFirst, searched, searchedNear } from '../../core/database/search.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { toSnakeCase } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'
import { aliasesOf, aliasOf } from './aliases.ts'
import {
  CHANGED,
  DISCUSSION_COLUMNS,
  type DiscussionFields,
  type DiscussionInput,
  type DiscussionRow,
  FIELDS,
  GIVEN,
} from './fields.ts'
import { IS_HERE } from './row.ts'

type FoundById = DiscussionRow & { isHere: boolean }

/** The discussions with these ids, in no order, deleted ones too; unknown ids are left out. */
export const selectDiscussions = statement(
  'discussions_by_ids',
  `SELECT ${DISCUSSION_COLUMNS}, ${IS_HERE} AS "isHere" FROM discussions WHERE tenant_id = $1 AND id = ANY($2::uuid[])`,
).rows<[tenantId: Id, ids: readonly Id[]], FoundById>()

// LIMIT 1: the aliases are not looked at where the first part has found a row.
/** The discussion that has the external id, or had it in the last year. */
export const selectByExternalId = statement(
  'discussion_by_external_id',
  `SELECT ${DISCUSSION_COLUMNS} FROM discussions WHERE tenant_id = $1 AND external_id = $2
   UNION ALL
   SELECT ${DISCUSSION_COLUMNS} FROM discussions WHERE tenant_id = $1 AND id = (${aliasOf('$1', '$2')})
   LIMIT 1`,
).first<[tenantId: Id, externalId: string], DiscussionRow>()

/** SQL: for each given field what its column, its parameter and whether it is given make. */
const ofGiven = (separator: string, part: (column: string, value: number, isGiven: number) => string): string =>
  GIVEN.map((name, index) => part(toSnakeCase(name), index + 4, index + 4 + GIVEN.length)).join(separator)

const UPSERT = statement(
  'upsert_discussion',
  `INSERT INTO discussions AS d (tenant_id, id, external_id, ${ofGiven(', ', (column) => column)})
   VALUES ($1, $2, $3, ${ofGiven(', ', (_column, value) => `$${value}`)})
   ON CONFLICT (tenant_id, external_id) DO UPDATE SET
     ${ofGiven(', ', (column, _value, isGiven) => `${column} = CASE WHEN $${isGiven} THEN excluded.${column} ELSE d.${column} END`)},
     updated_at = now()
   WHERE d.state <> 'archived'
     AND (${ofGiven(' OR ', (column, _value, isGiven) => `$${isGiven} AND d.${column} IS DISTINCT FROM excluded.${column}`)})
   RETURNING ${DISCUSSION_COLUMNS}`,
)

const paramOf = (name: (typeof CHANGED)[number]): string => `$${CHANGED.indexOf(name) + 4}::${FIELDS[name].type}`
const CLOSES_AT = paramOf('closesAt')

const UPDATE = statement(
  'update_discussion',
  // A new closing time is reached once, whether or not an earlier one was.
  `UPDATE discussions SET external_id = $3, ${CHANGED.map((name) => `${toSnakeCase(name)} = ${paramOf(name)}`).join(', ')}, updated_at = now(),
     auto_closed_at = CASE WHEN closes_at IS NOT DISTINCT FROM ${CLOSES_AT} THEN auto_closed_at END
   WHERE tenant_id = $1 AND id = $2 RETURNING ${DISCUSSION_COLUMNS}`,
)

/** Gives a discussion these fields. Its row must be locked. */
export const updateDiscussionRow = async (
  sql: TxSql,
  tenantId: Id,
  id: Id,
  fields: DiscussionFields,
): Promise<DiscussionRow | undefined> => {
  const params = [tenantId, id, fields.externalId, ...CHANGED.map((name) => fields[name])]
  return (await sql<DiscussionRow>(UPDATE, params))[0]
}

/**
 * Creates a discussion, or updates the existing one's given fields. Returns nothing if nothing
 * would change, or if it is archived. Concurrent creations of one external id conflict on its
 * unique index, so that one row is made.
 */
export const upsertDiscussion = async (
  sql: Sql,
  tenantId: Id,
  id: Id,
  input: DiscussionInput,
): Promise<DiscussionRow | undefined> => {
  const values = GIVEN.map((name) => input[name] ?? null)
  const params = [tenantId, id, input.externalId, ...values, ...GIVEN.map((name) => input[name] !== undefined)]
  return (await sql<DiscussionRow>(UPSERT, params))[0]
}

/** The discussions that have these external ids, or had them in the last year. */
export const selectIds = statement(
  'discussion_ids_by_external_id',
  `SELECT id, external_id AS "externalId" FROM discussions WHERE tenant_id = $1 AND external_id = ANY($2::text[])
   UNION ALL
   SELECT discussion_id, external_id FROM ${aliasesOf('$1', '$2')} a`,
).rows<[tenantId: Id, externalIds: readonly string[]], { id: Id; externalId: string }>()

export interface DiscussionCount {
  externalId: string
  commentCount: number
  state: DiscussionState
  lastEventId: string
}

export const selectCounts = statement(
  'discussion_counts',
  `SELECT external_id AS "externalId", comment_count AS "commentCount", state::text, seq::text AS "lastEventId"
   FROM discussions WHERE tenant_id = $1 AND external_id = ANY($2::text[])
   UNION ALL
   SELECT a.external_id, d.comment_count, d.state::text, d.seq::text FROM ${aliasesOf('$1', '$2')} a
   JOIN discussions d ON d.tenant_id = $1 AND d.id = a.discussion_id`,
).rows<[tenantId: Id, externalIds: readonly string[]], DiscussionCount>()

const IN_STATE = `${IS_HERE} AND ($2::text IS NULL OR state::text = $2)`

// The tenant's discussions in the state $2, and those of them that match the search $3: both take
// the same parameters.
const ALL = `(SELECT * FROM discussions WHERE tenant_id = $1 AND ${IN_STATE} AND $3::text IS NULL) AS found`
const FOUND = searched('discussions', IN_STATE, '$1', '$3::text')
const near = (place: { before: string; order: string }): string =>
  searchedNear('discussions', IN_STATE, '$1', '$3::text', place)

const RECENT_PLACE = { before: 'id < $4', order: 'id DESC', limit: '$5' }
const ACTIVE_PLACE = { before: '(active_at, id) < ($4, $5::uuid)', order: 'active_at DESC, id DESC', limit: '$6' }

const listed = <Name extends string>(name: Name, from: string, { before, order, limit }: typeof RECENT_PLACE) =>
  statement(name, `SELECT ${DISCUSSION_COLUMNS} FROM ${from} WHERE ${before} ORDER BY ${order} LIMIT ${limit}`)

const RECENT = listed('discussions_recent', ALL, RECENT_PLACE)
const RECENT_FOUND = {
  near: listed('discussions_recent_near', near(RECENT_PLACE), RECENT_PLACE),
  all: listed('discussions_recent_found', FOUND, RECENT_PLACE),
}
const ACTIVE = listed('discussions_active', ALL, ACTIVE_PLACE)
const ACTIVE_FOUND = {
  near: listed('discussions_active_near', near(ACTIVE_PLACE), ACTIVE_PLACE),
  all: listed('discussions_active_found', FOUND, ACTIVE_PLACE),
}

export interface DiscussionFilter {
  state: DiscussionState | null
  search: string | null
}

export const listRecent = (
  sql: Sql,
  tenantId: Id,
  filter: DiscussionFilter,
  before: Id | null,
  limit: number,
): Promise<DiscussionRow[]> => {
  const params = [tenantId, filter.state, filter.search, before ?? LAST_ID, limit]
  return filter.search === null ? sql<DiscussionRow>(RECENT, params) : findFirst(sql, RECENT_FOUND, params, limit)
}

export const listActive = (
  sql: Sql,
  tenantId: Id,
  filter: DiscussionFilter,
  before: { activeAt: string; id: Id } | null,
  limit: number,
): Promise<DiscussionRow[]> => {
  const from = [before?.activeAt ?? 'infinity', before?.id ?? LAST_ID]
  const params = [tenantId, filter.state, filter.search, ...from, limit]
  return filter.search === null ? sql<DiscussionRow>(ACTIVE, params) : findFirst(sql, ACTIVE_FOUND, params, limit)
}
