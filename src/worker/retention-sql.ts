import { type Sql, statement } from '../core/sql.ts'
import { storedNumber } from '../core/stored.ts'
import { tenantSettings, tenantSettingsSchema } from '../core/tenant-settings.ts'

const DEFAULTS = tenantSettings({})
const { deliveryRetentionDays, stream } = tenantSettingsSchema.shape
const { replayHours } = stream.unwrap().shape

/** SQL for the days that a tenant (`t`) keeps finished deliveries. */
const RETENTION_DAYS = `coalesce(${storedNumber('t.settings', 'deliveryRetentionDays', deliveryRetentionDays.unwrap())}, ${DEFAULTS.deliveryRetentionDays})`
const REPLAY_HOURS = `coalesce(${storedNumber('t.settings', 'stream.replayHours', replayHours.unwrap())}, ${DEFAULTS.stream.replayHours})`

// Ids are in the order of time: the oldest of each endpoint come first in its index, so that one
// look-up shows that nothing is to be deleted. Waiting and held deliveries are never too old.
const DELETE_DELIVERIES = statement(
  'delete_old_deliveries',
  `WITH old AS (
     SELECT e.tenant_id, d.id
     FROM webhook_endpoints e
     JOIN tenants t ON t.id = e.tenant_id
     CROSS JOIN LATERAL (
       SELECT id FROM deliveries
       WHERE tenant_id = e.tenant_id AND endpoint_id = e.id
         AND id < first_id(now() - ${RETENTION_DAYS} * interval '1 day') AND status IN ('delivered', 'failed')
       ORDER BY id
       LIMIT $1
       FOR UPDATE SKIP LOCKED) d
     LIMIT $1
   ), deleted AS (
     DELETE FROM deliveries d USING old o WHERE d.tenant_id = o.tenant_id AND d.id = o.id
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM deleted`,
)

/**
 * Deletes up to `limit` finished deliveries that are older than their tenants' retention, with
 * their attempts. Returns how many.
 */
export const deleteOldDeliveries = async (sql: Sql, limit: number): Promise<number> =>
  (await sql<{ count: number }>(DELETE_DELIVERIES, [limit]))[0]?.count ?? 0

// An event is kept as long as streams replay it, and as long as finished deliveries, whose body it
// is. If an endpoint's oldest delivery is older than that, it is still waiting: then its event and
// all later ones stay.
const DELETE_EVENTS = statement(
  'delete_old_events',
  `WITH old AS (
     SELECT v.tenant_id, v.discussion_id, v.seq
     FROM tenants t
     CROSS JOIN LATERAL (
       SELECT min(d.created_at) AS at FROM webhook_endpoints e CROSS JOIN LATERAL (
         SELECT created_at FROM deliveries WHERE tenant_id = e.tenant_id AND endpoint_id = e.id ORDER BY id LIMIT 1) d
       WHERE e.tenant_id = t.id) oldest
     CROSS JOIN LATERAL (
       SELECT tenant_id, discussion_id, seq FROM events
       WHERE tenant_id = t.id AND occurred_at < least(
         now() - greatest(${RETENTION_DAYS} * interval '1 day', ${REPLAY_HOURS} * interval '1 hour'),
         oldest.at - interval '1 hour')
       ORDER BY occurred_at
       LIMIT $1
       FOR UPDATE SKIP LOCKED) v
     LIMIT $1
   ), deleted AS (
     DELETE FROM events v USING old o
     WHERE v.tenant_id = o.tenant_id AND v.discussion_id = o.discussion_id AND v.seq = o.seq
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM deleted`,
)

/**
 * Deletes up to `limit` events that neither a stream nor a delivery needs any more. Returns how
 * many.
 */
export const deleteOldEvents = async (sql: Sql, limit: number): Promise<number> =>
  (await sql<{ count: number }>(DELETE_EVENTS, [limit]))[0]?.count ?? 0

// An attempt that was under way at the deletion may still end and be counted; its delivery is
// deleted after that. By `ctid`, because a join would read the whole table if the planner takes it
// for small. A row that changes meanwhile is left to the next batch.
const CLEAR = statement(
  'clear_deleted_endpoints',
  `WITH cleared AS (
     DELETE FROM deliveries WHERE ctid = ANY(ARRAY(
       SELECT d.row FROM deleted_endpoints g CROSS JOIN LATERAL (
         SELECT ctid AS row FROM deliveries
         WHERE tenant_id = g.tenant_id AND endpoint_id = g.endpoint_id
           AND (status <> 'delivering' OR next_attempt_at <= now())
         ORDER BY id
         LIMIT $1
         FOR UPDATE SKIP LOCKED) d
       LIMIT $1))
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM cleared`,
)

/** Deletes up to `limit` deliveries of deleted endpoints, with their attempts. Returns how many. */
export const clearDeletedEndpoints = async (sql: Sql, limit: number): Promise<number> =>
  (await sql<{ count: number }>(CLEAR, [limit]))[0]?.count ?? 0

// A write that began before the deletion may still queue deliveries. No statement runs for an
// hour.
const FORGET_DELETED = statement(
  'forget_deleted_endpoints',
  `DELETE FROM deleted_endpoints g
   WHERE deleted_at < now() - interval '1 hour'
     AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.tenant_id = g.tenant_id AND d.endpoint_id = g.endpoint_id)`,
)

/** Forgets deleted endpoints without deliveries, once no more can be queued. */
export const forgetDeletedEndpoints = (sql: Sql): Promise<unknown> => sql(FORGET_DELETED)
