import { type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { audited, lock } from './change.ts'
import { endpointOf } from './endpoint.ts'
import { newSigningSecret, sealSecret } from './secrets.ts'
import * as rows from './sql.ts'

interface Rotation {
  id: Id
  /** Ends the secret before the present one at once, where a rotation is still under way. */
  force?: boolean | null | undefined
}

/**
 * Gives an endpoint a new signing secret, shown only here. The present one signs as well for 24 h. Throws `not_found`, and
 * `invalid_transition` where these 24 h of the last rotation are not over: receivers know the older secret still.
 */
export async function rotateWebhookSecret(ctx: Ctx, { id, force }: Rotation) {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const signing = newSigningSecret()
  const row = await app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    const until = before.secrets.find(({ expiresAt }) => expiresAt !== null)?.expiresAt
    if (until != null && force !== true) {
      const detail = `The last rotation ends at ${new Date(until).toISOString()}; "force" ends it now.`
      throw new ServiceError('invalid_transition', { detail })
    }
    await rows.deleteExpiringSecrets(sql, tenant.id, id)
    await rows.expireSecret(sql, tenant.id, id)
    await rows.insertSecret(sql, tenant.id, id, signing.kid, sealSecret(app.settings.ENCRYPTION_KEY, id, signing))
    return audited(sql, ctx, 'webhook.rotate_secret', id, before)
  })
  return { webhookEndpoint: endpointOf(row, tenant), secret: signing.secret, kid: signing.kid }
}
