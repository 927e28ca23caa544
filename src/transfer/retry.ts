import { setTimeout } from 'node:timers/promises'

import { ServiceError } from '../core/errors.ts'
import { troubleOf } from '../core/outage.ts'

/** How long an import retries after conflicts with others' locks or while the database is down. */
const PATIENCE_MS = 60_000

/** Nobody waits for an answer, so it may retry where a request would be refused. */
export async function patiently<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!mayPass(error) || performance.now() > until || signal?.aborted === true) throw error
      await setTimeout(500)
    }
  }
}

/** Whether a retry may succeed a little later. */
export const mayPass = (error: unknown): boolean =>
  troubleOf(error) !== null || (error instanceof ServiceError && error.code === 'unavailable')
