import type { Id } from '../../../core/ids.ts'
import type { Sql } from '../../../core/database/database.ts'
import { anyId } from '../../../core/database/lists.ts'
import { statement } from '../../../core/database/statements.ts'

// Locks the endpoint, so that no admin enables it in between: deliveries held here would then stay
// held for a while.
const HOLD = statement(
  'hold_deliveries',
  `WITH off AS (
     SELECT e.tenant_id, e.id FROM webhook_endpoints e
     WHERE e.state = 'disabled' AND EXISTS (
       SELECT 1 FROM deliveries WHERE tenant_id = e.tenant_id AND endpoint_id = e.id AND status = 'pending')
     FOR SHARE SKIP LOCKED
   ), chosen AS (
     SELECT o.tenant_id, d.id FROM off o CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE tenant_id = o.tenant_id AND endpoint_id = o.id AND status = 'pending'
       LIMIT $1
       FOR UPDATE SKIP LOCKED) d
     LIMIT $1
   ), held AS (
     UPDATE deliveries d SET status = 'held' FROM chosen c WHERE d.tenant_id = c.tenant_id AND d.id = c.id
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM held`,
)

/** Holds up to `limit` waiting deliveries of disabled endpoints. Returns how many. */
export const holdDeliveries = async (sql: Sql, limit: number): Promise<number> =>
  (await sql<{ count: number }>(HOLD, [limit]))[0]?.count ?? 0

const RELEASE = statement(
  'release_held',
  `WITH RECURSIVE holding AS (
     (SELECT tenant_id, endpoint_id FROM deliveries WHERE status = 'held' ORDER BY tenant_id, endpoint_id LIMIT 1)
     UNION ALL
     SELECT n.tenant_id, n.endpoint_id FROM holding h CROSS JOIN LATERAL (
       SELECT tenant_id, endpoint_id FROM deliveries
       WHERE status = 'held' AND (tenant_id, endpoint_id) > (h.tenant_id, h.endpoint_id)
       ORDER BY tenant_id, endpoint_id LIMIT 1) n
   ), enabled AS (
     SELECT e.tenant_id, e.id FROM holding h
     JOIN webhook_endpoints e ON e.tenant_id = h.tenant_id AND e.id = h.endpoint_id
     WHERE e.state <> 'disabled'
     FOR SHARE OF e SKIP LOCKED
   ), chosen AS (
     SELECT e.tenant_id, d.id FROM enabled e CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE tenant_id = e.tenant_id AND endpoint_id = e.id AND status = 'held' AND ${anyId('endpoint_id')}
       ORDER BY id
       LIMIT $1
       FOR UPDATE SKIP LOCKED) d
     LIMIT $1
   ), released AS (
     UPDATE deliveries d SET status = 'pending' FROM chosen c WHERE d.tenant_id = c.tenant_id AND d.id = c.id
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM released`,
)

/**
 * Queues up to `limit` deliveries that are still held for endpoints that were enabled again.
 * Returns how many.
 */
export const releaseHeld = async (sql: Sql, limit: number): Promise<number> =>
  (await sql<{ count: number }>(RELEASE, [limit]))[0]?.count ?? 0

const RELEASE_OF = statement(
  'release_held_of_endpoint',
  `UPDATE deliveries SET status = 'pending'
   WHERE tenant_id = $1 AND id IN (
     SELECT id FROM deliveries WHERE tenant_id = $1 AND endpoint_id = $2 AND status = 'held' AND ${anyId('endpoint_id')}
     ORDER BY id LIMIT $3)`,
)

/** Queues up to `limit` held deliveries of one endpoint, oldest first. */
export const releaseHeldOf = (sql: Sql, tenantId: Id, endpointId: Id, limit: number): Promise<unknown> =>
  sql(RELEASE_OF, [tenantId, endpointId, limit])
