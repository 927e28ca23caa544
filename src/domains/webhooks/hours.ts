import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { firstIdAt, type Id } from '../../core/ids.ts'
import { getWebhookEndpoint } from './webhooks.ts'

/** How the attempts went of the deliveries that were queued in one hour. */
export interface EndpointHour {
  /** When the hour begins. */
  at: Date
  /** The deliveries that were looked at: all of the hour, or the newest `SAMPLE`. */
  deliveries: number
  isSample: boolean
  attempts: number
  succeeded: number
  /** Of the attempts, in milliseconds; null without one. */
  medianMs: number | null
  p95Ms: number | null
}

const HOURS = 24
const HOUR_MS = 3_600_000
/** Bounds what is read of an endpoint with millions of deliveries. */
export const SAMPLE = 100

/** The last 24 hours of an endpoint, oldest first; the last one is not over. Throws `not_found`. */
export async function listEndpointHours(ctx: Ctx, { id: endpointId }: { id: Id }): Promise<EndpointHour[]> {
  const { prisma } = ctx.app
  const tenantId = requireCaller(ctx).tenant.id
  await getWebhookEndpoint(ctx, { id: endpointId })
  const last = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const hours: { at: Date; ids: Id[] }[] = []
  // One after the other: a request takes one connection, not 24.
  for (let n = HOURS - 1; n >= 0; n--) {
    const at = new Date(last - n * HOUR_MS)
    // Ids are in the order of time.
    const id = { gte: firstIdAt(at), lt: firstIdAt(new Date(at.getTime() + HOUR_MS)) }
    const rows = await prisma.delivery.findMany({
      where: { tenantId, endpointId, id },
      orderBy: { id: 'desc' },
      take: SAMPLE + 1,
      select: { id: true },
    })
    hours.push({ at, ids: rows.map((row) => row.id) })
  }
  const looked = hours.flatMap(({ ids }) => ids.slice(0, SAMPLE))
  const attempts = await prisma.attempt.findMany({
    where: { tenantId, deliveryId: { in: looked } },
    select: { deliveryId: true, durationMs: true, error: true },
  })
  const ofDelivery = new Map<Id, typeof attempts>(looked.map((id) => [id, []]))
  for (const attempt of attempts) ofDelivery.get(attempt.deliveryId)?.push(attempt)
  return hours.map(({ at, ids }) => {
    const sample = ids.slice(0, SAMPLE)
    const made = sample.flatMap((id) => ofDelivery.get(id) ?? [])
    const durations = made.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b)
    return {
      at,
      deliveries: sample.length,
      isSample: ids.length > SAMPLE,
      attempts: made.length,
      succeeded: made.filter(({ error }) => error === null).length,
      medianMs: quantile(durations, 0.5),
      p95Ms: quantile(durations, 0.95),
    }
  })
}

/** The least value that this part of the sorted ones does not exceed; null of none. */
const quantile = (sorted: readonly number[], part: number): number | null =>
  sorted[Math.ceil(sorted.length * part) - 1] ?? null
