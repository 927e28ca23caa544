import type { App } from '../../core/app.ts'
import { CAPABILITIES } from '../../core/capabilities.ts'
import { hashPassword, newRawKey, randomHex } from '../../core/secrets/crypto.ts'
import { type Id, newId } from '../../core/ids.ts'
import { hasTenants } from '../../core/process/health.ts'
import type { TxSql } from '../../core/database/database.ts'
import { addKey } from '../api-keys/keys.ts'
import { addIdentitySecret } from '../readers/identity-secrets.ts'
import { addAccount, emailForm } from '../staff/accounts.ts'
import { findTenantBySlug } from '../tenants/tenants.ts'

/** The first credentials of a new tenant. They cannot be shown again. */
export interface FirstCredentials {
  tenant: { id: Id; slug: string }
  apiKey: string
  identitySecret: { kid: string; secret: string }
  /** Null: the address had an account already, whose password stays. */
  admin: { email: string; password: string | null }
}

export interface NewTenant {
  slug: string
  /** Default: an address made from the slug. */
  adminEmail?: string | undefined
  adminPassword?: string | undefined
  apiKey?: string | undefined
  identitySecret?: string | undefined
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
export async function bootstrap(app: App): Promise<FirstCredentials | null> {
  const { settings } = app
  const credentials = (await hasTenants(app.db.query))
    ? null
    : await createTenant(app, {
        slug: settings.BOOTSTRAP_TENANT,
        adminEmail: settings.BOOTSTRAP_ADMIN_EMAIL,
        adminPassword: settings.BOOTSTRAP_ADMIN_PASSWORD,
        apiKey: settings.BOOTSTRAP_API_KEY,
        identitySecret: settings.BOOTSTRAP_IDENTITY_SECRET,
      })
  app.health.setUp()
  return credentials
}

const taken = (slug: string): TakenError => new TakenError(`the slug ${slug} is taken`)

/**
 * Creates a tenant with a key of all capabilities, an identity secret and an owner. Throws
 * TakenError.
 */
export async function createTenant(app: App, tenant: NewTenant): Promise<FirstCredentials> {
  const { slug, apiKey = newRawKey() } = tenant
  const id = newId()
  // At a first start, the query loads Prisma's compiler while a thread hashes the password.
  const [admin, existing] = await Promise.all([
    newAdmin(tenant.adminEmail ?? `admin@${slug}.example.com`, tenant.adminPassword),
    findTenantBySlug(app, slug),
  ])
  if (existing !== null) throw taken(slug)
  return app.db.transaction(async (sql) => {
    const { count } = await sql.prisma.tenant.createMany({ data: { id, slug }, skipDuplicates: true })
    if (count === 0) throw taken(slug)
    const { password } = await addOwner(sql, id, admin)
    await addKey(sql, id, apiKey, { label: 'First key', capabilities: [...CAPABILITIES], expiresAt: null })
    const { kid, secret } = await addIdentitySecret(
      sql,
      app,
      { tenantId: id, createdAt: new Date() },
      tenant.identitySecret,
    )
    const { email } = admin
    return { tenant: { id, slug }, apiKey, identitySecret: { kid, secret }, admin: { email, password } }
  })
}

/** Adds an owner to a tenant. Throws TakenError. */
export async function createAdmin(
  app: App,
  tenantId: Id,
  email: string,
  password?: string,
): Promise<FirstCredentials['admin']> {
  const admin = await newAdmin(email, password)
  return app.db.transaction((sql) => addOwner(sql, tenantId, admin))
}

async function newAdmin(email: string, given?: string) {
  const password = given ?? randomHex(12)
  return { email: emailForm(email), given, password, passwordHash: await hashPassword(password) }
}

/** An address that has an account already keeps its password, which is not known here. */
async function addOwner(
  sql: TxSql,
  tenantId: Id,
  { email, given, password, passwordHash }: Awaited<ReturnType<typeof newAdmin>>,
): Promise<FirstCredentials['admin']> {
  const made = await addAccount(sql, { email, passwordHash })
  if (made === null && given !== undefined)
    throw new TakenError(`the e-mail address ${email} has an account, whose password stays: name none`)
  const accountId = made ?? (await sql.prisma.account.findUniqueOrThrow({ where: { email } })).id
  const data = { tenantId, id: newId(), email, role: 'owner', accountId } as const
  const { count } = await sql.prisma.member.createMany({ data, skipDuplicates: true })
  if (count === 0) throw new TakenError(`the e-mail address ${email} is taken`)
  return { email, password: made === null ? null : password }
}
