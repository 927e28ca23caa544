import { performance } from 'node:perf_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'

import { vi } from 'vitest'

const TICK_MS = 50
/** As late as any timer may be. */
const LATE_MS = 50

let stillMs = 0
let last = performance.now()
let used = process.cpuUsage()

setInterval(() => {
  const now = performance.now()
  const { user, system } = process.cpuUsage(used)
  // While it computes it does not stand still: a service in this process that blocks it is not
  // excused.
  const lostMs = now - last - TICK_MS - (user + system) / 1000
  if (lostMs > LATE_MS) stillMs += lostMs
  last = now
  used = process.cpuUsage()
}, TICK_MS).unref()

/** How long this process has been kept from the processor, in all. */
export const stoodStillMs = (): number => stillMs

/**
 * Milliseconds by a clock that stands still whenever this process does: a promise in seconds is
 * about a machine that runs.
 */
export const runningMs = (): number => performance.now() - stillMs

const { waitFor: waitOnce } = vi

/** `vi.waitFor` by that clock. It would give up after a standstill without another look. */
export const waitFor = async <T>(
  callback: () => T | Promise<T>,
  { timeout, interval = 50 }: { timeout: number; interval?: number },
): Promise<T> => {
  const began = runningMs()
  for (let left = timeout; ;) {
    try {
      return await waitOnce(callback, { timeout: left, interval })
    } catch (error) {
      // What has come meanwhile is read, and the time that was lost is known.
      await setImmediate()
      left = began + timeout - runningMs()
      if (left < interval) throw error
    }
  }
}

/**
 * Asks until it is so. Throws where it is not so for whoever asks later than `ms` from now: how
 * long an answer takes on a busy machine is no part of such a promise.
 */
export async function holdsWithin(ms: number, ask: () => Promise<unknown>): Promise<void> {
  for (const began = runningMs(); ;) {
    const askedAfterMs = runningMs() - began
    try {
      return void (await ask())
    } catch (error) {
      if (askedAfterMs > ms) throw error
    }
    await setTimeout(20)
    await setImmediate()
  }
}
