import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { changeEndpoint, lock, requireVerified, tellWorkers } from './change.ts'
import type { WebhookEndpoint } from './endpoint.ts'

// What is due first shows the discussion. Of that, the first one that waits is made due: with an
// ordered endpoint no other one may be sent.
const HURRY = statement(
  'hurry_delivery',
  `UPDATE deliveries d SET next_attempt_at = now()
   FROM (SELECT discussion_id FROM deliveries
     WHERE tenant_id = $1 AND endpoint_id = $2 AND is_replay = $3 AND status IN ('pending', 'delivering')
     ORDER BY next_attempt_at LIMIT 1) due
   CROSS JOIN LATERAL (SELECT id FROM deliveries
     WHERE tenant_id = $1 AND endpoint_id = $2 AND discussion_id = due.discussion_id
       AND status IN ('pending', 'delivering', 'held')
     ORDER BY seq, id LIMIT 1) head
   WHERE d.tenant_id = $1 AND d.id = head.id AND d.status = 'pending' AND d.next_attempt_at > now()
   RETURNING d.id`,
)

/**
 * Lets an open circuit try now instead of at its end: a pause that the receiver asked for ends, and
 * the delivery that waits longest is due. A half-open circuit has one slot over all workers, so
 * nothing is sent twice. Throws `not_found`, and `invalid_transition` if no circuit holds attempts
 * back.
 */
export async function probeWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const endpoint = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    requireVerified(before)
    requireProbe(before)
    const after = await changeEndpoint(sql, ctx, 'webhook.probe', before, (now) => ({
      circuitOpenUntil: now,
      pausedUntil: null,
    }))
    await hurry(sql, tenant.id, id)
    return after
  })
  tellWorkers(ctx.app)
  return endpoint
}

function requireProbe({ circuitOpenUntil, pausedAt }: WebhookEndpoint): void {
  if (circuitOpenUntil === null) {
    throw new ServiceError('invalid_transition', { detail: "The endpoint's circuit is closed: deliveries go out." })
  }
  if (pausedAt !== null) {
    throw new ServiceError('invalid_transition', { detail: 'The endpoint is paused: resume it first.' })
  }
}

/** Makes a delivery due; replays only where nothing else waits. */
async function hurry(sql: Sql, tenantId: Id, id: Id): Promise<void> {
  for (const isReplay of [false, true]) {
    const hurried = await sql(HURRY, [tenantId, id, isReplay])
    if (hurried.length > 0) return
  }
}
