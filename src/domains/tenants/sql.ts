import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { Tenant } from '../../generated/prisma/client.ts'

/** `settings`: only values that differ from the defaults. */
export type TenantRow = Pick<Tenant, 'id' | 'slug' | 'settings'>

type FoundTenant = TenantRow &
  Pick<Tenant, 'discussionsDeleted' | 'suspendedAt' | 'suspensionReason'> & { mailSecretUntil: number | null }

export const findTenant = statement(
  'find_tenant',
  `SELECT id, slug, settings, discussions_deleted AS "discussionsDeleted", suspended_at AS "suspendedAt",
     suspension_reason AS "suspensionReason",
     (SELECT (extract(epoch FROM max(coalesce(m.expires_at, 'infinity'))) * 1000)::float8
      FROM mail_secrets m WHERE m.tenant_id = tenants.id) AS "mailSecretUntil"
   FROM tenants WHERE id = $1`,
).first<[id: Id], FoundTenant>()

// NO KEY: plain FOR UPDATE would also stop every insert of a row that refers to the tenant.
/** The row is locked until the transaction ends. */
export const lockTenantRow = statement(
  'lock_tenant',
  'SELECT id, slug, settings FROM tenants WHERE id = $1 FOR NO KEY UPDATE',
).first<[id: Id], TenantRow>()

/** The row is locked until the transaction ends. */
export const countProfileChangeIn = ({ prisma }: TxSql, id: Id): Promise<unknown> =>
  prisma.tenant.updateMany({ where: { id }, data: { profileVersion: { increment: 1 } } })
