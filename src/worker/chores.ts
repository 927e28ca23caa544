import type { App } from '../core/context.ts'
import { foldWaiting } from '../domains/analytics/fold.ts'
import { deleteExpiredRecords } from '../domains/idempotency/idempotency.ts'
import { closeOldDiscussions } from '../domains/moderation/auto-close.ts'
import { refreshDueKeySets } from '../domains/readers/key-sets.ts'
import { type Loop, startLoop } from './loop.ts'
import type { Outbound } from './outbound.ts'

const AUTO_CLOSE_BATCH = 200

interface Chore {
  name: string
  pollMs: number
  /** Whether there may be more to do at once. Ends early where `signal` is aborted. */
  work(app: App, outbound: Outbound, signal: AbortSignal): Promise<boolean>
}

/** What every worker looks after by itself, any number of them side by side. */
const CHORES: readonly Chore[] = [
  {
    name: 'key sets',
    pollMs: 1000,
    work: async (app, outbound) => {
      await refreshDueKeySets(app, outbound.fetchJson)
      return false
    },
  },
  { name: 'expired idempotency keys', pollMs: 60_000, work: (app) => deleteExpiredRecords(app) },
  {
    name: 'automatic closing',
    pollMs: 60_000,
    work: async (app) => (await closeOldDiscussions(app, AUTO_CLOSE_BATCH)) === AUTO_CLOSE_BATCH,
  },
  // What waits is added by each reading: seldom enough to fold much at once, often enough to keep that cheap.
  { name: 'analytics', pollMs: 2000, work: (app, _outbound, signal) => foldWaiting(app, signal) },
]

/** Starts a loop for each chore. */
export function startChores(app: App, outbound: Outbound): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const loops = CHORES.map(({ name, pollMs, work }): Loop => {
    const run = async (): Promise<void> => {
      let more = true
      while (more && !stopping.signal.aborted) more = await work(app, outbound, stopping.signal)
    }
    return startLoop({ name, pollMs, log: app.log, work: run })
  })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}
