import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { storedNumber } from '../../core/stored.ts'
import { tenantSettings, tenantSettingsSchema } from '../../core/settings/tenant.ts'

const DEFAULTS = tenantSettings({})
const { deliveryRetentionDays, stream } = tenantSettingsSchema.shape
const { replayHours } = stream.unwrap().shape

/** SQL for the days that a tenant (`t`) keeps finished deliveries. */
const RETENTION_DAYS = `coalesce(${storedNumber('t.settings', 'deliveryRetentionDays', deliveryRetentionDays.unwrap())}, ${DEFAULTS.deliveryRetentionDays})`
const REPLAY_HOURS = `coalesce(${storedNumber('t.settings', 'stream.replayHours', replayHours.unwrap())}, ${DEFAULTS.stream.replayHours})`

// Ids are in the order of time: the oldest of each endpoint come first in its index, so that one
// look-up shows that nothing is to be deleted. Waiting and held deliveries are never too old.
/**
 * Deletes up to `limit` finished deliveries that are older than their tenants' retention, with
 * their attempts. Returns how many.
 */
export const deleteOldDeliveries = statement(
  'delete_old_deliveries',
  `WITH old AS (
     SELECT e.tenant_id, d.id
     FROM webhook_endpoints e
     JOIN tenants t ON t.id = e.tenant_id
     CROSS JOIN LATERAL (
       SELECT id FROM deliveries
       WHERE tenant_id = e.tenant_id AND endpoint_id = e.id
         AND id < first_id(now() - ${RETENTION_DAYS} * interval '1 day') AND ${anyId('endpoint_id')}
         AND status IN ('delivered', 'failed')
       ORDER BY id
       LIMIT $1
       FOR UPDATE SKIP LOCKED) d
     LIMIT $1
   ), deleted AS (
     DELETE FROM deliveries d USING old o WHERE d.tenant_id = o.tenant_id AND d.id = o.id
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM deleted`,
).count<[limit: number]>()

// An event is kept as long as streams replay it, and as long as a delivery of it is stored, whose
// body it is: a held one keeps its own event, and no other. Events are looked at from the oldest
// on, and beyond `looked` of their tenant. Locked ones are left to a later look.
const DELETE_EVENTS = statement(
  'delete_old_events',
  `WITH looked AS (
     SELECT v.* FROM tenants t
     LEFT JOIN unnest($2::uuid[], $3::timestamptz[]) AS looked (tenant_id, at) ON looked.tenant_id = t.id
     CROSS JOIN LATERAL (
       SELECT tenant_id, discussion_id, seq, id, occurred_at FROM events
       WHERE tenant_id = t.id AND occurred_at >= coalesce(looked.at, '-infinity')
         AND occurred_at < now() - greatest(${RETENTION_DAYS} * interval '1 day', ${REPLAY_HOURS} * interval '1 hour')
       ORDER BY occurred_at
       LIMIT $1) v
     LIMIT $1
   ), judged AS MATERIALIZED (
     SELECT l.*, (SELECT true FROM deliveries WHERE tenant_id = l.tenant_id AND event_id = l.id LIMIT 1) IS NOT NULL AS needed
     FROM looked l
   ), deleted AS (
     DELETE FROM events WHERE ctid = ANY(ARRAY(
       SELECT f.row FROM judged j CROSS JOIN LATERAL (
         SELECT ctid AS row FROM events
         WHERE tenant_id = j.tenant_id AND discussion_id = j.discussion_id AND seq = j.seq
         LIMIT 1
         FOR UPDATE SKIP LOCKED) f
       WHERE NOT j.needed))
     RETURNING tenant_id
   )
   SELECT tenant_id AS "tenantId", count(*)::int AS looked, (count(*) FILTER (WHERE needed))::int AS kept,
     min(occurred_at) AS "from", max(occurred_at) AS "to", (SELECT count(*)::int FROM deleted) AS deleted
   FROM judged GROUP BY tenant_id`,
)

/** Up to which instant the events of each tenant have been looked at, where some are kept. */
export type LookedAt = Map<Id, Date>

interface LookedEvents {
  tenantId: Id
  looked: number
  kept: number
  from: Date
  to: Date
  deleted: number
}

/**
 * Looks at up to `limit` old events, and deletes those that neither a stream nor a delivery needs
 * any more. Notes in `lookedAt` how far it has come past those that are kept, so that each of them
 * is looked at once. Returns how many it has deleted, and whether there may be more.
 */
export async function deleteOldEvents(
  sql: Sql,
  limit: number,
  lookedAt: LookedAt = new Map(),
): Promise<{ deleted: number; hasMore: boolean }> {
  const rows = await sql<LookedEvents>(DELETE_EVENTS, [limit, [...lookedAt.keys()], [...lookedAt.values()]])
  for (const { tenantId, kept, from, to } of rows) {
    // Of more events of one instant than a batch has, the rest waits for the next round.
    const isStuck = from.getTime() === to.getTime() && kept > 0
    if (kept > 0) lookedAt.set(tenantId, isStuck ? new Date(to.getTime() + 1) : to)
  }
  const sum = (count: 'looked' | 'kept'): number => rows.reduce((total, row) => total + row[count], 0)
  const deleted = rows[0]?.deleted ?? 0
  // None of a full batch is deleted or passed by where others have locked all of it.
  return { deleted, hasMore: sum('looked') === limit && deleted + sum('kept') > 0 }
}

// An attempt that was under way at the deletion may still end and be counted; its delivery is
// deleted after that. By `ctid`, because a join would read the whole table if the planner takes it
// for small. A row that changes meanwhile is left to the next batch. A range of one endpoint, as
// the first key of the order: with `=`, PostgreSQL may walk through all deliveries instead.
/** Deletes up to `limit` deliveries of deleted endpoints, with their attempts. Returns how many. */
export const clearDeletedEndpoints = statement(
  'clear_deleted_endpoints',
  `WITH cleared AS (
     DELETE FROM deliveries WHERE ctid = ANY(ARRAY(
       SELECT d.row FROM deleted_endpoints g CROSS JOIN LATERAL (
         SELECT ctid AS row FROM deliveries
         WHERE tenant_id = g.tenant_id AND endpoint_id BETWEEN g.endpoint_id AND g.endpoint_id
           AND ${anyId('tenant_id')}
           AND (status <> 'delivering' OR next_attempt_at <= now())
         ORDER BY endpoint_id, id
         LIMIT $1
         FOR UPDATE SKIP LOCKED) d
       LIMIT $1))
     RETURNING 1
   )
   SELECT count(*)::int AS count FROM cleared`,
).count<[limit: number]>()

// A write that began before the deletion may still queue deliveries. No statement runs for an
// hour.
/** Forgets deleted endpoints without deliveries, once no more can be queued. */
export const forgetDeletedEndpoints = statement(
  'forget_deleted_endpoints',
  `DELETE FROM deleted_endpoints g
   WHERE deleted_at < now() - interval '1 hour'
     AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.tenant_id = g.tenant_id AND d.endpoint_id = g.endpoint_id)`,
).run()
