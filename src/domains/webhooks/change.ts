import { type AuditAction, recordAudit } from '../../core/audit.ts'
import { CHANNELS } from '../../core/bus.ts'
import { type App, type Ctx, requireCaller, type Tenant } from '../../core/context.ts'
import { randomHex } from '../../core/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { TxSql } from '../../core/sql.ts'
import type { Prisma } from '../../generated/prisma/client.ts'
import type { EndpointState } from '../../generated/prisma/enums.ts'
import { auditForm, endpointWhere, type WebhookEndpoint, withSecrets } from './endpoint.ts'
import { databaseNow, lockEndpoint } from './sql.ts'

/** What audit entries of endpoints are about. */
export const TARGET = { targetType: 'webhook_endpoint' } as const

/** There may be something due. */
export const tellWorkers = (app: App): void => app.bus.publish(CHANNELS.work, '')

/**
 * Makes a handshake due. Its new challenge, 64 hex characters, replaces the one of a handshake
 * under way (docs/reference/choices.md).
 */
export const newHandshake = (now: Date) => ({ challenge: randomHex(32), verificationDueAt: now })

/** The same for an endpoint that was there before: unverified, unless disabled. */
export const challenged = ({ state }: WebhookEndpoint, now: Date) =>
  ({ ...newHandshake(now), state: state === 'disabled' ? state : 'unverified', updatedAt: now }) as const

/** An endpoint of the tenant, locked until the transaction ends. Throws `not_found`. */
export async function lock(sql: TxSql, tenant: Tenant, id: Id): Promise<WebhookEndpoint> {
  if (!isId(id)) throw new ServiceError('not_found')
  await lockEndpoint(sql, tenant.id, id)
  // A statement of its own: one that had to wait for the lock would show the secrets as they were
  // before.
  const found = await sql.prisma.webhookEndpoint.findUnique({
    where: endpointWhere(tenant.id, id),
    include: withSecrets(),
  })
  if (found === null) throw new ServiceError('not_found')
  return found
}

/** Refuses with `invalid_transition` what only an endpoint that gets deliveries can do. */
export function requireVerified({ state }: { state: EndpointState }): void {
  if (state === 'verified') return
  throw new ServiceError('invalid_transition', { detail: `The endpoint is ${state}: it gets no deliveries.` })
}

/**
 * Changes a locked endpoint and records that for the audit. `change` is given the database's time.
 */
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

/** Writes what has become of an endpoint to the audit log. */
export async function recordChange(
  sql: TxSql,
  ctx: Ctx,
  action: AuditAction,
  before: WebhookEndpoint | null,
  after: WebhookEndpoint,
): Promise<void> {
  const { tenant } = requireCaller(ctx)
  await recordAudit(sql, ctx, {
    ...TARGET,
    action,
    targetId: after.id,
    before: before && auditForm(before, tenant),
    after: auditForm(after, tenant),
  })
}
