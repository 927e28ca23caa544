import { allEqual } from './fan-out.ts'
import { type Figures, inTurns, print, printTurns } from './figures.ts'
import { type Listeners, startListeners } from './listening.ts'
import { residentBytes } from './proc.ts'
import { closing } from './scripts.ts'
import { barePeer, graphqlPeer, oneEvent, type Peer, ssePeer, nchanPeer, startStage } from './stream-peers.ts'
import { isSmallest, pause, sized } from './size.ts'

const SIZES = isSmallest ? [20] : [2000, 5000]
/** Events of one round, one by one and sixteen at once. */
const SINGLES = sized(40, 2)
const BURSTS = sized(10, 1)
const BURST = 16
const IDLE = sized(8000, 200)
const WARM_IDLE = sized(1000, 1)

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
export const benchStream = (): Promise<void> =>
  closing(async (opened) => {
    const listeners = opened(await startListeners())
    const stage = opened(await startStage(COLLECTING))
    const SSE = await ssePeer(stage)
    const event = await oneEvent(SSE)
    const bare = opened(await barePeer(event, COLLECTING))
    const nchan = await nchanPeer(event)
    const gzip = await ssePeer(stage, { 'Accept-Encoding': 'gzip' })
    const peers: Record<string, Peer> = { 'bare Node': bare, SSE, 'SSE, gzip': gzip, GraphQL: graphqlPeer(stage) }
    if (nchan !== null) peers.Nchan = opened(nchan)
    print(`\nstream: events of ${event.length} bytes`)
    for (const size of SIZES) {
      const rounds = await inTurns(peers, (peer) => fanOut(peer, listeners, size), { rounds: 3, warm: 0 })
      printTurns(`stream: ${size} streams, events one by one and ${BURST} at once`, rounds, {
        SSE: ['bare Node', 'CPU at most 0.7'],
        'SSE, gzip': ['SSE', 'CPU at most 1.05, bytes at most 0.5 and 0.2'],
        GraphQL: ['SSE', 'CPU at most 3'],
        Nchan: ['SSE', 'CPU at least 1.25'],
      })
    }
    const idle = { 'bare Node': bare, SSE, 'SSE, gzip': gzip }
    const measure = async (peer: Peer): Promise<Figures> => {
      // One-time allocations are no cost of a stream.
      await listeners.open(peer.port, peer.head, WARM_IDLE)
      await listeners.drop()
      return idleMemory(peer, listeners, IDLE)
    }
    printTurns(`stream: ${IDLE} idle streams`, await inTurns(idle, measure, { rounds: 1, warm: 0 }), {
      SSE: ['bare Node', 'memory at most 1.2'],
    })
  })

/** CPU of each event at each stream, its bytes, and events at streams a second at most. */
async function fanOut(peer: Peer, listeners: Listeners, size: number): Promise<Figures> {
  await listeners.open(peer.port, peer.head, size)
  await pause(1000)
  // Not measured: first compilations and allocations.
  await publish(peer, listeners, { count: 5, atOnce: 1 })
  const single = await publish(peer, listeners, { count: SINGLES, atOnce: 1 })
  const burst = await publish(peer, listeners, { count: BURSTS, atOnce: BURST })
  const fast = await publish(peer, listeners, { count: BURSTS, atOnce: BURST, pauseMs: 0 })
  await listeners.drop()
  await pause(500)
  return {
    cpuMicros: single.micros / size,
    burstMicros: burst.micros / size,
    bytes: single.bytes,
    burstBytes: burst.bytes,
    perSecond: fast.perSecond * size,
  }
}

/**
 * Publishes `count` × `atOnce` events, with or without a pause for them to arrive. Per event: CPU,
 * bytes on a stream, and how many a second.
 */
async function publish(
  peer: Peer,
  listeners: Listeners,
  { count, atOnce, pauseMs = 60 + 20 * atOnce }: { count: number; atOnce: number; pauseMs?: number },
): Promise<{ micros: number; bytes: number; perSecond: number }> {
  await listeners.reset()
  const cpu = peer.cpuMs()
  const begun = performance.now()
  for (let n = 0; n < count; n++) {
    await peer.publish(atOnce)
    await pause(pauseMs)
  }
  const { least, at } = await allEqual(listeners)
  const events = count * atOnce
  const micros = ((peer.cpuMs() - cpu) * 1000) / events
  return { micros, bytes: least / events, perSecond: (events * 1000) / (at - begun) }
}

/** Memory of an idle stream, after a collection of garbage. */
export async function idleMemory(peer: Peer, listeners: Listeners, streams: number): Promise<{ kb: number }> {
  const before = await resident(peer)
  await listeners.open(peer.port, peer.head, streams)
  const bytes = (await resident(peer)) - before
  await listeners.drop()
  // The process may have had as much from before.
  return { kb: Math.max(bytes, 1) / 1024 / streams }
}

async function resident({ pid }: Peer): Promise<number> {
  for (let n = 0; n < 3; n++) {
    process.kill(pid, 'SIGUSR2')
    await pause(1000)
  }
  return residentBytes(pid)
}
