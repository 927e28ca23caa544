import type { Ctx } from '../../core/context.ts'
import { countQueued, type QueueCounts } from '../moderation/queue.ts'
import { countOpenStreams } from '../tickets/presence.ts'
import { getWebhookHealth, type WebhookHealth } from '../webhooks/sending/health.ts'

/**
 * What needs attention. Fields that are not requested are not counted; a field is null for a caller
 * without its capability.
 */
export interface Overview {
  queues: () => Promise<QueueCounts | null>
  webhooks: () => Promise<WebhookHealth | null>
  openStreams: () => Promise<number>
}

export const getOverview = (ctx: Ctx): Overview => ({
  queues: once(() => countQueued(ctx)),
  webhooks: once(() => getWebhookHealth(ctx)),
  openStreams: once(() => countOpenStreams(ctx)),
})

/** Runs `make` once for several fields. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}
