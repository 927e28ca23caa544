import { type Recorder, recorderFor } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { newSigningSecret, sealSecret, shownOf } from '../../core/secrets/signing-secrets.ts'
import { endSecret, requireKid, retireCurrent, type SecretTable } from '../../core/secrets/secrets.ts'
import type { Prisma } from '../../core/database/database.ts'
import { changeEndpoint, lock, tellWorkers } from './change.ts'
import { auditForm, type WebhookEndpoint } from './endpoint.ts'
import { databaseNow } from './sql.ts'

interface Owner {
  tenantId: Id
  endpointId: Id
}

interface Key {
  tenantId_endpointId_kid: Owner & { kid: string }
}

const secretsIn = ({ webhookSecret }: Prisma): SecretTable<Owner, Key> => webhookSecret

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
    const hasCurrent = before.secrets.some(({ expiresAt }) => expiresAt === null)
    const until = before.secrets.find(({ expiresAt }) => expiresAt !== null)?.expiresAt
    if (hasCurrent && until != null && force !== true) {
      const detail = `The last rotation ends at ${until.toISOString()}; "force" ends it now.`
      throw new ServiceError('invalid_transition', { detail })
    }
    return changeEndpoint(sql, ctx, 'webhook.rotate_secret', before, async (now) => {
      const { webhookSecret } = sql.prisma
      const ofEndpoint = { tenantId: tenant.id, endpointId: id }
      // Where the current one was ended, the one before it signs until its own end.
      if (hasCurrent || force === true) {
        await webhookSecret.updateMany({ where: { ...ofEndpoint, expiresAt: { gt: now } }, data: { expiresAt: now } })
      }
      await retireCurrent(secretsIn(sql.prisma), ofEndpoint, now)
      const sealed = sealSecret(app.settings, id, signing)
      return { secrets: { create: { kid: signing.kid, sealed, createdAt: now } } }
    })
  })
  // Without a secret, deliveries have waited for this one.
  tellWorkers(app)
  return { webhookEndpoint, ...shownOf(signing) }
}

/**
 * Ends a signing secret of an endpoint at once: it signs no further delivery. One that has ended is
 * unchanged. Without a secret the endpoint's deliveries wait until it is rotated. Throws
 * `not_found`.
 */
export async function revokeWebhookSecret(ctx: Ctx, input: { id: Id; kid: string }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  return revokeWebhookSecretOf(ctx.app, tenant, input, recorderFor(ctx))
}

/**
 * Revokes a secret of an endpoint for any actor of the tenant; `record` writes the audit entry in
 * the same transaction.
 */
export async function revokeWebhookSecretOf(
  app: App,
  tenant: Tenant,
  { id, kid }: { id: Id; kid: string },
  record: Recorder,
): Promise<WebhookEndpoint> {
  requireKid(kid)
  return app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    const where = { tenantId_endpointId_kid: { tenantId: tenant.id, endpointId: id, kid } }
    // Workers compare with the clock of the database, this process with its own.
    const now = Math.min((await databaseNow(sql)).getTime(), Date.now())
    const ended = await endSecret(secretsIn(sql.prisma), where, new Date(now))
    if (ended.after === ended.before) return before
    const after = await lock(sql, tenant, id)
    const target = { action: 'webhook.revoke_secret', targetId: id } as const
    await record(sql, { ...target, before: auditForm(before, tenant), after: auditForm(after, tenant) })
    return after
  })
}
