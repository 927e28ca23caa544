import { type Ctx, hasCapability, requireCaller } from '../../core/context.ts'
import { COUNT_LIMIT, countQueues, type QueueCounts } from '../moderation/queue-sql.ts'
import { countOpenStreams } from '../stream/presence.ts'
import { selectWebhookHealth, type WebhookHealth } from '../webhooks/health-sql.ts'

/**
 * What waits for somebody. What is not asked for is not counted; null to a caller without the
 * capability.
 */
export interface Overview {
  queues: () => Promise<QueueCounts | null>
  webhooks: () => Promise<WebhookHealth | null>
  openStreams: () => Promise<number>
}

export function getOverview(ctx: Ctx): Overview {
  const { tenant, actor } = requireCaller(ctx)
  const { query } = ctx.app.db
  return {
    queues: once(async () => (hasCapability(actor, 'moderate_content') ? countQueues(query, tenant.id) : null)),
    webhooks: once(async () =>
      hasCapability(actor, 'manage_webhooks') ? selectWebhookHealth(query, tenant.id, COUNT_LIMIT) : null,
    ),
    openStreams: once(() => countOpenStreams(ctx)),
  }
}

/** Several fields are served by one statement. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}
