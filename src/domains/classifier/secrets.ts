import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import { lockTenant } from '../tenants/sql.ts'
import { newSigningSecret, sealSecret, type SigningSecret } from '../webhooks/secrets.ts'
import { expireSecrets, insertSecret } from './sql.ts'

const OVERLAP_MS = 24 * 3_600_000

export interface NewClassifierSecret extends SigningSecret {
  createdAt: Date
}

/**
 * Makes the secret with which requests to the tenant's classifier are signed; the one before signs as well for 24 h.
 * The secret is shown only here.
 */
export async function createClassifierSecret(ctx: Ctx): Promise<NewClassifierSecret> {
  const { tenant } = requireCaller(ctx)
  const made = newSigningSecret()
  const { kid } = made
  const createdAt = new Date()
  await ctx.app.db.transaction(async (sql) => {
    // Two at once would both stay for good.
    await lockTenant(sql, tenant.id)
    await expireSecrets(sql, tenant.id, new Date(createdAt.getTime() + OVERLAP_MS))
    const sealed = sealSecret(ctx.app.settings.ENCRYPTION_KEY, tenant.id, made)
    await insertSecret(sql, tenant.id, { kid, sealed, createdAt })
    const target = { action: 'classifier_secret.create', targetType: 'classifier_secret', targetId: kid }
    await recordAudit(sql, ctx, { ...target, after: { kid, createdAt } })
  })
  return { ...made, createdAt }
}
