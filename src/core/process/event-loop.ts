import { setImmediate as immediate } from 'node:timers/promises'

/** A turn of the event loop that is shorter than this accepted no new connection. */
const LITTLE_MS = 0.2
const MAX_TURNS_MS = 2000

/**
 * Waits for a turn of the event loop that did little. When a listener closes, the kernel resets
 * connections that wait to be accepted: those that arrived while the turn was busy.
 */
export async function quietTurn(withinMs = MAX_TURNS_MS): Promise<void> {
  const until = performance.now() + withinMs
  for (let began = performance.now(); began < until; began = performance.now()) {
    await immediate()
    if (performance.now() - began < LITTLE_MS) return
  }
}
