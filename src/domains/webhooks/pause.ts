import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { changeEndpoint, lock, tellWorkers } from './change.ts'
import type { WebhookEndpoint } from './endpoint.ts'

/**
 * Pauses an endpoint: events go on making deliveries, which wait until it is resumed. Attempts that
 * are under way end as they would. A paused endpoint is unchanged. Throws `not_found`.
 */
export async function pauseWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    if (before.pausedAt !== null) return before
    return changeEndpoint(sql, ctx, 'webhook.pause', before, (now) => ({ pausedAt: now, updatedAt: now }))
  })
}

/**
 * Resumes a paused endpoint. What has waited goes out step by step, as after a recovery. An
 * endpoint that is not paused is unchanged. Throws `not_found`.
 */
export async function resumeWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const endpoint = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    if (before.pausedAt === null) return before
    return changeEndpoint(sql, ctx, 'webhook.resume', before, (now) => ({
      pausedAt: null,
      recoveredAt: now,
      updatedAt: now,
    }))
  })
  tellWorkers(ctx.app)
  return endpoint
}
