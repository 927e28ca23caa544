import type { Run } from './processes.ts'

/** What a process holds, after its garbage is gone. */
export interface Holdings {
  heapBytes: number
  /** Timers that are set, also those that keep no process alive. */
  timers: number
  /** Listeners of the process itself. */
  listeners: number
  /** What keeps the process alive, by kind. */
  resources: Record<string, number>
}

// Runs inside the process before its main module. Node's own list of resources leaves out timers
// that were unref'd.
const PROBE = `
  import { createHook } from 'node:async_hooks'
  import { setFlagsFromString } from 'node:v8'
  import { runInNewContext } from 'node:vm'
  setFlagsFromString('--expose-gc')
  // Node holds the map of a file from its first error on, whenever that is.
  process.setSourceMapsEnabled(false)
  const gc = runInNewContext('gc')
  const timers = new Set()
  createHook({
    init: (id, type) => void (type === 'Timeout' && timers.add(id)),
    destroy: (id) => void timers.delete(id),
  }).enable()
  process.on('SIGUSR2', async () => {
    for (let n = 0; n < 4; n++) {
      gc()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const resources = {}
    for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
    const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
    const heapBytes = process.memoryUsage().heapUsed
    console.log('holds ' + JSON.stringify({ heapBytes, timers: timers.size, listeners, resources }))
  })`

/** Settings with which a process can be asked what it holds. */
export const PROBED = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(PROBE)}` }

/** Asks a process that runs with `PROBED`. */
export async function holdingsOf(run: Run): Promise<Holdings> {
  const before = answersIn(run).length
  run.signal('SIGUSR2')
  for (;;) {
    const answer = answersIn(run)[before]
    if (answer !== undefined) return JSON.parse(answer) as Holdings
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const answersIn = ({ stdout }: Run): string[] =>
  [...stdout.matchAll(/^holds (\{.*\})$/gm)].map(([, json]) => json ?? '')
