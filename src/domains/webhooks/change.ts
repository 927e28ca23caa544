import { type AuditAction, recordAudit } from '../../core/audit.ts'
import { CHANNELS } from '../../core/bus.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { randomHex } from '../../core/secrets/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { Prisma } from '../../generated/prisma/client.ts'
import type { EndpointState } from '../../generated/prisma/enums.ts'
import { auditForm, endpointWhere, type WebhookEndpoint, withSecrets } from './endpoint.ts'
import { databaseNow, lockEndpoint } from './sql.ts'

/** Wakes workers, because deliveries or handshakes may be due. */
export const tellWorkers = (app: App): void => app.bus.publish(CHANNELS.work, '')

/**
 * Makes a handshake due. Its new challenge, 64 hex characters, replaces the one of a handshake
 * under way (docs/reference/choices/webhooks.md).
 */
export const newHandshake = (now: Date) => ({ challenge: randomHex(32), verificationDueAt: now })

/** The handshake of an existing endpoint, which becomes unverified, unless it is disabled. */
export const challenged = ({ state }: WebhookEndpoint, now: Date) =>
  ({ ...newHandshake(now), state: state === 'disabled' ? state : 'unverified', updatedAt: now }) as const

/** An endpoint of the tenant, locked until the transaction ends. Throws `not_found`. */
export async function lock(sql: TxSql, tenant: Tenant, id: Id): Promise<WebhookEndpoint> {
  if (!isId(id)) throw new ServiceError('not_found')
  await lockEndpoint(sql, tenant.id, id)
  // A separate statement: one that waited for the lock would show the secrets from before.
  const found = await sql.prisma.webhookEndpoint.findUnique({
    where: endpointWhere(tenant.id, id),
    include: withSecrets(),
  })
  if (found === null) throw new ServiceError('not_found')
  return found
}

/** Throws `invalid_transition` unless the endpoint is verified. */
export function requireVerified({ state }: { state: EndpointState }): void {
  if (state === 'verified') return
  throw new ServiceError('invalid_transition', { detail: `The endpoint is ${state}: it gets no deliveries.` })
}

/** Changes a locked endpoint, and writes an audit entry. `change` gets the database's time. */
export async function changeEndpoint(
  sql: TxSql,
  ctx: Ctx,
  action: AuditAction,
  before: WebhookEndpoint,
  change: (now: Date) => Prisma.WebhookEndpointUpdateInput | Promise<Prisma.WebhookEndpointUpdateInput>,
): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const data = await change(await databaseNow(sql))
  const where = endpointWhere(tenant.id, before.id)
  const after = await sql.prisma.webhookEndpoint.update({ where, data, include: withSecrets() })
  await recordChange(sql, ctx, action, before, after)
  return after
}

/** Writes an endpoint's change to the audit log. */
export async function recordChange(
  sql: TxSql,
  ctx: Ctx,
  action: AuditAction,
  before: WebhookEndpoint | null,
  after: WebhookEndpoint,
): Promise<void> {
  const { tenant } = requireCaller(ctx)
  await recordAudit(sql, ctx, {
    action,
    targetId: after.id,
    before: before && auditForm(before, tenant),
    after: auditForm(after, tenant),
  })
}
