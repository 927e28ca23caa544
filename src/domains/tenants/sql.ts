import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { Admin, Tenant } from '../../generated/prisma/client.ts'

/** `settings`: only values that differ from the defaults. */
export type TenantRow = Pick<Tenant, 'id' | 'slug' | 'settings'>

const FIND_TENANT = statement('find_tenant', 'SELECT id, slug, settings FROM tenants WHERE id = $1')

export const findTenant = async (sql: Sql, id: Id): Promise<TenantRow | undefined> =>
  (await sql<TenantRow>(FIND_TENANT, [id]))[0]

// NO KEY: plain FOR UPDATE would also stop every insert of a row that refers to the tenant.
const LOCK_TENANT = statement('lock_tenant', 'SELECT id, slug, settings FROM tenants WHERE id = $1 FOR NO KEY UPDATE')

/** The row is locked until the transaction ends. */
export const lockTenantRow = async (sql: Sql, id: Id): Promise<TenantRow | undefined> =>
  (await sql<TenantRow>(LOCK_TENANT, [id]))[0]

const COUNT_PROFILE_CHANGE = statement(
  'count_profile_change',
  'UPDATE tenants SET profile_version = profile_version + 1 WHERE id = $1',
)

/** The row is locked until the transaction ends. */
export const countProfileChangeIn = (sql: Sql, id: Id): Promise<unknown> => sql(COUNT_PROFILE_CHANGE, [id])

const SOME_TENANT = statement('some_tenant', 'SELECT id FROM tenants LIMIT 1')

/** In SQL, because every start needs it, and the first query of Prisma costs a process 56 MB. */
export const hasTenants = async (sql: Sql): Promise<boolean> => (await sql(SOME_TENANT)).length > 0

const FIND_ADMIN = statement(
  'find_admin',
  'SELECT email FROM admins WHERE tenant_id = $1 AND id = $2 AND coalesce(credential_id, id) = $3',
)

/** Undefined also if the credential was replaced. */
export const findAdmin = async (
  sql: Sql,
  { tenantId, id, credentialId }: { tenantId: Id; id: Id; credentialId: Id },
): Promise<Pick<Admin, 'email'> | undefined> =>
  (await sql<Pick<Admin, 'email'>>(FIND_ADMIN, [tenantId, id, credentialId]))[0]
