import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { challenged, changeEndpoint, lock, newHandshake, tellWorkers } from './change.ts'
import type { WebhookEndpoint } from './endpoint.ts'
import { releaseHeldOf } from './sending/holding-sql.ts'

/**
 * Starts the handshake again: the endpoint is unverified until it succeeds. A disabled endpoint
 * stays disabled meanwhile: only an admin enables it. Throws `not_found`.
 */
export async function verifyWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const endpoint = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    return changeEndpoint(sql, ctx, 'webhook.verify', before, (now) => challenged(before, now))
  })
  tellWorkers(ctx.app)
  return endpoint
}

/**
 * The most deliveries queued by the request itself. Workers queue the rest, so that no request
 * waits for a backlog.
 */
const RELEASED_AT_ONCE = 5000

/**
 * Enables a disabled endpoint: resets its failures, closes its circuit, queues its held deliveries.
 * If its present URL is not verified, a handshake comes first. Throws `not_found`, and
 * `invalid_transition` if it is not disabled.
 */
export async function enableWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const endpoint = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    if (before.state !== 'disabled') {
      throw new ServiceError('invalid_transition', { detail: `The endpoint is ${before.state}, not disabled.` })
    }
    const isProven = before.lastVerificationOk === true && before.challenge === null
    const enabled = await changeEndpoint(sql, ctx, 'webhook.enable', before, (now) => ({
      ...(isProven || before.challenge !== null ? {} : newHandshake(now)),
      state: isProven ? 'verified' : 'unverified',
      disabledReason: null,
      consecutiveFailures: 0,
      circuitOpenUntil: null,
      pausedUntil: null,
      recoveredAt: now,
      countsFrom: now,
      updatedAt: now,
    }))
    await releaseHeldOf(sql, tenant.id, id, RELEASED_AT_ONCE)
    return enabled
  })
  tellWorkers(ctx.app)
  return endpoint
}
