import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { encodeCursor, idInCursor } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { bodyOf, idempotencyKeyOf, lastingHeaders } from '../../core/delivery/request.ts'
import { invalid, noSuch, ServiceError } from '../../core/errors.ts'
import { type EventType, WEBHOOK_EVENT_TYPES } from '../../core/events.ts'
import { grouped } from '../../core/grouped.ts'
import { FIRST_ID, firstIdAt, type Id, isId, LAST_ID } from '../../core/ids.ts'
import { REDACTED, withOwnHeaders } from '../../core/delivery/own-headers.ts'
import { perRequest, rowPerRequest } from '../../core/per-request.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import type { Attempt, Delivery } from '../../generated/prisma/client.ts'
import type { DeliveryStatus } from '../../generated/prisma/enums.ts'
import { type AttemptHeaders, readHeaders } from './attempt-headers.ts'
import { countHeld, type DeliveryFilter, findEvents, isRare, listDeliveryIds } from './sql.ts'
import { findWebhookEndpoint, getWebhookEndpoint } from './webhooks.ts'

interface ListArgs extends PageArgs {
  id: Id
  status?: DeliveryStatus | null | undefined
  eventType?: string | null | undefined
  eventId?: string | null | undefined
  commentId?: string | null | undefined
  /** The hundreds of the last attempt's HTTP status; 0: nothing answered. */
  answer?: number | null | undefined
  from?: Date | null | undefined
  to?: Date | null | undefined
}

/** Deliveries to one endpoint, newest first. Throws `not_found`, `validation_failed`. */
export async function listDeliveries(ctx: Ctx, args: ListArgs): Promise<Page<Delivery>> {
  const { tenant } = requireCaller(ctx)
  const { id, status = null, eventType = null, eventId = null, from = null, to = null } = args
  const { commentId = null, answer = null } = args
  if (eventType !== null) requireEventType(eventType)
  const size = pageSize(args)
  const after = idInCursor('deliveries', args.after)
  await getWebhookEndpoint(ctx, { id })
  if (commentId !== null) await requireComment(ctx, commentId)
  const ids = idsBetween(from, to, after)
  const filter = { endpointId: id, eventType, from, to, ids }
  const rows =
    eventId !== null
      ? (await ofEvent(ctx, eventId))
          .filter((each) => status === null || each.status === status)
          .filter((each) => commentId === null || each.commentId === commentId)
          .filter((each) => answer === null || each.lastAnswer === answer)
          .filter((each) => passes(each, filter))
          .slice(0, size + 1)
      : status !== null && isRare(status) && commentId === null && answer === null
        ? await inOrder(ctx, await listDeliveryIds(ctx.app.db.query, tenant.id, status, filter, size + 1))
        : await ctx.app.prisma.delivery.findMany({
            where: {
              tenantId: tenant.id,
              endpointId: id,
              ...(status !== null && { status }),
              ...(eventType !== null && { eventType }),
              ...(commentId !== null && { commentId }),
              ...(answer !== null && { lastAnswer: answer }),
              createdAt: { ...(from !== null && { gte: from }), ...(to !== null && { lt: to }) },
              id: ids,
            },
            orderBy: { id: 'desc' },
            take: size + 1,
          })
  return pageOf(rows, size, args, (delivery) => encodeCursor('deliveries', delivery.id))
}

interface AllArgs extends PageArgs {
  eventId?: string | null | undefined
  commentId?: string | null | undefined
}

/** Deliveries to all endpoints, newest first. Throws `not_found`, `validation_failed`. */
export async function listAllDeliveries(
  ctx: Ctx,
  { eventId = null, commentId = null, ...args }: AllArgs,
): Promise<Page<Delivery>> {
  const size = pageSize(args)
  const lt = idInCursor('deliveries', args.after) ?? LAST_ID
  if (commentId !== null) await requireComment(ctx, commentId)
  const rows =
    eventId !== null
      ? (await ofEvent(ctx, eventId))
          .filter((each) => (commentId === null || each.commentId === commentId) && each.id < lt)
          .slice(0, size + 1)
      : await ctx.app.prisma.delivery.findMany({
          where: { tenantId: requireCaller(ctx).tenant.id, id: { lt }, ...(commentId !== null && { commentId }) },
          orderBy: { id: 'desc' },
          take: size + 1,
        })
  return pageOf(rows, size, args, (delivery) => encodeCursor('deliveries', delivery.id))
}

