import { parentPort, workerData } from 'node:worker_threads'

/** A command runs in a thread, and the main one of the process watches for signals: `guard.ts`. */

/** What the command sends to the main thread. */
export type CommandMessage =
  /**
   * It can stop by itself, and if it does not in time, this is what to print; null: it cannot, or
   * it has printed how it ended.
   */
  | { stops: string | null }
  /** A file to remove if the command is ended; null: none any more. */
  | { draft: string | null }

/** With 128 added, the exit status of a process that a signal has ended. */
export const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
const post = (message: CommandMessage): void => parentPort?.postMessage(message)

/** The file that the caller has started, by its name. */
export const programName = (): string => String(workerData ?? '')

/** A file that must not stay if the command is ended before it calls the result. */
export function draftOf(file: string): () => void {
  post({ draft: file })
  return () => post({ draft: null })
}

/** A signal stopped the command, which has cleaned up. */
export class StoppedError extends Error {
  /** The exit status as shells define it. */
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** A command has stopped at a signal, and left nothing half done. */
export class CommandStopped extends Error {}

/**
 * Runs `work` until a signal, such as Ctrl+C, aborts it, which it must end by an error of the kind
 * `Stopped` soon: the main thread waits for a moment only, then prints `message`. Throws
 * StoppedError.
 */
export async function untilStopped<T>(
  Stopped: abstract new (...given: never[]) => Error,
  message: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let status = 0
  const stop = (number: number): void => {
    status = 128 + number
    controller.abort()
  }
  parentPort?.on('message', stop)
  post({ stops: message })
  try {
    return await work(controller.signal)
  } catch (error) {
    if (!controller.signal.aborted) throw error
    throw error instanceof Stopped ? new StoppedError(error.message, status) : error
  } finally {
    // Until the command has printed that it was stopped, the main thread may have to.
    if (!controller.signal.aborted) markEndPrinted()
    parentPort?.off('message', stop)
  }
}

/** The command has printed how it ended: the main thread prints nothing more. */
export const markEndPrinted = (): void => post({ stops: null })
