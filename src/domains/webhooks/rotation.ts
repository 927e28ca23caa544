import { type AuditRecord, recordAudit } from '../../core/audit.ts'
import { type App, type Ctx, requireCaller, type Tenant } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { newSigningSecret, sealSecret, shownOf } from '../../core/signing-secrets.ts'
import { requireKid } from '../../core/secret-pages.ts'
import type { TxSql } from '../../core/sql.ts'
import { changeEndpoint, lock, TARGET, tellWorkers } from './change.ts'
import { auditForm, type WebhookEndpoint } from './endpoint.ts'
import { databaseNow } from './sql.ts'

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
      const expiresAt = new Date(now.getTime() + OVERLAP_MS)
      await webhookSecret.updateMany({ where: { ...ofEndpoint, expiresAt: null }, data: { expiresAt } })
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
  return revokeWebhookSecretOf(ctx.app, tenant, input, (sql, record) => recordAudit(sql, ctx, record))
}

/**
 * The same for any actor of the tenant; `record` writes the audit entry in the same transaction.
 */
export async function revokeWebhookSecretOf(
  app: App,
  tenant: Tenant,
  { id, kid }: { id: Id; kid: string },
  record: (sql: TxSql, entry: AuditRecord) => Promise<void>,
): Promise<WebhookEndpoint> {
  requireKid(kid)
  return app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    const { webhookSecret } = sql.prisma
    const where = { tenantId_endpointId_kid: { tenantId: tenant.id, endpointId: id, kid } }
    if ((await webhookSecret.findUnique({ where, select: { kid: true } })) === null) throw new ServiceError('not_found')
    if (!before.secrets.some((secret) => secret.kid === kid)) return before
    // Workers compare with the clock of the database, this process with its own.
    const now = Math.min((await databaseNow(sql)).getTime(), Date.now())
    await webhookSecret.update({ where, data: { expiresAt: new Date(now) } })
    const after = await lock(sql, tenant, id)
    const target = { ...TARGET, action: 'webhook.revoke_secret', targetId: id } as const
    await record(sql, { ...target, before: auditForm(before, tenant), after: auditForm(after, tenant) })
    return after
  })
}
