import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'

const FIND_TENANT = statement('find_tenant', 'SELECT id, slug, settings FROM tenants WHERE id = $1')

export interface TenantRow {
  id: Id
  slug: string
  /** Only what differs from the defaults. */
  settings: unknown
}

export const findTenant = async (sql: Sql, id: Id): Promise<TenantRow | undefined> =>
  (await sql<TenantRow>(FIND_TENANT, [id]))[0]

// NO KEY: plain FOR UPDATE would also stop every insert of a row that refers to the tenant.
const LOCK_TENANT = statement('lock_tenant', 'SELECT id, slug, settings FROM tenants WHERE id = $1 FOR NO KEY UPDATE')

/** The tenant as it is now, locked until the transaction ends: whoever decides by its keys or settings waits in line. */
export const lockTenant = async (sql: Sql, id: Id): Promise<TenantRow | undefined> =>
  (await sql<TenantRow>(LOCK_TENANT, [id]))[0]

const INSERT_TENANT = statement(
  'insert_tenant',
  'INSERT INTO tenants (id, slug) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id',
)

/** False where the slug is taken. */
export const insertTenant = async (sql: Sql, id: Id, slug: string): Promise<boolean> =>
  (await sql(INSERT_TENANT, [id, slug])).length === 1

const SOME_TENANT = statement('some_tenant', 'SELECT id FROM tenants LIMIT 1')

export const hasTenants = async (sql: Sql): Promise<boolean> => (await sql(SOME_TENANT)).length > 0

const LIST_TENANTS = statement('list_tenants', 'SELECT id, slug, created_at AS "createdAt" FROM tenants ORDER BY id')

/** All tenants, oldest first. For operators only. */
export const listTenants = (sql: Sql): Promise<{ id: Id; slug: string; createdAt: Date }[]> => sql(LIST_TENANTS)

const FIND_TENANT_BY_SLUG = statement('find_tenant_by_slug', 'SELECT id, slug, settings FROM tenants WHERE slug = $1')

export const findTenantBySlug = async (sql: Sql, slug: string): Promise<TenantRow | undefined> =>
  (await sql<TenantRow>(FIND_TENANT_BY_SLUG, [slug]))[0]

const UPDATE_TENANT_SETTINGS = statement(
  'update_tenant_settings',
  'UPDATE tenants SET settings = $2::jsonb WHERE id = $1',
)

export const updateTenantSettings = (sql: Sql, id: Id, stored: unknown): Promise<unknown> =>
  sql(UPDATE_TENANT_SETTINGS, [id, JSON.stringify(stored)])

export interface AdminRow {
  tenantId: Id
  id: Id
  email: string
  passwordHash: string
  /** Another one with each new password: what was signed in with the one before has none that is in force. */
  credentialId: Id
  createdAt: Date
}

const ADMIN = `tenant_id AS "tenantId", id, email, password_hash AS "passwordHash",
  coalesce(credential_id, id) AS "credentialId", created_at AS "createdAt"`

const FIND_ADMIN = statement(
  'find_admin',
  `SELECT ${ADMIN} FROM admins WHERE tenant_id = $1 AND id = $2 AND coalesce(credential_id, id) = $3`,
)

/** Undefined also where the credential has been replaced. */
export const findAdmin = async (
  sql: Sql,
  { tenantId, id, credentialId }: Pick<AdminRow, 'tenantId' | 'id' | 'credentialId'>,
): Promise<AdminRow | undefined> => (await sql<AdminRow>(FIND_ADMIN, [tenantId, id, credentialId]))[0]

const FIND_ADMIN_BY_EMAIL = statement('find_admin_by_email', `SELECT ${ADMIN} FROM admins WHERE email = $1`)

/** E-mail addresses are unique over all tenants, because login names no tenant. */
export const findAdminByEmail = async (sql: Sql, email: string): Promise<AdminRow | undefined> =>
  (await sql<AdminRow>(FIND_ADMIN_BY_EMAIL, [email]))[0]

const LIST_ADMINS = statement(
  'list_admins',
  `SELECT a.id, t.slug AS tenant, a.email, a.created_at AS "createdAt" FROM admins a JOIN tenants t ON t.id = a.tenant_id
   WHERE $1::uuid IS NULL OR a.tenant_id = $1 ORDER BY t.slug, a.email`,
)

/** All admins, or those of one tenant. For operators only. */
export const listAdmins = (
  sql: Sql,
  tenantId: Id | null,
): Promise<{ id: Id; tenant: string; email: string; createdAt: Date }[]> => sql(LIST_ADMINS, [tenantId])

const INSERT_ADMIN = statement(
  'insert_admin',
  'INSERT INTO admins (tenant_id, id, email, password_hash) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING id',
)

/** False where the e-mail address is taken. */
export const insertAdmin = async (sql: Sql, admin: Omit<AdminRow, 'credentialId' | 'createdAt'>): Promise<boolean> =>
  (await sql(INSERT_ADMIN, [admin.tenantId, admin.id, admin.email, admin.passwordHash])).length === 1

const UPDATE_ADMIN_PASSWORD = statement(
  'update_admin_password',
  'UPDATE admins SET password_hash = $3, credential_id = $4 WHERE tenant_id = $1 AND email = $2 RETURNING id',
)

/** False where the tenant has no such admin. */
export const updateAdminPassword = async (
  sql: Sql,
  { tenantId, email, passwordHash, credentialId }: Omit<AdminRow, 'id' | 'createdAt'>,
): Promise<boolean> => (await sql(UPDATE_ADMIN_PASSWORD, [tenantId, email, passwordHash, credentialId])).length === 1

const DELETE_ADMIN = statement(
  'delete_admin',
  'DELETE FROM admins WHERE tenant_id = $1 AND email = $2 RETURNING id, email',
)

/** Undefined where the tenant has no such admin. */
export const deleteAdmin = async (
  sql: Sql,
  tenantId: Id,
  email: string,
): Promise<{ id: Id; email: string } | undefined> =>
  (await sql<{ id: Id; email: string }>(DELETE_ADMIN, [tenantId, email.toLowerCase()]))[0]
