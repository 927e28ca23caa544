import type { Logger } from 'pino'

export interface Loop {
  /** Works as soon as it can. Many calls at once are one. */
  wake(): void
  /** Works in `ms`. */
  wakeIn(ms: number): void
  /** Resolves once the work under way is over. Never works again. */
  stop(): Promise<void>
}

interface LoopOptions {
  name: string
  pollMs: number
  log: Logger
  work(): Promise<void>
}

// After an error: long enough not to storm a database that is coming up, short enough to be there
// when it is.
const RETRY_MS = 1000
const MAX_RETRY_MS = 5000

/**
 * Works every `pollMs`, and whenever it is woken; never twice at once. An error is logged, and
 * never its end.
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
