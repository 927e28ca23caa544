import { recorderFor } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { PublicSecret } from '../../core/secrets/secrets.ts'
import { newSigningSecret, sealSecret, type ShownSecret, shownOf } from '../../core/secrets/signing-secrets.ts'
import { endSecretOf, replaceSecret } from '../tenants/secrets.ts'

/**
 * Makes the secret that signs requests to the tenant's `guests.mailUrl`; the previous one signs
 * beside it for 24 h. The secret is shown only here.
 */
export async function createMailSecret(ctx: Ctx): Promise<ShownSecret & { createdAt: Date }> {
  const { tenant } = requireCaller(ctx)
  const { app } = ctx
  const made = newSigningSecret()
  const sealed = sealSecret(app.settings, tenant.id, made)
  return replaceSecret(
    app,
    tenant.id,
    'mail_secret',
    async (sql, createdAt) => {
      await sql.prisma.mailSecret.create({ data: { tenantId: tenant.id, kid: made.kid, sealed, createdAt } })
      return shownOf(made)
    },
    recorderFor(ctx),
  )
}

/**
 * Ends a mail secret at once: it signs no further request. One that has ended is unchanged. Without
 * a secret no mail is handed out. Throws `not_found`.
 */
export const revokeMailSecret = (ctx: Ctx, { kid }: { kid: string }): Promise<PublicSecret> =>
  endSecretOf(ctx.app, requireCaller(ctx).tenant.id, 'mail_secret', kid, recorderFor(ctx))
