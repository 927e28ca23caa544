import { setTimeout } from 'node:timers/promises'

import { type Listeners, startListeners } from './listening.ts'
import { median, residentBytes } from './service.ts'
import { barePeer, cpuMs, graphqlPeer, nchanPeer, oneEvent, type Peer, ssePeer, startStage } from './stream-peers.ts'

const SIZES = [2000, 5000]
const ROUNDS = 3
/** Events of one round, one by one and sixteen at once. */
const SINGLES = 40
const BURSTS = 10
const BURST = 16
const IDLE = 8000
/** Streams may differ by these bytes of heartbeats. */
const HEARTBEATS = 64

/** Makes a process collect its garbage at SIGUSR2, so that only memory in use is measured. */
const COLLECTS = encodeURIComponent(
  "import v8 from 'node:v8';import vm from 'node:vm';v8.setFlagsFromString('--expose-gc');" +
    "const gc=vm.runInNewContext('gc');process.on('SIGUSR2',()=>gc())",
)
export const COLLECTING = { NODE_OPTIONS: `--import=data:text/javascript,${COLLECTS}` }

/**
 * The stream beside its references in the same run, turn by turn: bare Node (`bare-stream.ts`), and
 * Nchan where Debian's `nginx` and `libnginx-mod-nchan` are installed. Events are the same bytes
 * for all; CPU is that of the sending process.
 */
export async function benchStream(): Promise<void> {
  const listeners = await startListeners()
  const stage = await startStage(COLLECTING)
  const peers: Peer[] = []
  try {
    const sse = await ssePeer(stage)
    const event = await oneEvent(sse)
    console.log(`\nstream: events of ${event.length} bytes`)
    const bare = await barePeer(event, COLLECTING)
    const nchan = await nchanPeer(event)
    if (nchan === null) console.log('nginx with libnginx-mod-nchan is not installed: no comparison with Nchan')
    const gzip = await ssePeer(stage, true)
    peers.push(sse, gzip, graphqlPeer(stage), bare, ...(nchan === null ? [] : [nchan]))
    for (const size of SIZES) await benchFanOut(peers, listeners, size)
    await benchMemory([sse, bare, gzip], listeners)
  } finally {
    for (const peer of peers) await peer.close()
    await stage.close()
    await listeners.end()
  }
}

interface Figures {
  /** Microseconds of CPU for each event at each stream: events one by one, and sixteen at once. */
  single: number
  burst: number
  /** Bytes of each event on its stream, the framing of HTTP included. */
  singleBytes: number
  burstBytes: number
  /** Events at streams per second, as fast as they can be published sixteen at once. */
  perSecond: number
}

async function benchFanOut(peers: readonly Peer[], listeners: Listeners, size: number): Promise<void> {
  const rounds = new Map(peers.map((peer): [Peer, Figures[]] => [peer, []]))
  for (let n = 0; n < ROUNDS; n++) {
    // In alternating order, because later sides run on warmer processes.
    for (const peer of n % 2 === 0 ? peers : peers.toReversed()) {
      rounds.get(peer)?.push(await fanOut(peer, listeners, size))
    }
  }
  console.log(`\n${size} streams (medians of ${ROUNDS} rounds)\n`)
  console.log('|           | one by one | 16 at once | at most    | bytes      |')
  console.log('| --------- | ---------- | ---------- | ---------- | ---------- |')
  const figures = new Map([...rounds].map(([peer, all]) => [peer.name, medians(all)]))
  for (const [name, { single, burst, perSecond, singleBytes, burstBytes }] of figures) {
    const bytes = `${Math.round(singleBytes)}, ${Math.round(burstBytes)}`
    console.log(
      `| ${name} | ${single.toFixed(2)} µs | ${burst.toFixed(2)} µs | ${Math.round(perSecond)}/s | ${bytes} |`,
    )
  }
  const ratio = (a: string, b: string, what: keyof Figures): string =>
    ((figures.get(a)?.[what] ?? 0) / (figures.get(b)?.[what] ?? 0)).toFixed(2)
  const [sse, gzip, graphql, bare, nchan] = peers.map(({ name }) => name)
  if (sse === undefined || gzip === undefined || graphql === undefined || bare === undefined) return
  console.log(
    `\nCPU, SSE to bare Node: ${ratio(sse, bare, 'single')} one by one (target: 0.7), ${ratio(sse, bare, 'burst')} in bursts`,
  )
  if (nchan !== undefined) {
    console.log(
      `CPU, SSE to Nchan: ${ratio(sse, nchan, 'single')} one by one (target: 0.8), ${ratio(sse, nchan, 'burst')} in bursts`,
    )
  }
  console.log(
    `CPU, gzip to plain: ${ratio(gzip, sse, 'single')} one by one (target: 1.05), ${ratio(gzip, sse, 'burst')} in bursts`,
  )
  console.log(
    `bytes, gzip to plain: ${ratio(gzip, sse, 'singleBytes')} one by one (target: 0.5), ${ratio(gzip, sse, 'burstBytes')} in bursts (target: 0.2)`,
  )
  console.log(
    `CPU, GraphQL to SSE: ${ratio(graphql, sse, 'single')} one by one (target: 3), ${ratio(graphql, sse, 'burst')} in bursts`,
  )
}

