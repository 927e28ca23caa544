import { useSyncExternalStore } from 'react'

import { QueueCountsDocument } from '../../../../generated/console.ts'
import { patchAnswers, useApi } from '../../../api/queries.ts'

/** The service counts so far: this number stands for as many or more. */
export const BOUND = 1000

/** The queues that are counted. A comment may be in both. */
type Counted = 'pending' | 'reported'

/** How many comments of each queue were judged here, and are not sent yet. */
let unsent: Readonly<Record<Counted, number>> = { pending: 0, reported: 0 }
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function add(by: Readonly<Record<Counted, ReadonlySet<string>>>, sign: 1 | -1): void {
  unsent = {
    pending: unsent.pending + sign * by.pending.size,
    reported: unsent.reported + sign * by.reported.size,
  }
  for (const listener of listeners) listener()
}

/** Judged comments, which no longer count in their queues. */
export interface CountedOut {
  /** They are sent now. */
  send: () => void
  /** Counts them in again, but for those that the service has taken. */
  end: (taken: { has: (id: string) => boolean }) => void
}

export function countOut(leaving: Readonly<Record<Counted, ReadonlySet<string>>>): CountedOut {
  let sentAt = 0
  add(leaving, 1)
  return {
    send: () => (sentAt = Date.now()),
    end: (taken) => {
      // A later answer has not counted them.
      patchAnswers(QueueCountsDocument, sentAt, (answer) => {
        const { overview } = answer
        if (overview == null) return answer
        const left = (queue: Counted): number | null => {
          const known = overview[queue] ?? null
          if (known === null || known >= BOUND) return known
          return Math.max(0, known - [...leaving[queue]].filter((id) => taken.has(id)).length)
        }
        return { ...answer, overview: { ...overview, pending: left('pending'), reported: left('reported') } }
      })
      add(leaving, -1)
    },
  }
}

/**
 * How many comments wait in each queue, without those that were judged here. Undefined until the
 * service has answered.
 */
export function useQueueCounts(): Partial<Record<Counted, number>> {
  const { data } = useApi(QueueCountsDocument, {}, { everyMs: 30_000 })
  const judged = useSyncExternalStore(subscribe, () => unsent)
  const left = (queue: Counted): number => {
    const count = data?.overview?.[queue] ?? 0
    return count >= BOUND ? count : Math.max(0, count - judged[queue])
  }
  return data === undefined ? {} : { pending: left('pending'), reported: left('reported') }
}
