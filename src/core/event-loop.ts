import { setImmediate as immediate } from 'node:timers/promises'

/** In a turn of the event loop that is shorter, no new connection was waiting. */
const LITTLE_MS = 0.2
const MAX_TURNS_MS = 2000

/**
 * Waits for a turn of the event loop in which little happens. The kernel resets connections that
 * wait to be accepted when a listener closes: those that came while the turn was busy.
 */
export async function quietTurn(): Promise<void> {
  const until = performance.now() + MAX_TURNS_MS
  for (let began = performance.now(); began < until; began = performance.now()) {
    await immediate()
    if (performance.now() - began < LITTLE_MS) return
  }
}
