import type { Id } from '../core/ids.ts'
import type { StreamPlaces } from '../core/stream-places.ts'
import { syncPlaces } from './places-script.ts'
import { applyAnswer, type PendingPlace, MAX_MESSAGE, messageOf, Share } from './places-share.ts'
import { connect } from './redis-bus.ts'

/** How long a reported count holds. A process that was killed gives its share back by then. */
const LEASE_MS = 45_000
/** How often a process reports its counts again, so that Redis may forget at any time. */
const RENEW_MS = 5000
/**
 * How long a message waits for its answer. A place waits for two messages at most until Redis
 * counts as away.
 */
const PATIENCE_MS = 240
/** How long a process goes by what it knows after a message without an answer. */
const ALONE_MS = 1000

interface RedisPlacesOptions {
  urls: readonly string[]
  prefix: string
  leaseMs?: number
  renewMs?: number
}

/**
 * Places over all processes, through Redis. A process sends one message at a time about a tenant,
 * and what comes up meanwhile goes together in the next: a storm of takes is a handful of round
 * trips. Every message states the process's own counts as they are, so that the next one corrects
 * whatever Redis forgot or did not hear.
 */
export function createRedisPlaces(options: RedisPlacesOptions): StreamPlaces {
  const { urls, prefix, leaseMs = LEASE_MS, renewMs = RENEW_MS } = options
  const client = connect(urls, 'places')
  const shares = new Map<Id, Share>()
  const syncs = new Set<Promise<void>>()

  // The bus tells the log that Redis is away.
  client.on('error', () => undefined)
  // It may have come back empty.
  client.on('ready', () => {
    for (const share of shares.values()) {
      share.aloneUntil = 0
      share.markDirty(share.tallies.keys())
      attend(share)
    }
  })
  const renewal = setInterval(() => {
    for (const share of shares.values()) {
      share.markDirty([])
      attend(share)
    }
  }, renewMs).unref()

  const keyOf = ({ tenantId }: Share): string => `${prefix}places:{${tenantId}}`
  const isAlone = (share: Share): boolean => client.status !== 'ready' || performance.now() < share.aloneUntil

  function decide(share: Share, { request: { quotas }, resolve }: PendingPlace, hasRoom: boolean): void {
    if (!hasRoom) return resolve(null)
    share.count(quotas, 1)
    let isHeld = true
    resolve(() => {
      if (!isHeld) return
      isHeld = false
      share.count(quotas, -1)
      share.markDirty(namesOf(quotas))
      attend(share)
    })
  }

  /** Goes by what this process knows. */
  function decideAlone(share: Share, asked: readonly PendingPlace[]): void {
    for (const one of asked) {
      decide(share, one, share.hasRoom(one.request, performance.now()))
      share.markDirty(namesOf(one.request.quotas))
    }
  }

  /** Sends one message, and does what its answer asks for. */
  async function sync(share: Share): Promise<void> {
    const asked = share.waiting.splice(0, MAX_MESSAGE)
    const message = messageOf(share, asked)
    const names = namesOf(message.counts)
    share.isDirty = false
    for (const name of names) share.dirtyNames.delete(name)
    const answer = await inTime(syncPlaces(client, keyOf(share), leaseMs, message))
    if (answer === 'none') {
      // Redis may have heard it all the same.
      share.markDirty(names)
      share.aloneUntil = performance.now() + ALONE_MS
      setTimeout(() => attend(share), ALONE_MS + 1).unref()
      decideAlone(share, asked)
    } else if (answer === null) {
      share.rename()
      share.waiting.unshift(...asked)
    } else {
      asked.forEach((one, n) => decide(share, one, answer.granted[n] === true))
      share.isKnown = message.own + answer.granted.filter(Boolean).length > 0
      applyAnswer(share, names, answer, performance.now() + leaseMs)
    }
  }

  async function syncAll(share: Share): Promise<void> {
    share.isSyncing = true
    while (share.mustSync && !isAlone(share)) await sync(share)
    share.isSyncing = false
    attend(share)
  }

  /**
   * The last report of a share: without it its counts would hold until the lease is over. Sent even
   * where Redis was slow.
   */
  const syncLast = (share: Share): Promise<unknown> =>
    inTime(syncPlaces(client, keyOf(share), leaseMs, { ...messageOf(share, []), counts: [] }))

  /** Sees to what the share has to report or to decide. */
  function attend(share: Share): void {
    if (share.isSyncing) return
    if (isAlone(share)) decideAlone(share, share.waiting.splice(0))
    else if (share.mustSync) {
      const syncing = syncAll(share).finally(() => syncs.delete(syncing))
      syncs.add(syncing)
    } else if (share.total.own === 0 && !share.isKnown && shares.get(share.tenantId) === share) {
      shares.delete(share.tenantId)
    }
  }

  return {
    take: (request) =>
      new Promise((resolve) => {
        const { tenantId } = request
        const share = shares.get(tenantId) ?? new Share(tenantId)
        shares.set(tenantId, share)
        share.perTenant = request.perTenant
        share.waiting.push({ request, resolve })
        attend(share)
      }),
    async close() {
      clearInterval(renewal)
      await Promise.all(syncs)
      await Promise.all([...shares.values()].map(syncLast))
      client.disconnect()
    },
  }
}

const namesOf = (some: readonly { name: string }[]): string[] => some.map(({ name }) => name)

/**
 * `none` where there is no answer in time. One that lies unread while this process is busy is in
 * time.
 */
function inTime<T>(answer: Promise<T>): Promise<T | 'none'> {
  return new Promise((resolve) => {
    // The sockets are read between a timer and an immediate.
    const timer = setTimeout(() => setImmediate(resolve, 'none'), PATIENCE_MS)
    const settle = (value: T | 'none'): void => {
      clearTimeout(timer)
      resolve(value)
    }
    answer.then(settle, () => settle('none'))
  })
}
