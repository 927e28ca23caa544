import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from 'pino'

import type { Settings } from '../core/settings/settings.ts'
import { counted } from '../core/input/texts.ts'
import type { UncaughtHandlers } from '../core/process/uncaught.ts'
import { Exchange, type Port } from './exchange.ts'

/** The pause before an ended process is started again: doubled each time, up to `most`. */
const PAUSE_MS = { first: 100, most: 5000 }

/** A process that has served for this long is restarted at once. */
const STEADY_MS = 60_000

/** More unread messages than this, and a process gets no further ones of the bus. */
const MAX_UNREAD = 10_000

/** How often each process is pinged, and how many answers it may miss. */
const BEAT_MS = 10_000
const MAX_SILENT_BEATS = 3

/** Time for a process to notice by itself that its grace period is over. */
const MARGIN_MS = 1000

type Role = 'api' | 'worker'

/**
 * Starts `WORKERS` api processes on one port, and one worker; restarts each that ends, and stops
 * all on a signal. The first one starts alone: if it cannot start, none can, and it reports why.
 * Resolves once all serve.
 */
export async function startParent(settings: Settings, log: Logger, uncaught: UncaughtHandlers): Promise<void> {
  const { ROLE, WORKERS, SHUTDOWN_GRACE_SECONDS: grace } = settings
  const exchange = new Exchange(settings)
  const running = new Map<Worker, Promise<boolean>>()
  let isStopping = false
  let isShown = false

  /** Resolves when the process, or a restarted one in its place, serves. */
  function start(role: Role, pauseMs: number = PAUSE_MS.first): Promise<void> {
    // A worker must not listen on the port of the apis.
    const isTaken = role === 'worker' && settings.WORKER_PORT === settings.PORT
    const child = cluster.fork({ ROLE: role, WORKERS: '1', ...(isTaken && { WORKER_PORT: '' }) })
    let readyAt = Infinity
    return new Promise((resolve) => {
      const { leave, isAlive } = exchange.join(portOf(child), ({ text, hasCredentials }) => {
        if (!isShown || hasCredentials) console.log(text)
        isShown = true
        readyAt = performance.now()
        resolve()
      })
      let silentBeats = 0
      const heart = setInterval(() => {
        void isAlive().then((is) => {
          silentBeats = is ? 0 : silentBeats + 1
          if (silentBeats < MAX_SILENT_BEATS) return
          log.error({ role, pid: child.process.pid }, 'a process has not answered for half a minute, and is killed')
          child.process.kill('SIGKILL')
        })
      }, BEAT_MS)
      const onEnd = (code: number | null, signal: string | null, err?: Error): void => {
        clearInterval(heart)
        leave()
        if (!running.delete(child) || isStopping) return
        // The very first process has reported why. A process ended by a signal has not.
        if (!isShown && code) process.exit(code)
        const isSteady = performance.now() - readyAt > STEADY_MS
        const pause = isSteady ? PAUSE_MS.first : pauseMs
        const { pid } = child.process
        log.warn({ role, pid, code, signal, err, pauseMs: pause }, 'a process has ended, and is started again')
        setTimeout(() => {
          if (!isStopping) void start(role, Math.min(pause * 2, PAUSE_MS.most)).then(resolve)
        }, pause)
      }
      const ended = new Promise<boolean>((settle) => {
        child.once('exit', (code: number | null, signal: string | null) => {
          // A signal can end a process that has only just started.
          settle(code === 0 || signal === 'SIGTERM' || signal === 'SIGINT')
          onEnd(code, signal)
        })
        // The machine has no resources for it.
        child.on('error', (err: Error) => {
          if (child.process.pid !== undefined) return
          settle(false)
          onEnd(null, null, err)
        })
      })
      running.set(child, ended)
    })
  }

  async function stop(signal: NodeJS.Signals, status = 0): Promise<void> {
    isStopping = true
    exchange.close()
    for (const child of running.keys()) child.process.kill(signal)
    const late = sleep(grace * 1000 + MARGIN_MS, 'late' as const, { ref: false })
    const ends = await Promise.race([Promise.all(running.values()), late])
    if (ends === 'late') for (const child of running.keys()) child.process.kill('SIGKILL')
    process.exit(ends !== 'late' && ends.every(Boolean) ? status : 1)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (!isStopping) void stop(signal)
    })
  }

  // Its processes serve from their own start on, and stop before it ends.
  uncaught.stop = () => {
    if (!isStopping) void stop('SIGTERM', 1)
  }

  await start('api')
  if (isStopping) return
  const others: Role[] = Array.from({ length: WORKERS - 1 }, () => 'api')
  if (ROLE === 'all') others.push('worker')
  await Promise.all(others.map((role) => start(role)))
  if (isStopping) return
  const workers = ROLE === 'all' ? ' and 1 worker' : ''
  console.log(`${others.length + 1} processes serve: ${counted(WORKERS, 'api')}${workers}.`)
  process.send?.({ ready: true })
}

/** The messages to and from a process, which may have just ended. */
function portOf(child: Worker): Port {
  let unread = 0
  return {
    send: (message, socket) => {
      if (!child.isConnected()) return
      unread++
      child.send(message, socket, { keepOpen: true }, () => void unread--)
    },
    isFull: () => unread > MAX_UNREAD,
    onMessage: (listener) =>
      void child.on('message', (message: unknown) => {
        if (typeof message === 'object' && message !== null) listener(message)
      }),
  }
}