const medians = (all: readonly Figures[]): Figures => ({
  single: median(all.map(({ single }) => single)),
  burst: median(all.map(({ burst }) => burst)),
  singleBytes: median(all.map(({ singleBytes }) => singleBytes)),
  burstBytes: median(all.map(({ burstBytes }) => burstBytes)),
  perSecond: median(all.map(({ perSecond }) => perSecond)),
})

async function fanOut(peer: Peer, listeners: Listeners, size: number): Promise<Figures> {
  await listeners.open(peer.port, peer.head, size)
  await setTimeout(1000)
  // Not measured: first compilations and allocations.
  await publish(peer, listeners, 5, 1)
  const single = await publish(peer, listeners, SINGLES, 1)
  const burst = await publish(peer, listeners, BURSTS, BURST)
  const fast = await publish(peer, listeners, BURSTS, BURST, 0)
  await listeners.close()
  await setTimeout(500)
  return {
    single: single.micros / size,
    burst: burst.micros / size,
    singleBytes: single.bytes,
    burstBytes: burst.bytes,
    perSecond: fast.perSecond * size,
  }
}

/**
 * Publishes `times` × `events`, each after the previous ones have arrived, or all at once. Per
 * event: CPU, bytes on a stream, and how many a second.
 */
async function publish(
  peer: Peer,
  listeners: Listeners,
  times: number,
  events: number,
  pauseMs = 60 + 20 * events,
): Promise<{ micros: number; bytes: number; perSecond: number }> {
  await listeners.reset()
  const cpu = cpuMs(peer)
  const begun = performance.now()
  for (let n = 0; n < times; n++) {
    await peer.publish(events)
    await setTimeout(pauseMs)
  }
  const { least, most, at } = await listeners.settled()
  // A heartbeat may have come in between.
  if (most - least > HEARTBEATS || least === 0) throw new Error(`${peer.name}: streams got ${least} to ${most} bytes`)
  const count = times * events
  return {
    micros: ((cpuMs(peer) - cpu) * 1000) / count,
    bytes: least / count,
    perSecond: (count * 1000) / (at - begun),
  }
}

/** Memory of idle streams, after a collection of garbage, beside bare Node. */
async function benchMemory(peers: readonly Peer[], listeners: Listeners): Promise<void> {
  console.log(`\nMemory of an idle stream, of ${IDLE}\n`)
  const held: number[] = []
  for (const peer of peers) {
    // One-time allocations are no cost of a stream.
    await listeners.open(peer.port, peer.head, 1000)
    await listeners.close()
    const before = await resident(peer)
    await listeners.open(peer.port, peer.head, IDLE)
    held.push(((await resident(peer)) - before) / IDLE)
    await listeners.close()
    console.log(`${peer.name}: ${((held.at(-1) ?? 0) / 1024).toFixed(1)} KB`)
  }
  console.log(`ratio to bare Node ${((held[0] ?? 0) / (held[1] ?? 1)).toFixed(2)} (target: 1.2)`)
}

export async function resident({ pid }: Peer): Promise<number> {
  for (let n = 0; n < 3; n++) {
    process.kill(pid, 'SIGUSR2')
    await setTimeout(1000)
  }
  return residentBytes(pid)
}
