import { type AuditRecord, recordAudit } from '../../core/audit.ts'
import { type App, type Ctx, requireCaller } from '../../core/context.ts'
import { randomHex, sha256 } from '../../core/crypto.ts'
import type { Page, PageArgs } from '../../core/cursor.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import { seal } from '../../core/seals.ts'
import { hasEnded, pageOfSecrets, PUBLIC_SECRET, type PublicSecret, requireKid } from '../../core/secret-pages.ts'
import type { TxSql } from '../../core/sql.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { identitySecretContext } from './keyring.ts'

const OVERLAP_MS = 24 * 3_600_000

export interface NewIdentitySecret {
  kid: string
  /** The key of HS256 is the UTF-8 bytes of this whole text. */
  secret: string
  createdAt: Date
}

/**
 * Makes a new identity secret for the tenant; the old one stays valid for 24 h. The secret is shown
 * only here.
 */
export async function createIdentitySecret(ctx: Ctx): Promise<NewIdentitySecret> {
  const { tenant } = requireCaller(ctx)
  return replaceIdentitySecret(ctx.app, tenant.id, (sql, { kid, createdAt }) =>
    recordAudit(sql, ctx, {
      action: 'identity_secret.create',
      targetType: 'identity_secret',
      targetId: kid,
      after: { kid, createdAt },
    }),
  )
}

/**
 * The same for any actor of the tenant; `record` writes the audit entry in the same transaction.
 */
export async function replaceIdentitySecret(
  app: App,
  tenantId: Id,
  record?: (sql: TxSql, made: NewIdentitySecret) => Promise<void>,
): Promise<NewIdentitySecret> {
  const made = await app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    await sql.prisma.identitySecret.updateMany({
      where: { tenantId, expiresAt: null },
      data: { expiresAt: new Date(Date.now() + OVERLAP_MS) },
    })
    const secret = await addIdentitySecret(sql, app, tenantId)
    await record?.(sql, secret)
    return secret
  })
  announceChange(app, { kind: 'tenant', tenantId })
  return made
}

/** The name of an identity secret: the first 8 hex digits of its SHA-256. */
export const kidOf = (secret: string): string => sha256(secret).toString('hex').slice(0, 8)

/** Stores `given`, or a generated secret. Needs no caller, so that new tenants can use it. */
export async function addIdentitySecret(
  sql: TxSql,
  app: App,
  tenantId: Id,
  given?: string,
): Promise<NewIdentitySecret> {
  for (;;) {
    const secret = given ?? `ids_${randomHex(32)}`
    const kid = kidOf(secret)
    const sealed = seal(app.settings, secret, identitySecretContext(tenantId, kid))
    const createdAt = new Date()
    const data = { tenantId, kid, sealed, createdAt }
    const { count } = await sql.prisma.identitySecret.createMany({ data, skipDuplicates: true })
    if (count === 1) return { kid, secret, createdAt }
    // A chance of one in four thousand million: two secrets of the tenant would have one name.
    if (given !== undefined) throw new Error(`the tenant already has an identity secret with the kid ${kid}`)
  }
}

/** The tenant's identity secrets without the secret texts, newest first. */
export async function listIdentitySecrets(ctx: Ctx, args: PageArgs): Promise<Page<PublicSecret>> {
  const { tenant } = requireCaller(ctx)
  return pageOfSecrets('identity-secrets', args, ({ where, ...query }) =>
    ctx.app.prisma.identitySecret.findMany({ ...query, where: { tenantId: tenant.id, ...where } }),
  )
}

/**
 * Ends an identity secret at once, on every node: assertions that it has signed are refused. One
 * that has ended is unchanged; the last one may be ended too. Throws `not_found`.
 */
export async function revokeIdentitySecret(ctx: Ctx, { kid }: { kid: string }): Promise<PublicSecret> {
  const { tenant } = requireCaller(ctx)
  return revokeIdentitySecretOf(ctx.app, tenant.id, kid, (sql, record) => recordAudit(sql, ctx, record))
}

/**
 * The same for any actor of the tenant; `record` writes the audit entry in the same transaction.
 */
export async function revokeIdentitySecretOf(
  app: App,
  tenantId: Id,
  kid: string,
  record: (sql: TxSql, entry: AuditRecord) => Promise<void>,
): Promise<PublicSecret> {
  requireKid(kid)
  const where = { tenantId_kid: { tenantId, kid } }
  const ended = await app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    const { identitySecret } = sql.prisma
    const before = await identitySecret.findUnique({ where, select: PUBLIC_SECRET })
    if (before === null) throw new ServiceError('not_found')
    if (hasEnded(before)) return before
    const after = await identitySecret.update({ where, data: { expiresAt: new Date() }, select: PUBLIC_SECRET })
    const target = { action: 'identity_secret.revoke', targetType: 'identity_secret', targetId: kid } as const
    await record(sql, { ...target, before, after })
    return after
  })
  announceChange(app, { kind: 'tenant', tenantId })
  return ended
}
