import { fanOut } from './fan-out.ts'
import { fillDiscussions } from './fill.ts'
import { inTurns, printTurns } from './figures.ts'
import { load } from './load.ts'
import { type Listeners, startListeners } from './listening.ts'
import { pageRequests } from './requests.ts'
import { childrenOf, cpuMsOf } from './proc.ts'
import { closing } from './scripts.ts'
import { type BenchService, startBenchService } from './service.ts'
import { followed, type Peer, postsTo, ssePeer } from './stream-peers.ts'
import { sized } from './size.ts'

const CONNECTIONS = 32
const STREAMS = sized(4000, 20)
const RHYTHM = { name: 'one each 80 ms', atOnce: 1, everyMs: 80 }

/**
 * What `WORKERS=2` brings beside one process, turn by turn, without Redis: cached pages a second,
 * and the CPU of all processes for each event at each stream.
 */
export const benchProcesses = (): Promise<void> =>
  closing(async (opened) => {
    const listeners = opened(await startListeners())
    const one = withChildren(opened(await startBenchService({ WORKERS: '1' })))
    const two = withChildren(opened(await startBenchService({ WORKERS: '2' })))
    await benchReads(one, two)
    await benchStreams({ one, 'WORKERS=2': two }, listeners)
  })

/** With the CPU of the processes that it has started. */
const withChildren = (service: BenchService): BenchService => ({
  ...service,
  cpuMs: () => [service.pid, ...childrenOf(service.pid)].reduce((sum, pid) => sum + cpuMsOf(pid), 0),
})

/**
 * Beside two processes with ports of their own: what the machine gives, which shares its cores with
 * the load.
 */
const benchReads = (one: BenchService, two: BenchService): Promise<void> =>
  closing(async (opened) => {
    const beside = opened(await startBenchService({}, one))
    const size = { discussions: sized(50, 10), comments: 40, readers: sized(50, 10) }
    const pages = new Map<string, readonly Buffer[]>()
    for (const service of [one, two]) {
      const { discussionIds } = await fillDiscussions(service, size)
      pages.set(service.databaseUrl, pageRequests(discussionIds, { 'X-API-Key': service.apiKey }))
    }
    const read = async (services: readonly BenchService[]) => {
      const used = () => services.reduce((sum, service) => sum + service.cpuMs(), 0)
      const cpu = used()
      const connections = CONNECTIONS / services.length
      const results = await Promise.all(
        services.map(({ port, databaseUrl }) =>
          load({ port, connections, requests: pages.get(databaseUrl) ?? [], seconds: 2 }),
        ),
      )
      const total = (pick: (each: (typeof results)[number]) => number) => results.map(pick).reduce((a, b) => a + b)
      const cpuMicros = ((used() - cpu) * 1000) / total(({ answered }) => answered)
      return { perSecond: total(({ perSecond }) => perSecond), cpuMicros }
    }
    const sides = { one: [one], 'two with ports of their own': [one, beside], 'WORKERS=2': [two] }
    printTurns(`processes: cached pages of 20, ${CONNECTIONS} connections`, await inTurns(sides, read, { rounds: 5 }), {
      'WORKERS=2': ['one', 'rate at least 1.7'],
    })
  })

async function benchStreams(services: Record<string, BenchService>, listeners: Listeners): Promise<void> {
  const peers: Record<string, Peer> = {}
  for (const [name, service] of Object.entries(services)) {
    const discussionId = await followed(service)
    peers[name] = await ssePeer({ service, discussionId, post: await postsTo(service) })
  }
  const rounds = await inTurns(peers, (peer) => fanOut(peer, listeners, { streams: STREAMS, rhythm: RHYTHM }), {
    rounds: 5,
    warm: 0,
  })
  printTurns(`processes: events one by one at ${STREAMS} streams`, rounds, { 'WORKERS=2': ['one', 'CPU at most 1.05'] })
}
