import { randomBytes } from 'node:crypto'

import { type App, CAPABILITIES } from '../../core/context.ts'
import { hashPassword, newRawKey } from '../../core/crypto.ts'
import { type Id, newId } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { addKey } from '../keys/keys.ts'
import { addIdentitySecret } from '../readers/identity-secrets.ts'
import { hasTenants, insertAdmin, insertTenant, updateAdminPassword } from './sql.ts'

/** What a new tenant needs to begin. Nothing of it can be shown again. */
export interface Credentials {
  tenant: { id: Id; slug: string }
  apiKey: string
  identitySecret: { kid: string; secret: string }
  admin: { email: string; password: string }
}

export interface NewTenant {
  slug: string
  /** Without it, one made of the slug. */
  adminEmail?: string | undefined
  adminPassword?: string | undefined
  apiKey?: string | undefined
  identitySecret?: string | undefined
}

/** A name that must be unique is taken. `message` says which, in one line. */
export class TakenError extends Error {}

/**
 * The first tenant of an empty database, as the BOOTSTRAP_ settings say (contract, section 8); null where there is one
 * already. The caller keeps other processes out.
 */
export async function bootstrap(app: App): Promise<Credentials | null> {
  if (await hasTenants(app.db.query)) return null
  const { settings } = app
  return createTenant(app, {
    slug: settings.BOOTSTRAP_TENANT,
    adminEmail: settings.BOOTSTRAP_ADMIN_EMAIL,
    adminPassword: settings.BOOTSTRAP_ADMIN_PASSWORD,
    apiKey: settings.BOOTSTRAP_API_KEY,
    identitySecret: settings.BOOTSTRAP_IDENTITY_SECRET,
  })
}

/** A tenant with a key of all capabilities, an identity secret and an admin. Throws TakenError. */
export async function createTenant(app: App, tenant: NewTenant): Promise<Credentials> {
  const { slug, apiKey = newRawKey() } = tenant
  const id = newId()
  const admin = await newAdmin(tenant.adminEmail ?? `admin@${slug}.example.com`, tenant.adminPassword)
  return app.db.transaction(async (sql) => {
    if (!(await insertTenant(sql, id, slug))) throw new TakenError(`the slug ${slug} is taken`)
    await addAdmin(sql, id, admin)
    await addKey(sql, id, apiKey, { label: 'First key', capabilities: [...CAPABILITIES], expiresAt: null })
    const { kid, secret } = await addIdentitySecret(sql, app, id, tenant.identitySecret)
    const { email, password } = admin
    return { tenant: { id, slug }, apiKey, identitySecret: { kid, secret }, admin: { email, password } }
  })
}

/** One more admin of a tenant. Throws TakenError. */
export async function createAdmin(
  app: App,
  tenantId: Id,
  email: string,
  password?: string,
): Promise<Credentials['admin']> {
  const admin = await newAdmin(email, password)
  await addAdmin(app.db.query, tenantId, admin)
  return { email: admin.email, password: admin.password }
}

/** Another password for an admin: what they have open ends within 5 s. Null where the tenant has no such admin. */
export async function changeAdminPassword(
  app: App,
  tenantId: Id,
  address: string,
  password?: string,
): Promise<Credentials['admin'] | null> {
  const admin = await newAdmin(address, password)
  const isChanged = await updateAdminPassword(app.db.query, { tenantId, credentialId: newId(), ...admin })
  return isChanged ? { email: admin.email, password: admin.password } : null
}

async function newAdmin(email: string, password = randomBytes(18).toString('base64url')) {
  return { email: email.toLowerCase(), password, passwordHash: await hashPassword(password) }
}

async function addAdmin(
  sql: Sql,
  tenantId: Id,
  { email, passwordHash }: { email: string; passwordHash: string },
): Promise<void> {
  if (!(await insertAdmin(sql, { tenantId, id: newId(), email, passwordHash }))) {
    throw new TakenError(`the e-mail address ${email} is taken`)
  }
}
