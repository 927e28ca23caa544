import type { App } from '../../src/core/app.ts'
import { newId } from '../../src/core/ids.ts'
import { unnamed } from './sql.ts'

const ADD = unnamed(`WITH d AS (
     INSERT INTO discussions (tenant_id, id, external_id, seq)
     VALUES ($1, $2, 'page-' || $2::uuid::text, 1)
   ), e AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
     VALUES ($1, $2, 1, $3, 'discussion_locked', 'public', now(), '{"kind":"moderator"}', $5::json)
   )
   INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq)
   SELECT $1, $4, $6, $3, 'discussion_locked', $2, 1`)

/** Writes an event and its delivery to one endpoint, as the operation that makes an event does. */
export async function addDelivery(
  app: App,
  tenantId: string,
  endpointId: string,
  data = '{"note":  "ü"}',
  ids = newIds(),
) {
  const { discussionId, eventId, deliveryId } = ids
  await app.db.query(ADD, [tenantId, discussionId, eventId, deliveryId, data, endpointId])
  app.bus.publish('work', '')
  return ids
}

const newIds = () => ({ discussionId: newId(), eventId: newId(), deliveryId: newId() })

interface DeliveryState {
  status: string
  attemptCount: number
  nextAttemptAt: Date | null
  leaseId: string | null
}

const STATE =
  unnamed(`SELECT status::text, attempt_count AS "attemptCount", next_attempt_at AS "nextAttemptAt", lease_id AS "leaseId"
   FROM deliveries WHERE id = $1`)

export const deliveryState = async (app: App, deliveryId: string): Promise<DeliveryState | undefined> =>
  (await app.db.query<DeliveryState>(STATE, [deliveryId]))[0]
