import type { Id } from '../../core/ids.ts'
import type { StreamPlaces } from '../../core/stream-places.ts'
import { syncPlaces } from './script.ts'
import { applyAnswer, type PendingPlace, MAX_MESSAGE, messageOf, Share } from './share.ts'
import { close, connect } from '../redis/client.ts'

/** How long a reported count is valid. After it, the places of a killed process are free. */
const LEASE_MS = 45_000
/** How often a process repeats its counts, so that Redis may lose them at any time. */
const RENEW_MS = 5000
/**
 * How long a message waits for its answer. A place waits for at most two messages before Redis
 * counts as down.
 */
const PATIENCE_MS = 240
/** After a message without an answer, a process decides alone for this long. */
const ALONE_MS = 1000

interface RedisPlacesOptions {
  urls: readonly string[]
  prefix: string
  leaseMs?: number
  renewMs?: number
}

/**
 * Places over all processes, through Redis. A process sends one message at a time about a tenant,
 * and changes meanwhile go together into the next: a burst of new streams takes a handful of round
 * trips. Every message has the process's absolute counts, so that the next one corrects whatever
 * Redis lost.
 */
export function createRedisPlaces(options: RedisPlacesOptions): StreamPlaces {
  const { urls, prefix, leaseMs = LEASE_MS, renewMs = RENEW_MS } = options
  const client = connect(urls, 'places')
  const shares = new Map<Id, Share>()
  const syncs = new Set<Promise<void>>()

  // The bus logs outages of Redis.
  client.on('error', () => undefined)
  // It may have restarted without data.
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

  /** Decides by this process's own counts. */
  function decideAlone(share: Share, asked: readonly PendingPlace[]): void {
    for (const one of asked) {
      decide(share, one, share.hasRoom(one.request, performance.now()))
      share.markDirty(namesOf(one.request.quotas))
    }
  }

  /** Sends one message, and handles its answer. */
  async function sync(share: Share): Promise<void> {
    const asked = share.waiting.splice(0, MAX_MESSAGE)
    const message = messageOf(share, asked)
    const names = namesOf(message.counts)
    share.isDirty = false
    for (const name of names) share.dirtyNames.delete(name)
    const answer = await inTime(syncPlaces(client, keyOf(share), leaseMs, message))
    if (answer === 'none') {
      // Redis may have received it all the same.
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
   * The last report of a share: without it, its counts would be valid until the lease ends. Sent
   * even if Redis was slow.
   */
  const syncLast = (share: Share): Promise<unknown> =>
    inTime(syncPlaces(client, keyOf(share), leaseMs, { ...messageOf(share, []), counts: [] }))

  /** Sends what the share has to report, and decides its waiting requests. */
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
      close(client)
    },
  }
}

const namesOf = (some: readonly { name: string }[]): string[] => some.map(({ name }) => name)

/**
 * Resolves to `none` without an answer in time. An answer that has arrived, but is unread because
 * this process is busy, counts as in time.
 */
function inTime<T>(answer: Promise<T>): Promise<T | 'none'> {
  return new Promise((resolve) => {
    // Node reads sockets between timers and immediates.
    const timer = setTimeout(() => setImmediate(resolve, 'none'), PATIENCE_MS)
    const settle = (value: T | 'none'): void => {
      clearTimeout(timer)
      resolve(value)
    }
    answer.then(settle, () => settle('none'))
  })
}