/** Throws `not_found` unless it is a comment of the tenant. */
async function requireComment(ctx: Ctx, id: string): Promise<void> {
  const where = { tenantId: requireCaller(ctx).tenant.id, id }
  if (isId(id) && (await ctx.app.prisma.comment.count({ where })) > 0) return
  throw noSuch('comment')
}

/**
 * The deliveries of an event to all endpoints, newest first: one for each endpoint, and those that
 * were requested again. The endpoint is left to the caller, so that PostgreSQL reads by the event.
 */
async function ofEvent(ctx: Ctx, eventId: string): Promise<Delivery[]> {
  if (!isId(eventId)) throw invalid('/eventId', 'invalid', 'must be the id of an event')
  const where = { tenantId: requireCaller(ctx).tenant.id, eventId }
  const found = await ctx.app.prisma.delivery.findMany({ where })
  if (found.length === 0) throw new ServiceError('not_found', { detail: 'There are no deliveries of this event.' })
  return found.toSorted((one, other) => (one.id < other.id ? 1 : -1))
}

const passes = ({ id, endpointId, eventType, createdAt }: Delivery, filter: DeliveryFilter): boolean =>
  endpointId === filter.endpointId &&
  (filter.eventType === null || eventType === filter.eventType) &&
  (filter.from === null || createdAt >= filter.from) &&
  (filter.to === null || createdAt < filter.to) &&
  id >= filter.ids.gte &&
  id < filter.ids.lt

/** Asked for in an order, PostgreSQL would read the whole list in that order to find them. */
const inOrder = async (ctx: Ctx, ids: readonly Id[]): Promise<Delivery[]> =>
  (await Promise.all(ids.map((id) => loadDelivery(ctx, id)))).filter((found) => found !== null)

/**
 * Ids and rows are equally old, except for clock differences and long transactions: this bounds the
 * search.
 */
const SLACK_MS = 3_600_000

function idsBetween(from: Date | null, to: Date | null, after: Id | null): { gte: Id; lt: Id } {
  const first = from === null ? FIRST_ID : firstIdAt(new Date(from.getTime() - SLACK_MS))
  const last = to === null ? LAST_ID : firstIdAt(new Date(to.getTime() + SLACK_MS))
  return { gte: first, lt: after !== null && after < last ? after : last }
}

/** One delivery. One statement serves all deliveries of a request. Throws `not_found`. */
export async function getDelivery(ctx: Ctx, { id, deliveryId }: { id: Id; deliveryId: Id }): Promise<Delivery> {
  await getWebhookEndpoint(ctx, { id })
  const found = isId(deliveryId) ? await loadDelivery(ctx, deliveryId) : null
  if (found === null || found.endpointId !== id) throw new ServiceError('not_found')
  return found
}

/** A delivery by its own id, or null. */
export async function findDelivery(ctx: Ctx, id: Id): Promise<Delivery | null> {
  const found = await loadDelivery(ctx, id)
  if (found === null) return null
  return (await findWebhookEndpoint(ctx, found.endpointId)) === null ? null : found
}

const loadDelivery = rowPerRequest<Delivery>((ctx, where) => ctx.app.prisma.delivery.findMany({ where }))

/** Some of an endpoint, oldest first, within a transaction, which may have just written them. */
export const findDeliveriesIn = (
  { prisma }: TxSql,
  tenantId: Id,
  endpointId: Id,
  ids: readonly Id[],
): Promise<Delivery[]> =>
  prisma.delivery.findMany({ where: { tenantId, endpointId, id: { in: [...ids] } }, orderBy: { id: 'asc' } })

/** An attempt without its headers, which are most of its bytes, and which lists do not show. */
export type ListedAttempt = Omit<Attempt, 'headers'>

/**
 * The attempts of a delivery, first ones first. One statement serves all deliveries of a request.
 */
export const attemptsOf = (ctx: Ctx, deliveryId: Id): Promise<ListedAttempt[]> => loadAttempts(ctx, deliveryId)

// No relation: Prisma would name the tenant once for each delivery, and without statistics
// PostgreSQL would read all attempts of the tenant.
const ofDeliveries = (ctx: Ctx, ids: readonly Id[]) => ({
  tenantId: requireCaller(ctx).tenant.id,
  deliveryId: { in: [...new Set(ids)] },
})

const loadAttempts = perRequest<Id, ListedAttempt[]>(async (ctx, ids) => {
  const where = ofDeliveries(ctx, ids)
  const rows = await ctx.app.prisma.attempt.findMany({ where, omit: { headers: true } })
  const attempts = grouped(rows, ({ deliveryId }) => deliveryId)
  return ids.map((id) => (attempts.get(id) ?? []).sort((a, b) => a.n - b.n))
})

