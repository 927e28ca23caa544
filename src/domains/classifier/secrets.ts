import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import { newSigningSecret, sealSecret, type SigningSecret } from '../../core/signing-secrets.ts'
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
