import type { Id } from '../core/ids.ts'
import type { StreamPlaces } from '../core/stream-places.ts'
import { speak } from './places-script.ts'
import { type Asked, hear, MAX_WORD, Share, wordOf } from './places-share.ts'
import { connect } from './redis-bus.ts'

/** What a process has told counts for so long; one that was killed gives its share back by then. */
const LEASE_MS = 45_000
/** How often a process says again what it has, so that Redis may forget at any time. */
const RENEW_MS = 5000
/** How long a word waits for its answer. A place waits for two words at most until it knows that Redis is away. */
const PATIENCE_MS = 240
/** After a word without an answer, a process goes by what it knows for so long. */
const ALONE_MS = 1000

interface RedisPlacesOptions {
  urls: readonly string[]
  prefix: string
  leaseMs?: number
  renewMs?: number
}

/**
 * Places over all processes, through Redis. A process talks of one tenant with one word at a time, and what comes up
 * meanwhile goes together in the next: a storm of takes is a handful of round trips. Every word says the process's own
 * counts as they are, so that whatever Redis forgot or did not hear is right again with the next one.
 */
export function createRedisPlaces(options: RedisPlacesOptions): StreamPlaces {
  const { urls, prefix, leaseMs = LEASE_MS, renewMs = RENEW_MS } = options
  const client = connect(urls, urls.length > 1, 'places')
  const shares = new Map<Id, Share>()
  const talks = new Set<Promise<void>>()

  // The bus tells the log that Redis is away.
  client.on('error', () => undefined)
  // It may have come back empty.
  client.on('ready', () => {
    for (const share of shares.values()) {
      share.aloneUntil = 0
      share.mustTell(share.readers.keys())
      attend(share)
    }
  })
  const renewal = setInterval(() => {
    for (const share of shares.values()) {
      share.mustTell([])
      attend(share)
    }
  }, renewMs).unref()

  const keyOf = ({ tenantId }: Share): string => `${prefix}places:{${tenantId}}`
  const isAlone = (share: Share): boolean => client.status !== 'ready' || performance.now() < share.aloneUntil

  function decide(share: Share, { request, resolve }: Asked, hasRoom: boolean): void {
    if (!hasRoom) return resolve(null)
    const { readerId } = request
    share.count(readerId, 1)
    let isHeld = true
    resolve(() => {
      if (!isHeld) return
      isHeld = false
      share.count(readerId, -1)
      share.mustTell(readerId === null ? [] : [readerId])
      attend(share)
    })
  }

  /** Goes by what this process knows. */
  function decideAlone(share: Share, asked: readonly Asked[]): void {
    for (const one of asked) {
      const { readerId } = one.request
      decide(share, one, share.hasRoom(one.request, performance.now()))
      share.mustTell(readerId === null ? [] : [readerId])
    }
  }

  /** Says one word, and does what comes of it. */
  async function exchange(share: Share): Promise<void> {
    const asked = share.waiting.splice(0, MAX_WORD)
    const word = wordOf(share, asked)
    const readerIds = word.readers.map(({ id }) => id)
    share.isUntold = false
    for (const readerId of readerIds) share.untold.delete(readerId)
    const answer = await inTime(speak(client, keyOf(share), leaseMs, word))
    if (answer === 'none') {
      // It may have been heard all the same.
      share.mustTell(readerIds)
      share.aloneUntil = performance.now() + ALONE_MS
      setTimeout(() => attend(share), ALONE_MS + 1).unref()
      decideAlone(share, asked)
    } else if (answer === null) {
      share.rename()
      share.waiting.unshift(...asked)
    } else {
      asked.forEach((one, n) => decide(share, one, answer.granted[n] === true))
      share.isKnown = word.own + answer.granted.filter(Boolean).length > 0
      hear(share, readerIds, answer, performance.now() + leaseMs)
    }
  }

  async function talk(share: Share): Promise<void> {
    share.isTalking = true
    while (share.hasWord && !isAlone(share)) await exchange(share)
    share.isTalking = false
    attend(share)
  }

  /** What nobody will say later: it would count until the lease is over, also where Redis was slow to answer before. */
  const sayLast = (share: Share): Promise<unknown> =>
    inTime(speak(client, keyOf(share), leaseMs, { ...wordOf(share, []), readers: [] }))

  /** Sees to whatever the share has to say or to decide. */
  function attend(share: Share): void {
    if (share.isTalking) return
    if (isAlone(share)) decideAlone(share, share.waiting.splice(0))
    else if (share.hasWord) {
      const talking = talk(share).finally(() => talks.delete(talking))
      talks.add(talking)
    } else if (share.total.own === 0 && !share.isKnown) shares.delete(share.tenantId)
  }

  return {
    take: (request) =>
      new Promise((resolve) => {
        const { tenantId } = request
        const share = shares.get(tenantId) ?? new Share(tenantId)
        shares.set(tenantId, share)
        share.caps = request
        share.waiting.push({ request, resolve })
        attend(share)
      }),
    async close() {
      clearInterval(renewal)
      await Promise.all(talks)
      await Promise.all([...shares.values()].map(sayLast))
      client.disconnect()
    },
  }
}

/** `none` where there is no answer in time. One that lies unread while this process is busy is in time. */
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
