import { z } from 'zod'

import { type AuditAction, recordAudit } from '../../../core/audit.ts'
import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { invalid, ServiceError } from '../../../core/errors.ts'
import { WEBHOOK_EVENT_TYPES } from '../../../core/events.ts'
import { type Id, isId, newId } from '../../../core/ids.ts'
import type { TxSql } from '../../../core/database/database.ts'
import { validate } from '../../../core/input/validate.ts'
import type { Delivery } from '../../../generated/prisma/client.ts'
import { lock, requireVerified, tellWorkers } from '../change.ts'
import { findDeliveriesIn, readBodies, requireEventType } from '../deliveries.ts'
import { exampleEvent } from '../example.ts'
import { eventTypesSchema } from '../input.ts'
import * as queue from './sending-sql.ts'

/**
 * Sends an example event to a verified endpoint, signed and retried like any other, and marked by
 * `seq` 0 and the header `…-Test`. Throws `not_found`, `validation_failed`, and
 * `invalid_transition` if the endpoint is not verified.
 */
export async function testWebhookEndpoint(
  ctx: Ctx,
  { id: endpointId, eventType: name }: { id: Id; eventType: string },
): Promise<Delivery> {
  const { tenant } = requireCaller(ctx)
  const eventType = requireEventType(name)
  const id = newId()
  return queued(ctx, endpointId, id, { action: 'webhook.test', after: { eventType } }, async (sql) => {
    await queue.insertTestDelivery(sql, tenant.id, { id, endpointId, eventType, ...exampleEvent(eventType) })
  })
}

/**
 * Sends a delivery's event again, without texts withdrawn since: a new delivery id, the same
 * idempotency key. Throws `not_found`, and `invalid_transition` if the endpoint is not verified or
 * the event is no longer stored.
 */
export async function redeliverDelivery(
  ctx: Ctx,
  { id: endpointId, deliveryId }: { id: Id; deliveryId: Id },
): Promise<Delivery> {
  const id = newId()
  return queued(ctx, endpointId, id, { action: 'webhook.redeliver', after: { deliveryId } }, (sql) =>
    copy(sql, ctx, endpointId, [deliveryId], [id]),
  )
}

export const redeliverInput = z.object({ deliveryIds: z.array(z.string()).min(1).max(100) })

/**
 * Sends up to 100 deliveries of an endpoint again, each once: all of them, or none. Returns the new
 * deliveries in the order of the originals.
 */
export async function redeliverDeliveries(
  ctx: Ctx,
  { id: endpointId, ...input }: { id: Id; deliveryIds: readonly string[] },
): Promise<Delivery[]> {
  const { tenant } = requireCaller(ctx)
  // The oldest first: ids are in the order of time.
  const deliveryIds = [...new Set(validate(redeliverInput, input).deliveryIds)].toSorted()
  const copies = deliveryIds.map(() => newId())
  const deliveries = await ctx.app.db.transaction(async (sql) => {
    const endpoint = await lock(sql, tenant, endpointId)
    await copy(sql, ctx, endpointId, deliveryIds, copies)
    requireVerified(endpoint)
    const after = { deliveryIds, queued: copies }
    await recordAudit(sql, ctx, { action: 'webhook.redeliver', targetId: endpointId, after })
    return findDeliveriesIn(sql, tenant.id, endpointId, copies)
  })
  tellWorkers(ctx.app)
  return deliveries
}

/** Copies deliveries. Throws `not_found`, and `invalid_transition` if an event is not stored. */
async function copy(sql: TxSql, ctx: Ctx, endpointId: Id, ids: readonly string[], copyIds: readonly Id[]) {
  const { tenant } = requireCaller(ctx)
  const originals = ids.every(isId) ? await findDeliveriesIn(sql, tenant.id, endpointId, ids) : []
  if (originals.length < ids.length) throw new ServiceError('not_found')
  const gone = (await readBodies(sql, tenant.id, originals)).indexOf(null)
  if (gone >= 0) {
    const detail = `The event of delivery ${originals[gone]?.id} is no longer stored.`
    throw new ServiceError('invalid_transition', { detail })
  }
  await queue.copyDeliveries(sql, tenant.id, endpointId, ids, copyIds)
}

/** Queues one delivery to a verified endpoint, with an audit entry. */
async function queued(
  ctx: Ctx,
  endpointId: Id,
  id: Id,
  audit: { action: AuditAction; after: object },
  write: (sql: TxSql) => Promise<void>,
): Promise<Delivery> {
  const { tenant } = requireCaller(ctx)
  const delivery = await ctx.app.db.transaction(async (sql) => {
    const endpoint = await lock(sql, tenant, endpointId)
    // Before the state is checked: another tenant's delivery is `not_found` whatever the
    // endpoint's state.
    await write(sql)
    requireVerified(endpoint)
    const { action, after } = audit
    await recordAudit(sql, ctx, { action, targetId: endpointId, after: { ...after, queued: id } })
    return (await findDeliveriesIn(sql, tenant.id, endpointId, [id]))[0]
  })
  if (delivery === undefined) throw new Error('a delivery is gone that was just written')
  tellWorkers(ctx.app)
  return delivery
}

interface ReplayInput {
  id: Id
  from: Date | string
  to?: Date | string | null | undefined
  eventTypes?: string[] | null | undefined
}

// 200 a second, and only while nothing else is due, so that live events do not wait behind a
// replay.
const PACE_MS = 5
const MAX_REPLAYED = 200_000

/**
 * Queues the events from `from` to `to` (default: now) that the endpoint has not received and that
 * are not queued for it, oldest first, at most 200 000 at once: another call queues the rest.
 * Without `eventTypes`, those of the endpoint's subscription. Returns how many. Throws `not_found`,
 * `validation_failed`, and `invalid_transition` if the endpoint is not verified.
 */
export async function replayWebhookEvents(ctx: Ctx, input: ReplayInput): Promise<{ queued: number }> {
  const { tenant } = requireCaller(ctx)
  const { id } = input
  const from = new Date(input.from)
  const to = input.to == null ? new Date() : new Date(input.to)
  if (input.to != null && to < from) throw invalid('/to', 'too_small', 'must not be before from')
  const given = input.eventTypes == null ? null : validate(eventTypesSchema, input).eventTypes
  const queuedCount = await ctx.app.db.transaction(async (sql) => {
    const endpoint = isId(id) ? await queue.lockForReplay(sql, tenant.id, id) : null
    if (endpoint === null) throw new ServiceError('not_found')
    requireVerified(endpoint)
    const wanted = given ?? endpoint.eventTypes
    const eventTypes = WEBHOOK_EVENT_TYPES.filter((type) => wanted.includes('*') || wanted.includes(type))
    const span = { from, to, eventTypes }
    const { discussionIds } = endpoint
    const replay = { ...span, discussionIds, limit: MAX_REPLAYED, paceMs: PACE_MS }
    const count = await queue.replayEvents(sql, tenant.id, id, replay)
    await recordAudit(sql, ctx, { action: 'webhook.replay', targetId: id, after: { ...span, queued: count } })
    return count
  })
  if (queuedCount > 0) tellWorkers(ctx.app)
  return { queued: queuedCount }
}
