import { type App, perApp } from '../../core/app.ts'
import { ServiceError } from '../../core/errors.ts'
import { addressBucket, type Rate } from '../../core/limits.ts'

const WINDOW_SECONDS = 15 * 60
/**
 * The number of failures allowed at once; as many more are regained over the window, one by one.
 */
const PER_EMAIL: Rate = { burst: 10, perSecond: 10 / WINDOW_SECONDS }
export const PER_ADDRESS: Rate = { burst: 30, perSecond: 30 / WINDOW_SECONDS }

/**
 * scrypt takes 32 MB and some 80 ms of a core each time: more at once would starve everything else.
 */
const CONCURRENT_CHECKS = 2
const WAITING_CHECKS = 50

/**
 * Checks a password within limits that all processes share. An attempt counts as failed from its
 * beginning, so that many at once get no further than many in a row; a login that succeeds clears
 * the count of its e-mail address. Throws `rate_limited`.
 */
export async function withinLoginLimits<T>(
  app: App,
  { email, address }: { email: string; address: string | null },
  check: () => Promise<T | null>,
): Promise<T | null> {
  const byEmail = `email ${email}`
  const byAddress = address === null ? null : `address ${addressBucket(address)}`
  // The client's address first: one over its limit must not use up the attempts of e-mail
  // addresses.
  if (byAddress !== null) await take(app, byAddress, PER_ADDRESS)
  await take(app, byEmail, PER_EMAIL)
  const result = await gate(app)
    .run(check)
    .catch(async (error: unknown) => {
      // The password was right, and the code comes with the next request.
      const isHalf = error instanceof ServiceError && error.code === 'second_factor_required'
      if (isHalf && byAddress !== null) await app.limits.giveBackExactly('login', byAddress, PER_ADDRESS, 1)
      throw error
    })
  if (result !== null) {
    await app.limits.giveBackExactly('login', byEmail, PER_EMAIL, PER_EMAIL.burst)
    if (byAddress !== null) await app.limits.giveBackExactly('login', byAddress, PER_ADDRESS, 1)
  }
  return result
}

async function take({ limits }: App, name: string, rate: Rate): Promise<void> {
  const { isAllowed, retryAfterSeconds } = await limits.takeExactly('login', name, rate)
  if (isAllowed) return
  throw new ServiceError('rate_limited', {
    detail: 'There were too many failed logins; try again later.',
    retryAfterSeconds,
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
        // The place is handed to the next waiter, and is never free in between.
        if (next === undefined) running--
        else next()
      }
    },
  }
})
