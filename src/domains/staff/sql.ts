import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { Member } from '../../generated/prisma/client.ts'

export type MemberOfSignIn = Pick<Member, 'id' | 'email' | 'name' | 'role' | 'accountId'> & {
  expiresAt: Date
  twoFactor: boolean
}

const FIND_SIGN_IN = statement(
  'find_sign_in',
  `SELECT m.id, m.email, m.name, m.role::text AS role, CASE WHEN NOT s.by_sign_on THEN m.account_id END AS "accountId",
     s.expires_at AS "expiresAt",
     EXISTS (SELECT 1 FROM second_factors f WHERE f.account_id = m.account_id AND f.confirmed_at IS NOT NULL) AS "twoFactor"
   FROM sign_ins s JOIN members m ON m.tenant_id = s.tenant_id AND m.id = s.member_id
   WHERE s.tenant_id = $1 AND s.id = $2`,
)

/** The member of a sign-in; undefined if it has ended. In SQL, because every request needs it. */
export const findSignIn = async (sql: Sql, tenantId: Id, id: Id): Promise<MemberOfSignIn | undefined> =>
  (await sql<MemberOfSignIn>(FIND_SIGN_IN, [tenantId, id]))[0]
