import { type Ctx, requireCaller } from '../../core/context.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type EventType, WEBHOOK_EVENT_TYPES } from '../../core/events.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { DeliveryStatus } from '../../generated/prisma/enums.ts'
import { bodyOf, idempotencyKeyOf } from './body.ts'
import { lastingHeaders } from './secrets.ts'
import * as rows from './sql.ts'
import { getWebhookEndpoint } from './webhooks.ts'

export interface Attempt extends Omit<rows.AttemptRow, 'at'> {
  at: Date
}

/** One event on its way to one endpoint. */
export interface Delivery {
  id: Id
  endpointId: Id
  eventId: Id
  eventType: EventType
  status: DeliveryStatus
  attempts: Attempt[]
  nextAttemptAt: Date | null
  createdAt: Date
  deliveredAt: Date | null
}

/** A delivery with what is sent. */
export interface DeliveryDetail extends Delivery {
  /**
   * The text that an attempt would send now, so without what was withdrawn; null where the event's
   * time in the log is over.
   */
  body: string | null
  /** Those that are the same at each attempt: without timestamp and signature. */
  headers: Record<string, string>
}

interface ListArgs extends PageArgs {
  id: Id
  status?: DeliveryStatus | null | undefined
  eventType?: string | null | undefined
  from?: Date | null | undefined
  to?: Date | null | undefined
}

/** Deliveries to one endpoint, newest first. Throws `not_found`, `validation_failed`. */
export async function listDeliveries(ctx: Ctx, args: ListArgs): Promise<Page<Delivery>> {
  const { tenant } = requireCaller(ctx)
  const { id, status = null, eventType = null, from = null, to = null } = args
  if (eventType !== null) requireEventType(eventType)
  const size = pageSize(args)
  const after = idInCursor('deliveries', args.after)
  await getWebhookEndpoint(ctx, { id })
  const filter = { status, eventType, from, to }
  const found = await rows.listDeliveries(ctx.app.db.query, tenant.id, id, filter, after, size + 1)
  return pageOf(found.map(deliveryOf), size, args, (delivery) => encodeCursor('deliveries', delivery.id))
}

/** One delivery with its body, headers and attempts. Throws `not_found`. */
export async function getDelivery(ctx: Ctx, { id, deliveryId }: { id: Id; deliveryId: Id }): Promise<DeliveryDetail> {
  const { tenant } = requireCaller(ctx)
  const found =
    isId(id) && isId(deliveryId) ? await rows.findDelivery(ctx.app.db.query, tenant.id, id, deliveryId) : undefined
  if (found === undefined) throw new ServiceError('not_found')
  const prefix = ctx.app.settings.HEADER_PREFIX
  const headers = lastingHeaders({
    prefix,
    event: found.eventType,
    deliveryId,
    idempotencyKey: idempotencyKeyOf(found),
    isTest: found.body !== null,
  })
  return { ...deliveryOf(found), body: bodyOf(found), headers }
}

/** Held deliveries are counted no further. */
export const HELD_LIMIT = 1000

/**
 * How many deliveries wait for an endpoint to be enabled. One statement serves all of a request.
 */
export const countHeldDeliveries = (ctx: Ctx, endpointId: Id): Promise<number> => loadHeld(ctx, '', endpointId)

const loadHeld = perRequest<Id, number>(async (ctx, _group, endpointIds) => {
  const { tenant } = requireCaller(ctx)
  const counts = await rows.countHeld(ctx.app.db.query, tenant.id, [...new Set(endpointIds)], HELD_LIMIT)
  const held = new Map(counts.map((row) => [row.endpointId, row.held]))
  return endpointIds.map((id) => held.get(id) ?? 0)
})

/**
 * The event of a name that webhooks can subscribe to. Throws `validation_failed` at `/eventType`.
 */
export function requireEventType(name: string): EventType {
  const type = WEBHOOK_EVENT_TYPES.find((each) => each === name)
  if (type !== undefined) return type
  throw invalid('/eventType', 'not_allowed', `must be one of ${WEBHOOK_EVENT_TYPES.join(', ')}`)
}

/** A delivery as callers see it. */
export function deliveryOf(row: rows.DeliveryRow): Delivery {
  const { id, endpointId, eventId, eventType, status, nextAttemptAt, createdAt, deliveredAt } = row
  const attempts = row.attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) }))
  return { id, endpointId, eventId, eventType, status, attempts, nextAttemptAt, createdAt, deliveredAt }
}
