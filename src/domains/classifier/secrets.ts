import { recorderFor } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { PublicSecret } from '../../core/secrets/secrets.ts'
import { newSigningSecret, sealSecret, type ShownSecret, shownOf } from '../../core/secrets/signing-secrets.ts'
import { endSecretOf, replaceSecret } from '../tenants/secrets.ts'

/**
 * Makes the secret that signs requests to the tenant's classifier; the previous one signs beside it
 * for 24 h. The secret is shown only here.
 */
export async function createClassifierSecret(ctx: Ctx): Promise<ShownSecret & { createdAt: Date }> {
  const { tenant } = requireCaller(ctx)
  const { app } = ctx
  const made = newSigningSecret()
  const sealed = sealSecret(app.settings, tenant.id, made)
  return replaceSecret(
    app,
    tenant.id,
    'classifier_secret',
    async (sql, createdAt) => {
      await sql.prisma.classifierSecret.create({ data: { tenantId: tenant.id, kid: made.kid, sealed, createdAt } })
      return shownOf(made)
    },
    recorderFor(ctx),
  )
}

/**
 * Ends a classifier secret at once: it signs no further request. One that has ended is unchanged.
 * Without a secret the classifier is not asked, and comments take the fallback. Throws `not_found`.
 */
export const revokeClassifierSecret = (ctx: Ctx, { kid }: { kid: string }): Promise<PublicSecret> =>
  endSecretOf(ctx.app, requireCaller(ctx).tenant.id, 'classifier_secret', kid, recorderFor(ctx))
