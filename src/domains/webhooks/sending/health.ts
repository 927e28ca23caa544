import { requireCaller } from '../../../core/access.ts'
import { hasCapability } from '../../../core/caller.ts'
import type { Ctx } from '../../../core/context.ts'
import { COUNT_LIMIT } from '../../../core/database/lists.ts'
import { statement } from '../../../core/database/statements.ts'

/** The parts of a tenant's webhooks that need attention. */
export interface WebhookHealth {
  circuitsOpen: number
  endpointsDisabled: number
  endpointsUnverified: number
  deliveriesHeld: number
}

const HEALTH = statement(
  'webhook_health',
  `SELECT count(*) FILTER (WHERE state <> 'disabled' AND circuit_open_until IS NOT NULL) AS "circuitsOpen",
     count(*) FILTER (WHERE state = 'disabled') AS "endpointsDisabled",
     count(*) FILTER (WHERE state = 'unverified') AS "endpointsUnverified",
     (SELECT count(*) FROM (
       SELECT 1 FROM webhook_endpoints e CROSS JOIN LATERAL (
         SELECT 1 FROM deliveries WHERE tenant_id = e.tenant_id AND endpoint_id = e.id AND status = 'held' LIMIT $2) d
       WHERE e.tenant_id = $1 LIMIT $2) AS bounded) AS "deliveriesHeld"
   FROM webhook_endpoints WHERE tenant_id = $1`,
)

/**
 * The state of the tenant's webhooks; held deliveries are counted up to COUNT_LIMIT. Null for a
 * caller without `manage_webhooks`.
 */
export async function getWebhookHealth(ctx: Ctx): Promise<WebhookHealth | null> {
  const { tenant, actor } = requireCaller(ctx)
  if (!hasCapability(actor, 'manage_webhooks')) return null
  const [row] = await ctx.app.db.query<WebhookHealth>(HEALTH, [tenant.id, COUNT_LIMIT])
  return row ?? { circuitsOpen: 0, endpointsDisabled: 0, endpointsUnverified: 0, deliveriesHeld: 0 }
}
