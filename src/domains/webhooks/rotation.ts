import { type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { newSigningSecret, sealSecret } from '../../core/signing-secrets.ts'
import { changeEndpoint, lock } from './change.ts'

/** How long the old secret signs beside the new one (docs/guides/webhooks.md). */
const OVERLAP_MS = 24 * 3_600_000

interface Rotation {
  id: Id
  /** Ends the older of two secrets at once, if a rotation is under way. */
  force?: boolean | null | undefined
}

/**
 * Gives an endpoint a new signing secret, shown only here. The old one signs beside it for 24 h.
 * Throws `not_found`, and `invalid_transition` within the 24 h of an earlier rotation, because
 * receivers may still use the older secret.
 */
export async function rotateWebhookSecret(ctx: Ctx, { id, force }: Rotation) {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const signing = newSigningSecret()
  const webhookEndpoint = await app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    const until = before.secrets.find(({ expiresAt }) => expiresAt !== null)?.expiresAt
    if (until != null && force !== true) {
      const detail = `The last rotation ends at ${until.toISOString()}; "force" ends it now.`
      throw new ServiceError('invalid_transition', { detail })
    }
    return changeEndpoint(sql, ctx, 'webhook.rotate_secret', before, async (now) => {
      const { webhookSecret } = sql.prisma
      const ofEndpoint = { tenantId: tenant.id, endpointId: id }
      await webhookSecret.deleteMany({ where: { ...ofEndpoint, expiresAt: { not: null } } })
      const expiresAt = new Date(now.getTime() + OVERLAP_MS)
      await webhookSecret.updateMany({ where: ofEndpoint, data: { expiresAt } })
      const sealed = sealSecret(app.settings, id, signing)
      return { secrets: { create: { kid: signing.kid, sealed, createdAt: now } } }
    })
  })
  return { webhookEndpoint, secret: signing.secret, kid: signing.kid }
}
