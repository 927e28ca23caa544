import { ROLES, type Role } from '../../../core/capabilities.ts'
import type { Id } from '../../../core/ids.ts'
import type { Sql } from '../../../core/database/database.ts'
import { statement } from '../../../core/database/statements.ts'

/** The roles whose members may hold a claim. */
export const MODERATING = (Object.keys(ROLES) as Role[]).filter((role) =>
  (ROLES[role] as readonly string[]).includes('moderate_content'),
)

/** SQL: whether a row of `members` may hold a claim. One who may not, holds none. */
export const mayClaim = (member: string): string =>
  `(${member}.disabled_at IS NULL AND ${member}.role IN (${MODERATING.map((role) => `'${role}'`).join(', ')}))`

/** How long a claim lasts that is not prolonged. */
export const CLAIM_SECONDS = 300

// Comments first, and all in the order of their ids, as a deletion of comments locks them: two
// requests never deadlock.
const CLAIM = statement(
  'claim_comments',
  `WITH wanted AS MATERIALIZED (
     SELECT c.id FROM comments c WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[]) AND c.status <> 'deleted'
     ORDER BY c.id FOR KEY SHARE
   )
   INSERT INTO comment_claims AS k (tenant_id, comment_id, member_id, expires_at)
   SELECT $1, w.id, m.id, now() + ${CLAIM_SECONDS} * interval '1 second'
   FROM wanted w CROSS JOIN (
     SELECT m.id FROM members m WHERE m.tenant_id = $1 AND m.id = $3 AND ${mayClaim('m')} LIMIT 1
   ) m
   ORDER BY w.id
   ON CONFLICT (tenant_id, comment_id) DO UPDATE SET member_id = excluded.member_id, expires_at = excluded.expires_at
   WHERE k.member_id = excluded.member_id OR k.expires_at <= now() OR NOT EXISTS (
     SELECT 1 FROM members m WHERE m.tenant_id = k.tenant_id AND m.id = k.member_id AND ${mayClaim('m')}
   )
   RETURNING k.comment_id AS id`,
)

/**
 * Takes those of these comments for a member that nobody else holds, and prolongs the member's own.
 * Returns the ids of these.
 */
export const takeClaims = async (sql: Sql, tenantId: Id, ids: readonly Id[], memberId: Id): Promise<Id[]> =>
  (await sql<{ id: Id }>(CLAIM, [tenantId, ids, memberId])).map(({ id }) => id)

/**
 * SQL: a hash of a tenant's claims, of which only colleagues of the holder hear: it is 0 while no
 * other moderator is signed in.
 */
export const claimsMark = (tenantId: string, limit: string): string =>
  `SELECT coalesce(bit_xor(hashtextextended(concat_ws(' ', claim.comment_id, claim.member_id), 0)), 0) AS mark FROM (
     SELECT k.comment_id, k.member_id FROM comment_claims k
     WHERE k.tenant_id = ${tenantId} AND k.expires_at > now()
       AND EXISTS (SELECT 1 FROM members m WHERE m.tenant_id = k.tenant_id AND m.id = k.member_id AND ${mayClaim('m')})
       AND EXISTS (
         SELECT 1 FROM sign_ins s JOIN members m ON m.tenant_id = s.tenant_id AND m.id = s.member_id
         WHERE s.tenant_id = k.tenant_id AND s.member_id <> k.member_id AND s.expires_at > now() AND ${mayClaim('m')}
       )
     ORDER BY k.comment_id LIMIT ${limit}
   ) claim`