/** The headers of an attempt. One statement serves all attempts of a request. */
export const headersOf = (ctx: Ctx, attempt: ListedAttempt): Promise<AttemptHeaders | null> => loadHeaders(ctx, attempt)

const loadHeaders = perRequest<ListedAttempt, AttemptHeaders | null>(async (ctx, attempts) => {
  const where = ofDeliveries(
    ctx,
    attempts.map(({ deliveryId }) => deliveryId),
  )
  const rows = await ctx.app.prisma.attempt.findMany({ where, select: { deliveryId: true, n: true, headers: true } })
  const headers = new Map(rows.map((row) => [`${row.deliveryId} ${row.n}`, readHeaders(row.headers)]))
  return attempts.map(({ deliveryId, n }) => headers.get(`${deliveryId} ${n}`) ?? null)
})

/**
 * When a waiting delivery is attempted next: not before its endpoint's circuit and pause end. Null
 * if it does not wait, or its endpoint is not verified, or paused by the tenant.
 */
export async function nextAttemptOf(ctx: Ctx, delivery: Delivery): Promise<Date | null> {
  // While a worker has leased the delivery, the column has the end of the lease.
  if (delivery.status !== 'pending') return null
  const endpoint = await findWebhookEndpoint(ctx, delivery.endpointId)
  if (endpoint === null || endpoint.state !== 'verified' || endpoint.pausedAt !== null) return null
  const waits = [delivery.nextAttemptAt, endpoint.circuitOpenUntil, endpoint.pausedUntil]
  return new Date(Math.max(...waits.map((at) => at?.getTime() ?? 0)))
}

/** The headers of a delivery that are the same at each attempt: without timestamp and
 * signature, and without the values of the endpoint's own. */
export async function deliveryHeaders(ctx: Ctx, { id, endpointId, eventType, eventId, body }: Delivery) {
  const own = (await findWebhookEndpoint(ctx, endpointId))?.headers ?? []
  const ours = lastingHeaders({
    prefix: ctx.app.settings.HEADER_PREFIX,
    event: eventType,
    deliveryId: id,
    idempotencyKey: idempotencyKeyOf({ eventType, eventId }),
    isTest: body !== null,
  })
  return withOwnHeaders(Object.fromEntries(own.map(({ name }) => [name, REDACTED])), ours)
}

/**
 * The body that an attempt would send now, without withdrawn texts; null if the event is no longer
 * stored. One statement serves all deliveries of a request.
 */
export const getBody = (ctx: Ctx, delivery: Delivery): Promise<string | null> => loadBody(ctx, delivery)

const loadBody = perRequest<Delivery, string | null>((ctx, deliveries) =>
  readBodies(ctx.app.db.query, requireCaller(ctx).tenant.id, deliveries),
)

/** The bodies of several deliveries, in their order. */
export async function readBodies(sql: Sql, tenantId: Id, deliveries: readonly Delivery[]): Promise<(string | null)[]> {
  const events = await findEvents(sql, tenantId, deliveries)
  const byPlace = new Map(events.map((event) => [placeOf(event), event]))
  return deliveries.map((delivery) => {
    const event = byPlace.get(placeOf(delivery))
    return delivery.body ?? (event === undefined ? null : bodyOf({ body: null, ...event }))
  })
}

const placeOf = ({ discussionId, seq }: { discussionId: Id; seq: bigint | number }): string => `${discussionId} ${seq}`

/** Held deliveries are counted up to this number. */
export const HELD_LIMIT = 1000

/**
 * How many deliveries wait for an endpoint to be enabled. One statement serves all endpoints of a
 * request.
 */
export const countHeldDeliveries = (ctx: Ctx, endpointId: Id): Promise<number> => loadHeld(ctx, endpointId)

const loadHeld = perRequest<Id, number>(async (ctx, endpointIds) => {
  const { tenant } = requireCaller(ctx)
  const counts = await countHeld(ctx.app.db.query, tenant.id, [...new Set(endpointIds)], HELD_LIMIT)
  const held = new Map(counts.map((row) => [row.endpointId, row.held]))
  return endpointIds.map((id) => held.get(id) ?? 0)
})

/**
 * The event type with this name, if webhooks can subscribe to it. Throws `validation_failed` at
 * `/eventType`.
 */
export function requireEventType(name: string): EventType {
  const type = WEBHOOK_EVENT_TYPES.find((each) => each === name)
  if (type !== undefined) return type
  throw invalid('/eventType', 'not_allowed', `must be one of ${WEBHOOK_EVENT_TYPES.join(', ')}`)
}
