import { firstIdAt, type Id } from '../../../core/ids.ts'
import type { Sql } from '../../../core/database/database.ts'
import { anyId } from '../../../core/database/lists.ts'
import { statement } from '../../../core/database/statements.ts'
import type { AuthorHistory, Judgement } from '../rules.ts'

/** How many of an author's latest comments are searched for a repetition. */
const LATEST = 20
const HOURS = 24

/**
 * How many of an author's latest comments are searched for approved ones. An author whose last 1
 * 000 were all refused counts as new.
 */
const APPROVED_AMONG = 1000

/** The lower bound of the ids that are searched for a repetition. Ids are in the order of time. */
export const repetitionsSince = (now: Date): Id => firstIdAt(new Date(now.getTime() - HOURS * 3_600_000))

/** SQL: whether one of an author's latest comments with an id above `since` has this digest. */
export const repeatsText = (tenant: string, author: string, digest: string, since: string, except = 'NULL'): string => `
  EXISTS (
    SELECT 1 FROM (
      SELECT c.id, c.text_digest FROM comments c
      WHERE c.tenant_id = ${tenant} AND c.author_id = ${author} AND c.id > ${since}
      ORDER BY c.id DESC LIMIT ${LATEST}
    ) latest
    WHERE latest.text_digest = ${digest} AND latest.id IS DISTINCT FROM ${except}::uuid
  )`

/** SQL: how many approved comments an author has, counted up to `limit`. */
export const approvedComments = (tenant: string, author: string, limit: string): string => `
  (SELECT count(*) FROM (
    SELECT 1 FROM (
      SELECT c.status FROM comments c
      WHERE c.tenant_id = ${tenant} AND c.author_id = ${author} AND ${anyId('c.author_id')}
      ORDER BY c.id DESC LIMIT ${APPROVED_AMONG}
    ) latest
    WHERE latest.status = 'approved' LIMIT ${limit}
  ) approved)`

/** How many of an author's latest comments are searched for what moderators have judged. */
const JUDGED_AMONG = 100

/** SQL: whether an author's latest judged comments, `count` of them, were all rejected. */
export const onlyRejections = (tenant: string, author: string, count: string): string => `
  (SELECT count(*) FILTER (WHERE judged.status = 'rejected') FROM (
    SELECT latest.status FROM (
      SELECT c.status, c.reviewed_at FROM comments c
      WHERE c.tenant_id = ${tenant} AND c.author_id = ${author} AND ${anyId('c.author_id')}
      ORDER BY c.id DESC LIMIT ${JUDGED_AMONG}
    ) latest
    WHERE latest.reviewed_at IS NOT NULL AND latest.status IN ('approved', 'rejected') LIMIT ${count}
  ) judged) = ${count}`

const HISTORY = statement(
  'author_history',
  `SELECT CASE WHEN $5 THEN ${repeatsText('$1', '$2', '$4::bigint', '$6::uuid', '$3')} ELSE false END AS repeats,
     CASE WHEN $8::int > 0 THEN ${onlyRejections('$1', '$2', '$8::int')} ELSE false END AS "isRejected",
     CASE WHEN $7::int > 0 THEN ${approvedComments('$1', '$2', '$7::int')} ELSE 0 END AS "approvedCount"`,
)

/**
 * The author's history that the rules need, without the comment `commentId`, whose text is being
 * changed.
 */
export async function selectHistory(
  sql: Sql,
  { tenantId, authorId, commentId }: { tenantId: Id; authorId: Id; commentId: Id },
  {
    repeats,
    rejections,
    approvedBelow,
    textDigest,
  }: Pick<Judgement, 'repeats' | 'rejections' | 'approvedBelow' | 'textDigest'>,
  now: Date,
): Promise<AuthorHistory> {
  const isAsked = repeats && textDigest !== null
  const params = [tenantId, authorId, commentId, textDigest, isAsked, repetitionsSince(now), approvedBelow, rejections]
  return (await sql<AuthorHistory>(HISTORY, params))[0] ?? { repeats: false, isRejected: false, approvedCount: 0 }
}
