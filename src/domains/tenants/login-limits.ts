import { LRUCache } from 'lru-cache'

import { type App, perApp } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'

const WINDOW_MS = 15 * 60_000
const FAILURES_PER_EMAIL = 10
const FAILURES_PER_ADDRESS = 30

/** scrypt takes 32 MB and some 80 ms of a core each time: more at once would starve everything else. */
const CONCURRENT_CHECKS = 2
const WAITING_CHECKS = 50

interface Count {
  failures: number
  /** When the window that began with the first failure ends; milliseconds since the epoch. */
  endsAt: number
}

const counts = perApp(() => new LRUCache<string, Count>({ max: 20_000, ttl: WINDOW_MS }))

/**
 * Runs one check of a password. It counts as failed from its beginning, so that many at once get no further than many
 * in a row; a right password clears the count of its e-mail address.
 * The counts are those of this process. Throws `rate_limited`.
 */
export async function withinLoginLimits<T>(
  app: App,
  { email, address }: { email: string; address: string | null },
  check: () => Promise<T | null>,
): Promise<T | null> {
  const kept = counts(app)
  const byEmail = countOf(kept, `email ${email}`)
  const byAddress = address === null ? undefined : countOf(kept, `address ${address}`)
  refuseOver(byEmail, FAILURES_PER_EMAIL)
  if (byAddress !== undefined) refuseOver(byAddress, FAILURES_PER_ADDRESS)
  byEmail.failures++
  if (byAddress !== undefined) byAddress.failures++
  const result = await gate(app).run(check)
  if (result !== null) {
    byEmail.failures = 0
    if (byAddress !== undefined) byAddress.failures--
  }
  return result
}

function countOf(kept: LRUCache<string, Count>, key: string): Count {
  const count = kept.get(key)
  if (count !== undefined) return count
  const fresh = { failures: 0, endsAt: Date.now() + WINDOW_MS }
  kept.set(key, fresh)
  return fresh
}

function refuseOver({ failures, endsAt }: Count, limit: number): void {
  if (failures < limit) return
  throw new ServiceError('rate_limited', {
    detail: 'There were too many failed logins; try again later.',
    retryAfterSeconds: (endsAt - Date.now()) / 1000,
  })
}

const gate = perApp(() => {
  let running = 0
  const waiting: (() => void)[] = []
  return {
    async run<T>(work: () => Promise<T>): Promise<T> {
      if (running >= CONCURRENT_CHECKS) {
        if (waiting.length >= WAITING_CHECKS) throw new ServiceError('rate_limited', { retryAfterSeconds: 5 })
        await new Promise<void>((resolve) => waiting.push(resolve))
      } else running++
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        // The place passes on; it is never free in between.
        if (next === undefined) running--
        else next()
      }
    },
  }
})
