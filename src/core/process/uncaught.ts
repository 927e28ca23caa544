import type { Logger } from 'pino'

/** A promise that was rejected and that nothing handled, or an exception that nothing caught. */
export const UNCAUGHT = ['rejection', 'exception'] as const
export type Uncaught = (typeof UNCAUGHT)[number]

/** What a process does about them, beside its log. */
export interface UncaughtHandlers {
  count?: (kind: Uncaught) => void
  /**
   * Stops the process as SIGTERM does, and ends it with status 1. Absent until the process serves.
   */
  stop?: () => void
}

/** Rejections of one cause can come in thousands. */
const REPORT_MS = 1000

/**
 * Handles what no code of this process has caught (decision 0024). After a rejection the process
 * goes on: it belongs to one piece of work, and a cause outside, such as an answer of Redis, would
 * end all processes at once. An exception has interrupted code at an unknown place: the process
 * stops in good order, to be started again. Before it serves, either ends it at once.
 */
export function handleUncaught(log: Logger): UncaughtHandlers {
  const handlers: UncaughtHandlers = {}
  let reportedAt = -Infinity
  let isEnding = false
  const handle = (kind: Uncaught, err: unknown): void => {
    handlers.count?.(kind)
    if (handlers.stop === undefined) {
      log.fatal({ err }, 'the start has failed: nothing has handled this error')
      return log.flush(() => process.exit(1))
    }
    if (kind === 'exception' && !isEnding) {
      isEnding = true
      log.fatal({ err }, 'nothing has caught this exception: the process stops, to be started again')
      return handlers.stop()
    }
    const now = performance.now()
    if (now - reportedAt < REPORT_MS) return
    reportedAt = now
    log.error({ err }, `nothing has handled this ${kind}; the process goes on`)
  }
  process.on('unhandledRejection', (reason) => handle('rejection', reason))
  process.on('uncaughtException', (error) => handle('exception', error))
  return handlers
}

/** Ends a command with status 1: what it has done may not be whole. */
export function failOnUncaught(print: (error: unknown) => void): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      print(error)
      process.exit(1)
    })
  }
}
