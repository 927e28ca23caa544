import { type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { audited, lock, newChallenge, tellWorkers } from './change.ts'
import { endpointOf, type WebhookEndpoint } from './endpoint.ts'
import { releaseHeldOf } from './holding-sql.ts'
import * as rows from './sql.ts'

/**
 * Starts the handshake anew: unverified until it succeeds. A disabled endpoint stays disabled while it proves itself: only
 * an admin enables it. Throws `not_found`.
 */
export async function verifyWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const row = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    await rows.challengeEndpoint(sql, tenant.id, id, newChallenge())
    return audited(sql, ctx, 'webhook.verify', id, before)
  })
  tellWorkers(ctx.app)
  return endpointOf(row, tenant)
}

/** Deliveries that are queued at once. Workers queue the rest, so that no request waits for a backlog. */
const RELEASED_AT_ONCE = 5000

/**
 * Puts a disabled endpoint on again: its counter 0, its circuit closed, its held deliveries queued. It is verified where
 * its present URL is, else a handshake comes first. Throws `not_found`, and `invalid_transition` where it is not disabled.
 */
export async function enableWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const row = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    if (before.state !== 'disabled') {
      throw new ServiceError('invalid_transition', { detail: `The endpoint is ${before.state}, not disabled.` })
    }
    const isProven = before.lastVerificationOk === true && before.challenge === null
    await rows.enableEndpoint(sql, tenant.id, id, isProven ? 'verified' : 'unverified')
    if (!isProven && before.challenge === null) await rows.challengeEndpoint(sql, tenant.id, id, newChallenge())
    await releaseHeldOf(sql, tenant.id, id, RELEASED_AT_ONCE)
    return audited(sql, ctx, 'webhook.enable', id, before)
  })
  tellWorkers(ctx.app)
  return endpointOf(row, tenant)
}
