import { type App, CAPABILITIES } from '../../core/context.ts'
import { hashPassword, newRawKey, randomHex } from '../../core/secrets/crypto.ts'
import { type Id, newId } from '../../core/ids.ts'
import type { TxSql } from '../../core/sql.ts'
import type { Admin } from '../../generated/prisma/client.ts'
import { addKey } from '../api-keys/keys.ts'
import { addIdentitySecret } from '../readers/identity-secrets.ts'
import { hasTenants } from './sql.ts'
import { findTenantBySlug } from './tenants.ts'

/** The first credentials of a new tenant. They cannot be shown again. */
export interface FirstCredentials {
  tenant: { id: Id; slug: string }
  apiKey: string
  identitySecret: { kid: string; secret: string }
  admin: { email: string; password: string }
}

export interface NewTenant {
  slug: string
  /** Default: an address made from the slug. */
  adminEmail?: string | undefined
  adminPassword?: string | undefined
  apiKey?: string | undefined
  identitySecret?: string | undefined
  /** The cost of hashing the admin's password, if lower than usual. */
  scryptN?: number | undefined
}

/** A unique name is taken. `message` says which, in one line. */
export class TakenError extends Error {}

/**
 * Looks for tenants before the process listens, so that after a restart returning browsers need not
 * wait for `bootstrap`.
 */
export async function findTenants({ db, health }: App): Promise<void> {
  if (await hasTenants(db.query)) health.setUp()
}

/**
 * Creates the first tenant of an empty database by the BOOTSTRAP_ settings; null if there is one
 * already. The caller keeps other processes out.
 */
export async function bootstrap(
  app: App,
  { scryptN }: Pick<NewTenant, 'scryptN'> = {},
): Promise<FirstCredentials | null> {
  const { settings } = app
  const credentials = (await hasTenants(app.db.query))
    ? null
    : await createTenant(app, {
        slug: settings.BOOTSTRAP_TENANT,
        adminEmail: settings.BOOTSTRAP_ADMIN_EMAIL,
        adminPassword: settings.BOOTSTRAP_ADMIN_PASSWORD,
        apiKey: settings.BOOTSTRAP_API_KEY,
        identitySecret: settings.BOOTSTRAP_IDENTITY_SECRET,
        scryptN,
      })
  app.health.setUp()
  return credentials
}

const taken = (slug: string): TakenError => new TakenError(`the slug ${slug} is taken`)

/**
 * Creates a tenant with a key of all capabilities, an identity secret and an admin. Throws
 * TakenError.
 */
export async function createTenant(app: App, tenant: NewTenant): Promise<FirstCredentials> {
  const { slug, apiKey = newRawKey() } = tenant
  const id = newId()
  // At a first start, the query loads Prisma's compiler while a thread hashes the password.
  const [admin, existing] = await Promise.all([
    newAdmin(tenant.adminEmail ?? `admin@${slug}.example.com`, tenant.adminPassword, tenant.scryptN),
    findTenantBySlug(app, slug),
  ])
  if (existing !== null) throw taken(slug)
  return app.db.transaction(async (sql) => {
    const { count } = await sql.prisma.tenant.createMany({ data: { id, slug }, skipDuplicates: true })
    if (count === 0) throw taken(slug)
    await addAdmin(sql, id, admin)
    await addKey(sql, id, apiKey, { label: 'First key', capabilities: [...CAPABILITIES], expiresAt: null })
    const { kid, secret } = await addIdentitySecret(
      sql,
      app,
      { tenantId: id, createdAt: new Date() },
      tenant.identitySecret,
    )
    const { email, password } = admin
    return { tenant: { id, slug }, apiKey, identitySecret: { kid, secret }, admin: { email, password } }
  })
}

/** Adds an admin to a tenant. Throws TakenError. */
export async function createAdmin(
  app: App,
  tenantId: Id,
  email: string,
  password?: string,
): Promise<FirstCredentials['admin']> {
  const admin = await newAdmin(email, password)
  await app.db.transaction((sql) => addAdmin(sql, tenantId, admin))
  return { email: admin.email, password: admin.password }
}

/**
 * Sets an admin's password: their tokens and streams end within 5 s. Null if the tenant has no such
 * admin.
 */
export async function changeAdminPassword(
  app: App,
  tenantId: Id,
  address: string,
  password?: string,
): Promise<FirstCredentials['admin'] | null> {
  const { passwordHash, ...admin } = await newAdmin(address, password)
  const { count } = await app.db.transaction((sql) =>
    sql.prisma.admin.updateMany({
      where: { tenantId, email: admin.email },
      data: { passwordHash, credentialId: newId() },
    }),
  )
  return count === 1 ? admin : null
}

/**
 * Deletes an admin: their tokens and streams end within 5 s. Null if the tenant has no such admin.
 */
export async function deleteAdmin(
  app: App,
  tenantId: Id,
  address: string,
): Promise<Pick<Admin, 'id' | 'email'> | null> {
  const where = { tenantId, email: address.toLowerCase() }
  return app.db.transaction(async (sql) => {
    const admin = await sql.prisma.admin.findUnique({ where, select: { id: true, email: true } })
    const { count } = await sql.prisma.admin.deleteMany({ where })
    return count === 1 ? admin : null
  })
}

/** All admins, or those of one tenant. For operators only. */
export async function listAdmins({ prisma }: App, tenantId: Id | null) {
  const rows = await prisma.admin.findMany({
    where: tenantId === null ? {} : { tenantId },
    select: { id: true, tenant: { select: { slug: true } }, email: true, createdAt: true },
    orderBy: [{ tenant: { slug: 'asc' } }, { email: 'asc' }],
  })
  return rows.map((admin) => ({ ...admin, tenant: admin.tenant.slug }))
}

async function newAdmin(email: string, password = randomHex(12), scryptN?: number) {
  return { email: email.toLowerCase(), password, passwordHash: await hashPassword(password, scryptN) }
}

async function addAdmin(
  sql: TxSql,
  tenantId: Id,
  { email, passwordHash }: Pick<Admin, 'email' | 'passwordHash'>,
): Promise<void> {
  const data = { tenantId, id: newId(), email, passwordHash }
  const { count } = await sql.prisma.admin.createMany({ data, skipDuplicates: true })
  if (count === 0) throw new TakenError(`the e-mail address ${email} is taken`)
}
