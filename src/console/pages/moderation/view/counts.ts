import { useSyncExternalStore } from 'react'

import { type ModerationQueueStatus, QueueCountsDocument } from '../../../../generated/console.ts'
import { patchAnswers, useApi } from '../../../api/queries.ts'

/** The service counts so far: this number stands for as many or more. */
export const BOUND = 1000

/** How many comments of each queue were judged here, and are not sent yet. */
let unsent: Partial<Record<ModerationQueueStatus, number>> = {}
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function add(queue: ModerationQueueStatus, count: number): void {
  unsent = { ...unsent, [queue]: (unsent[queue] ?? 0) + count }
  for (const listener of listeners) listener()
}

/** Judged comments, which no longer count in their queue. */
export interface CountedOut {
  /** They are sent now. */
  send: () => void
  /** Counts them in again, but for those that the service has taken. */
  end: (taken: { has: (id: string) => boolean }) => void
}

export function countOut(queue: ModerationQueueStatus, ids: ReadonlySet<string>): CountedOut {
  let sentAt = 0
  add(queue, ids.size)
  return {
    send: () => (sentAt = Date.now()),
    end: (taken) => {
      const left = [...ids].filter((id) => taken.has(id)).length
      if (queue === 'pending' || queue === 'reported') {
        // A later answer has not counted them.
        patchAnswers(QueueCountsDocument, sentAt, (answer) => {
          const { overview } = answer
          const known = overview?.[queue]
          if (overview == null || known == null || known >= BOUND) return answer
          return { ...answer, overview: { ...overview, [queue]: Math.max(0, known - left) } }
        })
      }
      add(queue, -ids.size)
    },
  }
}

/**
 * How many comments wait in each queue, without those that were judged here. Undefined until the
 * service has answered.
 */
export function useQueueCounts(): Partial<Record<ModerationQueueStatus, number>> {
  const { data } = useApi(QueueCountsDocument, {}, { everyMs: 30_000 })
  const judged = useSyncExternalStore(subscribe, () => unsent)
  const left = (queue: 'pending' | 'reported'): number => {
    const count = data?.overview?.[queue] ?? 0
    return count >= BOUND ? count : Math.max(0, count - (judged[queue] ?? 0))
  }
  return data === undefined ? {} : { pending: left('pending'), reported: left('reported') }
}
