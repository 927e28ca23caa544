import { type AuditRecord, recordAudit } from '../../core/audit.ts'
import { type App, type Ctx, requireCaller } from '../../core/context.ts'
import type { Page, PageArgs } from '../../core/cursor.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { hasEnded, pageOfSecrets, PUBLIC_SECRET, type PublicSecret, requireKid } from '../../core/secret-pages.ts'
import { newSigningSecret, sealSecret, type SigningSecret } from '../../core/signing-secrets.ts'
import type { TxSql } from '../../core/sql.ts'
import { lockTenant } from '../tenants/tenants.ts'

const OVERLAP_MS = 24 * 3_600_000

export interface NewClassifierSecret extends SigningSecret {
  createdAt: Date
}

/**
 * Makes the secret that signs requests to the tenant's classifier; the previous one signs beside it
 * for 24 h. The secret is shown only here.
 */
export async function createClassifierSecret(ctx: Ctx): Promise<NewClassifierSecret> {
  const { tenant } = requireCaller(ctx)
  const made = newSigningSecret()
  const { kid } = made
  const createdAt = new Date()
  await ctx.app.db.transaction(async (sql) => {
    // Two concurrent calls would leave two secrets for good.
    await lockTenant(sql, tenant.id)
    const { classifierSecret } = sql.prisma
    const expiresAt = new Date(createdAt.getTime() + OVERLAP_MS)
    await classifierSecret.updateMany({ where: { tenantId: tenant.id, expiresAt: null }, data: { expiresAt } })
    const sealed = sealSecret(ctx.app.settings, tenant.id, made)
    await classifierSecret.create({ data: { tenantId: tenant.id, kid, sealed, createdAt } })
    const target = { action: 'classifier_secret.create', targetType: 'classifier_secret', targetId: kid } as const
    await recordAudit(sql, ctx, { ...target, after: { kid, createdAt } })
  })
  return { ...made, createdAt }
}

/** The tenant's classifier secrets without the secret texts, newest first. */
export async function listClassifierSecrets(ctx: Ctx, args: PageArgs): Promise<Page<PublicSecret>> {
  const { tenant } = requireCaller(ctx)
  return pageOfSecrets('classifier-secrets', args, ({ where, ...query }) =>
    ctx.app.prisma.classifierSecret.findMany({ ...query, where: { tenantId: tenant.id, ...where } }),
  )
}

/**
 * Ends a classifier secret at once: it signs no further request. One that has ended is unchanged.
 * Without a secret the classifier is not asked, and comments take the fallback. Throws `not_found`.
 */
export async function revokeClassifierSecret(ctx: Ctx, { kid }: { kid: string }): Promise<PublicSecret> {
  const { tenant } = requireCaller(ctx)
  return revokeClassifierSecretOf(ctx.app, tenant.id, kid, (sql, record) => recordAudit(sql, ctx, record))
}

/**
 * The same for any actor of the tenant; `record` writes the audit entry in the same transaction.
 */
export async function revokeClassifierSecretOf(
  app: App,
  tenantId: Id,
  kid: string,
  record: (sql: TxSql, entry: AuditRecord) => Promise<void>,
): Promise<PublicSecret> {
  requireKid(kid)
  const where = { tenantId_kid: { tenantId, kid } }
  return app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    const { classifierSecret } = sql.prisma
    const before = await classifierSecret.findUnique({ where, select: PUBLIC_SECRET })
    if (before === null) throw new ServiceError('not_found')
    if (hasEnded(before)) return before
    const after = await classifierSecret.update({ where, data: { expiresAt: new Date() }, select: PUBLIC_SECRET })
    const target = { action: 'classifier_secret.revoke', targetType: 'classifier_secret', targetId: kid } as const
    await record(sql, { ...target, before, after })
    return after
  })
}
