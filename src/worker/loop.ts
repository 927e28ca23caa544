import type { Logger } from 'pino'

export interface Loop {
  /** Runs as soon as possible. Several calls before that count as one. */
  wake(): void
  /** Runs in `ms`. */
  wakeIn(ms: number): void
  /** Resolves once the current run is over. It never runs again. */
  stop(): Promise<void>
}

interface LoopOptions {
  name: string
  pollMs: number
  log: Logger
  work(): Promise<void>
}

// The pause after an error: long enough not to storm a starting database, short enough to be back
// soon.
const RETRY_MS = 1000
const MAX_RETRY_MS = 5000

/**
 * Runs `work` every `pollMs`, and when woken, but never twice at once. An error is logged, and the
 * loop continues.
 */
export function startLoop({ name, pollMs, log, work }: LoopOptions): Loop {
  let running: Promise<void> | undefined
  let again = false
  let stopped = false
  let poll: NodeJS.Timeout | undefined
  let failures = 0

  const wake = (): void => {
    if (stopped) return
    if (running !== undefined) {
      again = true
      return
    }
    clearTimeout(poll)
    running = run()
  }

  async function run(): Promise<void> {
    let pause = pollMs
    do {
      again = false
      try {
        await work()
        failures = 0
      } catch (err) {
        log.warn({ err, loop: name }, 'a worker loop failed; trying again')
        pause = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures++)
        break
      }
    } while (again && !stopped)
    running = undefined
    if (!stopped) poll = setTimeout(wake, pause)
  }

  wake()
  return {
    wake,
    wakeIn: (ms) => void setTimeout(wake, ms).unref(),
    stop: async () => {
      stopped = true
      clearTimeout(poll)
      await running
    },
  }
}
