import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import {
  type Busy,
  endpointKey,
  extendLeases,
  type Lease,
  leaseDeliveries,
  releaseLeases,
} from './statements/lease-sql.ts'
import type { Outcome } from './statements/record-sql.ts'
import { attemptDelivery } from './attempt.ts'
import { startLoop } from './loop.ts'
import { deliveryMetrics } from './metrics.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { createRecorder } from './recorder.ts'
import { type Task, withinMs } from './tasks.ts'

/** The most attempts under way in one worker. */
const MAX_IN_FLIGHT = 1024
/** Attempts at one endpoint, which may be slow, at most (docs/reference/choices/webhooks.md). */
const MAX_PER_ENDPOINT = 8

/**
 * Another worker takes over a dead worker's deliveries after `leaseMs`; a live worker extends its
 * leases well before that.
 */
interface LeaseTiming {
  leaseMs: number
  heartbeatMs: number
}

const TIMING: LeaseTiming = { leaseMs: 15_000, heartbeatMs: 3000 }

interface InFlight {
  lease: Lease
  giveUp: AbortController
  /** When the lease ends unless it is extended, on this process's monotonic clock. */
  heldUntil: number
  recording: boolean
  over: Promise<void>
}

/** Leases due deliveries, attempts them, and records the outcomes. */
export function startDeliveries(app: App, outbound: Outbound, { leaseMs, heartbeatMs } = TIMING): Task {
  const inFlight = new Map<Id, InFlight>()
  // By `endpointKey`, like `crowded`.
  const busy = new Map<string, Busy>()
  // Endpoints with more due deliveries than slots; and whether the worker, or a tenant in it, had
  // no slots left.
  const crowded = new Set<string>()
  let saturated = false
  let stopping = false
  const recorder = createRecorder(app)
  const metrics = deliveryMetrics(app)
  const loop = startLoop({ name: 'deliveries', pollMs: app.settings.WEBHOOK_POLL_SECONDS * 1000, log: app.log, work })
  const heartbeat = setInterval(() => void beat(), heartbeatMs)

  async function work(): Promise<void> {
    const limit = MAX_IN_FLIGHT - inFlight.size
    saturated = limit <= 0
    if (saturated) return
    const askedAt = performance.now()
    const options = { leaseMs, busy: [...busy.values()], perEndpoint: slotsPerEndpoint(limit), limit }
    const { leases, leftOut } = await leaseDeliveries(app.db.query, options)
    if (stopping) return void (await releaseLeases(app.db.query, leases))
    for (const lease of leases) start(lease, askedAt + leaseMs)
    const free = MAX_IN_FLIGHT - inFlight.size
    saturated = leases.length >= limit || isTenantFull(free)
    // A share is leased in several steps, until one brings nothing. Attempts that ended meanwhile
    // did not know that their slot was needed.
    const hasFreed = free > limit - leases.length
    if (leftOut || (saturated && hasFreed)) loop.wake()
  }

  function isTenantFull(free: number): boolean {
    const counts = new Map<Id, number>()
    for (const { tenantId, count } of busy.values()) counts.set(tenantId, (counts.get(tenantId) ?? 0) + count)
    return Math.max(0, ...counts.values()) >= free - MAX_PER_ENDPOINT * 2
  }

  function start(lease: Lease, heldUntil: number): void {
    const giveUp = new AbortController()
    const entry: InFlight = { lease, giveUp, heldUntil, recording: false, over: Promise.resolve() }
    inFlight.set(lease.leaseId, entry)
    const { tenantId, endpointId } = lease
    const key = endpointKey(lease)
    busy.set(key, { tenantId, endpointId, count: (busy.get(key)?.count ?? 0) + 1 })
    metrics.begun()
    let ended: Outcome | null = null
    entry.over = attemptDelivery(app, outbound, lease, giveUp.signal)
      .then((outcome) => (ended = outcome))
      // The worker's slot at the endpoint is free once the answer is there, before it is recorded.
      .finally(() => {
        metrics.ended(ended)
        freeSlot(lease)
      })
      .then((outcome) => (outcome === null ? undefined : record(entry, outcome)))
      .catch(async (err: unknown) => {
        app.log.warn({ err, deliveryId: lease.deliveryId }, 'a delivery could not be attempted')
        await releaseLeases(app.db.query, [lease]).catch(() => 'the lease ends by itself')
      })
      .finally(() => {
        inFlight.delete(lease.leaseId)
        if (saturated) loop.wake()
      })
  }

  function freeSlot(lease: Lease): void {
    const { tenantId, endpointId } = lease
    const key = endpointKey(lease)
    const count = (busy.get(key)?.count ?? 1) - 1
    if (count > 0) busy.set(key, { tenantId, endpointId, count })
    else busy.delete(key)
    refill(key)
  }

  /**
   * Not for each free slot: a statement that fills several at once costs hardly more than one for a
   * single slot.
   */
  function refill(key: string): void {
    if ((busy.get(key)?.count ?? 0) <= MAX_PER_ENDPOINT / 2 && crowded.delete(key)) loop.wake()
  }

  async function record(entry: InFlight, outcome: Outcome): Promise<void> {
    entry.recording = true
    const { deliveryId, endpointId } = outcome.lease
    // Over all workers, the slot is free only after the record.
    const key = endpointKey(outcome.lease)
    if (await recorder.record(outcome)) crowded.add(key)
    refill(key)
    const { statusCode, error, durationMs, retryInMs, pauseMs } = outcome
    app.log.debug({ deliveryId, endpointId, statusCode, error, ms: durationMs }, 'delivery attempted')
    if (retryInMs !== null) loop.wakeIn(Math.max(retryInMs, pauseMs ?? 0))
  }

  /**
   * Extends the leases of long attempts. An attempt whose lease cannot be extended is aborted
   * before another worker begins it.
   */
  async function beat(): Promise<void> {
    const now = performance.now()
    const old = [...inFlight.values()].filter(({ heldUntil }) => heldUntil - now < leaseMs - heartbeatMs)
    for (const { heldUntil, giveUp } of old)
      if (heldUntil - now < heartbeatMs * 1.2) giveUp.abort(new Error('lease lost'))
    // A statement for each tenant, so that one tenant's locked row costs no other tenant its
    // leases.
    for (const tenantId of new Set(old.map(({ lease }) => lease.tenantId))) {
      await extend(old.filter(({ lease }) => lease.tenantId === tenantId))
    }
  }

  async function extend(entries: readonly InFlight[]): Promise<void> {
    const now = performance.now()
    try {
      const held = await extendLeases(app.db.query, leasesOf(entries), leaseMs)
      for (const entry of entries) {
        if (held.has(entry.lease.leaseId)) entry.heldUntil = now + leaseMs
        else entry.giveUp.abort(new Error('lease lost'))
      }
    } catch (err) {
      app.log.warn({ err }, 'leases could not be extended; trying again')
    }
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true
    await withinMs(
      graceMs,
      loop.stop().then(() => Promise.all([...inFlight.values()].map(({ over }) => over))),
    )
    clearInterval(heartbeat)
    const rest = [...inFlight.values()].filter(({ recording }) => !recording)
    for (const { giveUp } of rest) giveUp.abort(new Error('stopping'))
    if (rest.length > 0) await withinMs(1000, releaseLeases(app.db.query, leasesOf(rest)))
    recorder.close()
  }

  return { wake: loop.wake, stop }
}

const leasesOf = (entries: readonly InFlight[]): Lease[] => entries.map(({ lease }) => lease)

/** The fewer slots are free, the fewer one endpoint may hold, because it may hang. */
function slotsPerEndpoint(free: number): number {
  if (free > MAX_IN_FLIGHT / 2) return MAX_PER_ENDPOINT
  return free > MAX_IN_FLIGHT / 4 ? MAX_PER_ENDPOINT / 2 : 1
}
