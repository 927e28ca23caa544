import { setTimeout } from 'node:timers/promises'

import { times } from './figures.ts'
import type { Listeners } from './listening.ts'
import type { Peer } from './stream-peers.ts'
import { pause, sized } from './size.ts'

/** How a round publishes: so many events at once, each so often. */
export interface Rhythm {
  name: string
  atOnce: number
  everyMs: number
}

const SPAN_MS = sized(3000, 100)
/** Of what is not measured: first compilations and allocations. */
const WARM_MS = sized(1000, 1)
/** Streams may differ by these bytes of heartbeats. */
const HEARTBEATS = 64

interface FanOut {
  /** Of the sending process, for each event at each stream. */
  cpuMicros: number
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
  await pause(1000)
  await publish(peer, rhythm, WARM_MS)
  await listeners.settled()
  await listeners.reset()
  const cpu = peer.cpuMs()
  const events = await publish(peer, rhythm, SPAN_MS)
  await allEqual(listeners)
  const cpuMicros = ((peer.cpuMs() - cpu) * 1000) / (events * streams)
  const delays = await listeners.delays()
  await listeners.drop()
  await pause(500)
  return { cpuMicros, ...times(delays) }
}

/** Waits for the last event. Throws if a stream has received less than another. */
export async function allEqual(listeners: Listeners): Promise<{ least: number; at: number }> {
  const { least, most, at } = await listeners.settled()
  if (most - least > HEARTBEATS || least === 0) throw new Error(`streams got ${least} to ${most} bytes`)
  return { least, at }
}

/** Publishes for so long. Gives the number of events. */
async function publish(peer: Peer, { atOnce, everyMs }: Rhythm, spanMs: number): Promise<number> {
  const count = Math.ceil(spanMs / everyMs)
  const begun = performance.now()
  const published: Promise<void>[] = []
  for (let n = 0; n < count; n++) {
    const wait = begun + n * everyMs - performance.now()
    if (wait > 0) await setTimeout(wait)
    published.push(peer.publish(atOnce))
  }
  await Promise.all(published)
  return count * atOnce
}
