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
  // A process that computes is not stalled: a service in this process that blocks it has no
  // excuse.
  const lostMs = now - last - TICK_MS - (user + system) / 1000
  if (lostMs > LATE_MS) stillMs += lostMs
  last = now
  used = process.cpuUsage()
}, TICK_MS).unref()

/** The total time that this process was kept from the processor. */
export const stoodStillMs = (): number => stillMs

/**
 * Milliseconds of a clock that stops while this process is stalled: promises in seconds are about a
 * running machine.
 */
export const runningMs = (): number => performance.now() - stillMs

const { waitFor: waitOnce } = vi

/** `vi.waitFor` by that clock, which would otherwise give up right after a stall. */
export const waitFor = async <T>(
  callback: () => T | Promise<T>,
  { timeout, interval = 50 }: { timeout: number; interval?: number },
): Promise<T> => {
  const began = runningMs()
  for (let left = timeout; ;) {
    try {
      return await waitOnce(callback, { timeout: left, interval })
    } catch (error) {
      // Data that has arrived meanwhile is read, and the stall is measured.
      await setImmediate()
      left = began + timeout - runningMs()
      if (left < interval) throw error
    }
  }
}

/**
 * Asks until the condition holds. Throws if it does not hold for a request made later than `ms`
 * from now: the duration of an answer on a busy machine is not part of the promise.
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
