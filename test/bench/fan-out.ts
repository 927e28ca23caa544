import { setTimeout } from 'node:timers/promises'

import type { Listeners } from './listening.ts'
import { median } from './service.ts'
import { cpuMs, type Peer } from './stream-peers.ts'

/** How a round publishes: so many events at once, each so often. */
export interface Rhythm {
  name: string
  atOnce: number
  everyMs: number
}

/** 50 events a second each. */
export const RHYTHMS: readonly Rhythm[] = [
  { name: 'one each 20 ms', atOnce: 1, everyMs: 20 },
  { name: '16 each 320 ms', atOnce: 16, everyMs: 320 },
]
const SECONDS = 3
/** Streams may differ by these bytes of heartbeats. */
const HEARTBEATS = 64

export interface FanOut {
  /** Microseconds of the sending process for each event at each stream. */
  micros: number
  /** Milliseconds from the request that publishes an event to its arrival. */
  p50: number
  p99: number
}

/** Opens streams and publishes in a rhythm. Throws if a stream has received less than another. */
export async function fanOut(
  peer: Peer,
  listeners: Listeners,
  { streams, rhythm }: { streams: number; rhythm: Rhythm },
): Promise<FanOut> {
  await listeners.open(peer.port, peer.head, streams)
  await setTimeout(1000)
  // Not measured: first compilations and allocations.
  await publish(peer, { ...rhythm, times: Math.ceil(1000 / rhythm.everyMs) })
  await listeners.settled()
  await listeners.reset()
  const cpu = cpuMs(peer)
  const times = Math.ceil((SECONDS * 1000) / rhythm.everyMs)
  await publish(peer, { ...rhythm, times })
  const { least, most } = await listeners.settled()
  const micros = ((cpuMs(peer) - cpu) * 1000) / (times * rhythm.atOnce * streams)
  const delays = (await listeners.delays()).toSorted((a, b) => a - b)
  await listeners.close()
  await setTimeout(500)
  if (most - least > HEARTBEATS || least === 0) throw new Error(`${peer.name}: streams got ${least} to ${most} bytes`)
  const at = (share: number): number => delays[Math.floor(delays.length * share)] ?? NaN
  return { micros, p50: at(0.5), p99: at(0.99) }
}

async function publish(peer: Peer, { atOnce, everyMs, times }: Rhythm & { times: number }): Promise<void> {
  const begun = performance.now()
  const published: Promise<void>[] = []
  for (let n = 0; n < times; n++) {
    const wait = begun + n * everyMs - performance.now()
    if (wait > 0) await setTimeout(wait)
    published.push(peer.publish(atOnce))
  }
  await Promise.all(published)
}

/** Of each figure the median. */
export const medianOf = (all: readonly FanOut[]): FanOut => ({
  micros: median(all.map(({ micros }) => micros)),
  p50: median(all.map(({ p50 }) => p50)),
  p99: median(all.map(({ p99 }) => p99)),
})
