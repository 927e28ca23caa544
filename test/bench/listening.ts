import { setTimeout } from 'node:timers/promises'

import { startScript } from './scripts.ts'
import { sized } from './size.ts'

export type Command =
  | { do: 'open'; port: number; head: string; count: number }
  | { do: 'reset' }
  | { do: 'count' }
  | { do: 'delays' }
  | { do: 'drop' }

/**
 * A prefix of a comment's text with its time of sending, by the clock that all processes of a
 * machine share.
 */
export const stamp = (): string => `@${monotonicMs().toFixed(2)}@`
export const STAMP = /"body":"@([\d.]+)@/g
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6

/**
 * Bytes that the streams have received: all together, the one with the least, the one with the
 * most.
 */
export interface Counted {
  total: number
  least: number
  most: number
}

export interface Answer {
  counted: Counted
  delays: readonly number[]
}

/** Many streams, held open by a process of their own. */
export interface Listeners {
  open(port: number, head: string, count: number): Promise<void>
  reset(): Promise<void>
  count(): Promise<Counted>
  /**
   * Milliseconds from the stamp of an event to its arrival, at some of the streams, since the last
   * reset.
   */
  delays(): Promise<readonly number[]>
  /**
   * Waits until no more data comes. `at`: when the last data came, to 50 ms, by this process's
   * clock.
   */
  settled(): Promise<Counted & { at: number }>
  /** Closes the streams. */
  drop(): Promise<void>
  /** Ends the process. */
  close(): Promise<void>
}

/** Silence of this long means that everything has arrived. */
const QUIET_MS = sized(1000, 500)
/** The longest wait for the first data. */
const PATIENCE_MS = 30_000

export async function startListeners(): Promise<Listeners> {
  const script = await startScript('listeners.ts')
  const ask = async (command: Command): Promise<Answer> => {
    const { answer, error } = (await script.ask(command)) as { answer?: Answer; error?: string }
    if (answer === undefined) throw new Error(error)
    return answer
  }
  const count = async (): Promise<Counted> => (await ask({ do: 'count' })).counted
  return {
    open: async (port, head, number) => void (await ask({ do: 'open', port, head, count: number })),
    reset: async () => void (await ask({ do: 'reset' })),
    count,
    delays: async () => (await ask({ do: 'delays' })).delays,
    async settled() {
      let last = await count()
      let at = performance.now()
      while (performance.now() - at < (last.total === 0 ? PATIENCE_MS : QUIET_MS)) {
        await setTimeout(50)
        const now = await count()
        if (now.total !== last.total) at = performance.now()
        last = now
      }
      return { ...last, at }
    },
    drop: async () => void (await ask({ do: 'drop' })),
    close: () => script.close(),
  }
}
