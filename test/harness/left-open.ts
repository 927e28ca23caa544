import { setTimeout } from 'node:timers/promises'

import pg from 'pg'

import { faults } from './faults.ts'
import { runningMs } from './standstill.ts'

/** How long a closing connection or an ending child may take on a busy machine. */
const GRACE_MS = 10_000
const PAUSE_MS = 20

// One-shot timers end by themselves, and PGlite leaves one for each limit of a statement.
const UNCOUNTED = new Set(['Timeout', 'Immediate'])

// A pool on the embedded database has no socket.
const pools = new Set<pg.Pool>()
const { connect } = pg.Pool.prototype
pg.Pool.prototype.connect = function (this: pg.Pool, ...args: Parameters<typeof connect>) {
  pools.add(this)
  return connect.apply(this, args)
} as typeof connect

// Node does not list intervals that let the process end.
const intervals = new Map<unknown, string>()
const { setInterval, clearInterval } = globalThis
globalThis.setInterval = ((...args: Parameters<typeof setInterval>) => {
  const timer = setInterval(...args)
  intervals.set(timer, `setInterval ${new Error().stack?.split('\n')[2]?.trim()}`)
  return timer
}) as typeof setInterval
globalThis.clearInterval = (timer) => {
  intervals.delete(timer)
  clearInterval(timer)
}

process.on('warning', ({ name, message }) => {
  if (name === 'MaxListenersExceededWarning') faults.push(message)
})

/** What is open in this process, by its kind. */
function openNow(): string[] {
  for (const pool of pools) if (pool.ended) pools.delete(pool)
  return [
    ...process.getActiveResourcesInfo().filter((type) => !UNCOUNTED.has(type)),
    ...Array.from(pools, () => 'pg.Pool'),
    ...intervals.values(),
  ]
}

/**
 * Watches what a file opens from now on. Call the result at the end of the file: it waits until
 * closing resources are closed, and returns the kinds of those that stay open.
 */
export function watchOpen(): (graceMs?: number) => Promise<string[]> {
  const before = openNow()
  return async (graceMs = GRACE_MS) => {
    for (const began = runningMs(); ;) {
      const left = without(openNow(), before)
      if (left.length === 0 || runningMs() - began > graceMs) return left
      await setTimeout(PAUSE_MS)
    }
  }
}

/** Of each kind, those that are more than in `others`. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const rest = [...others]
  return all.filter((kind) => {
    const index = rest.indexOf(kind)
    if (index !== -1) rest.splice(index, 1)
    return index === -1
  })
}
