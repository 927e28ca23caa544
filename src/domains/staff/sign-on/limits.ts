import type { App } from '../../../core/app.ts'
import { addressBucket } from '../../../core/limits.ts'
import { PER_ADDRESS } from '../login-limits.ts'
import { refuseSignOn } from './refusals.ts'

/**
 * Does a step of a sign-on within the limit of its address; one that succeeds does not count.
 * Rejects with SignOnRefused.
 */
export async function withinSignOnLimits<T>(app: App, address: string | null, step: () => Promise<T>): Promise<T> {
  const name = `sign-on ${address === null ? '' : addressBucket(address)}`
  const { isAllowed } = await app.limits.takeExactly('login', name, PER_ADDRESS)
  if (!isAllowed) throw refuseSignOn('rate_limited')
  const result = await step()
  await app.limits.giveBackExactly('login', name, PER_ADDRESS, 1)
  return result
}
