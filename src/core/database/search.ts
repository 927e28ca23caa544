import { z } from 'zod'

import type { Sql } from './database.ts'
import { anyId } from './lists.ts'
import type { Param, StatementOf } from './statements.ts'
import { atMost, noNul } from '../input/texts.ts'

/** The text that a list is searched for. It has no syntax. */
export const searchSchema = noNul(atMost(255, z.string().trim().min(1)))

/** A text without letters, such as a vowel mark alone, would be the beginning of each key. */
const matches = (tenant: string, search: string): string =>
  `search_fold(${search}) <> '' AND search @@ (SELECT search_query(${tenant}, search_fold(${search}), search_split(search_fold(${search}))))`

/**
 * The rows of `table` that a search finds: their external id begins with it, or their title or name
 * contains all of its words, the last one perhaps only as a beginning; case, accents and
 * punctuation do not count. OFFSET 0 stops the planner from walking the list in its own order in
 * the hope of matches: over 200 000 rows, a search without a match took 44 ms that way, and 1.5 ms
 * by the index. The search index knows the tenant; `tenant_id =` would offer PostgreSQL an index of
 * all that the tenant has.
 */
export const searched = (table: Searched, condition: string, tenant: string, search: string): string =>
  `(SELECT * FROM ${table}
     WHERE tenant_id IS NOT DISTINCT FROM ${tenant} AND ${condition} AND ${matches(tenant, search)} OFFSET 0) AS found`

/** The matches among the next rows in the order of the list. */
export const searchedNear = (
  table: Searched,
  condition: string,
  tenant: string,
  search: string,
  { before, order }: { before: string; order: string },
): string =>
  `(SELECT * FROM (
      SELECT * FROM ${table} WHERE tenant_id = ${tenant} AND ${before} AND ${anyId('tenant_id', 'id')}
      ORDER BY ${order} LIMIT ${NEAR_ROWS}
    ) AS near WHERE ${condition} AND ${matches(tenant, search)}) AS found`

type Searched = 'discussions' | 'readers'

const NEAR_ROWS = 2000

/**
 * The first `limit` rows that a search finds. The index finds all matches before they are sorted: a
 * prefix that half of 500 000 rows have took 350 ms. Such a frequent search fills its page from the
 * next few rows, so these are tried first. If they do not fill the page, matches are few, and the
 * index is used. Both statements take the same parameters.
 */
export async function findFirst<Row>(
  sql: Sql,
  { near, all }: { near: StatementOf<Row>; all: StatementOf<Row> },
  params: readonly Param[],
  limit: number,
): Promise<Row[]> {
  const rows = await sql<Row>(near, params)
  return rows.length === limit ? rows : sql<Row>(all, params)
}
