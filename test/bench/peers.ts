import { signIdentity } from '../harness/identity.ts'
import { fanOut, type FanOut, medianOf, type Rhythm, RHYTHMS } from './fan-out.ts'
import { fillDiscussions } from './fill.ts'
import { startListeners } from './listening.ts'
import { httpRequest, load, type LoadResult } from './load.ts'
import { type BenchProcess, type BenchService, median, startBenchService } from './service.ts'
import { nchanPeer, oneEvent, type Peer, ssePeer, startStage } from './stream-peers.ts'
import { startWaline, WALINE, walinePages, walinePost } from './waline.ts'

const SIZES = [2000, 5000]
const ROUNDS = 3
const NEVER_GROWS = { STREAM_MAX_PAUSE_MS: '5' }

const CONNECTIONS = 16
const SECONDS = 3
const DISCUSSIONS = 500
const COMMENTS = 40
/** More than are posted in a round. */
const POSTS = 20_000
const READERS = 200

/** The service beside others that do a part of its work, turn by turn in one run. */
export async function benchPeers(): Promise<void> {
  await benchFanOut()
  await benchComments()
}

/**
 * Fan-out of 50 events a second, beside Nchan (Debian's `nginx` and `libnginx-mod-nchan`), and
 * beside this service with a pause between writes that never grows.
 */
async function benchFanOut(): Promise<void> {
  const listeners = await startListeners()
  const stage = await startStage()
  const service = { ...(await ssePeer(stage)), name: 'this service' }
  const steady = { ...(await ssePeer({ ...stage, service: await stage.beside(NEVER_GROWS) })), name: 'a pause of 5 ms' }
  const nchan = await nchanPeer(await oneEvent(service))
  if (nchan === null) console.log('nginx with libnginx-mod-nchan is not installed: no comparison with Nchan')
  const peers: Peer[] = [service, steady, ...(nchan === null ? [] : [nchan])]
  try {
    console.log(`\nFan-out: CPU of the sending process for an event at a stream, and an event's way from its request`)
    console.log(`to its stream (medians of ${ROUNDS} rounds)\n`)
    console.log('| streams | events | of | CPU | p50 | p99 |\n| --- | --- | --- | --- | --- | --- |')
    for (const streams of SIZES) {
      for (const rhythm of RHYTHMS) {
        const rounds = await inTurns(peers, (peer) => fanOut(peer, listeners, { streams, rhythm }))
        reportFanOut(streams, rhythm, rounds)
      }
    }
  } finally {
    await nchan?.close()
    await stage.close()
    await listeners.end()
  }
}

/**
 * Measures each side once a round, in alternating order, because later sides run on warmer
 * processes.
 */
async function inTurns<S, F>(sides: readonly S[], measure: (side: S) => Promise<F>): Promise<Map<S, F[]>> {
  const rounds = new Map(sides.map((side): [S, F[]] => [side, []]))
  for (let n = 0; n < ROUNDS; n++) {
    for (const side of n % 2 === 0 ? sides : sides.toReversed()) rounds.get(side)?.push(await measure(side))
  }
  return rounds
}

function reportFanOut(streams: number, rhythm: Rhythm, rounds: ReadonlyMap<Peer, readonly FanOut[]>): void {
  for (const [{ name }, all] of rounds) {
    const { micros, p50, p99 } = medianOf(all)
    const figures = [`${micros.toFixed(2)} µs`, `${p50.toFixed(0)} ms`, `${p99.toFixed(0)} ms`]
    console.log(`| ${[streams, rhythm.name, name, ...figures].join(' | ')} |`)
  }
}

/** What is asked of one side, and how it is known that all of it was done. */
interface Side {
  name: string
  process: BenchProcess
  requests(): Buffer[]
  /** Throws where not all `answered` were what they should be. */
  check?(answered: number): Promise<void>
}

/**
 * Reads of pages and posts, beside Waline on the same PostgreSQL. Both have one process; posts here
 * are by signed readers, there by anonymous ones.
 */
async function benchComments(): Promise<void> {
  const size = { discussions: DISCUSSIONS, comments: COMMENTS }
  const waline = await startWaline(size)
  if (waline === null) return console.log('Waline could not be installed from npm: no comparison with Waline')
  const service = await startBenchService()
  const uncached = await startBenchService({ PAGE_CACHE_MB: '0' }, service)
  try {
    const { discussionIds, externalIds } = await fillDiscussions(service.databaseUrl, { ...size, readers: READERS })
    const headers = { 'X-API-Key': service.apiKey }
    const pages = discussionIds.map((id) => httpRequest('GET', `/api/v1/discussions/${id}/comments`, headers))
    console.log(`\nComments beside Waline ${WALINE}: ${CONNECTIONS} connections (medians of ${ROUNDS} rounds)\n`)
    console.log('| what | of | rate | CPU | p50 | p99 |\n| --- | --- | --- | --- | --- | --- |')
    await benchRequests(`a page of 20 of ${COMMENTS}`, [
      { name: 'this service', process: service, requests: () => pages },
      { name: 'this service, pages not kept', process: uncached, requests: () => pages },
      { name: 'Waline', process: waline, requests: () => walinePages(DISCUSSIONS) },
    ])
    const tokens = await tokensOf(service)
    let before = await waline.count()
    let posted = 0
    const text = (): string => `I have read this twice now, and I still think that point ${posted++} is missed.`
    await benchRequests('a post', [
      { name: 'this service', process: service, requests: () => posts(service, { externalIds, tokens, text }) },
      {
        name: 'Waline',
        process: waline,
        requests: () => Array.from({ length: POSTS }, (_, n) => walinePost(n % DISCUSSIONS, text())),
        check: async (answered) => {
          const now = await waline.count()
          if (now - before !== answered) throw new Error(`Waline: ${answered} answers, ${now - before} comments`)
          before = now
        },
      },
    ])
  } finally {
    await uncached.close()
    await service.close()
    await waline.close()
  }
}

const tokensOf = ({ signer }: BenchService): Promise<string[]> =>
  Promise.all(
    Array.from({ length: READERS }, (_, n) => signIdentity(signer, { sub: `reader-${n}`, name: `Reader ${n}` })),
  )

interface Posts {
  externalIds: readonly string[]
  tokens: readonly string[]
  text(): string
}

function posts({ apiKey }: BenchService, { externalIds, tokens, text }: Posts): Buffer[] {
  return Array.from({ length: POSTS }, (_, n) => {
    const path = `/api/v1/discussions/by-external/${externalIds[n % externalIds.length]}/comments`
    const identity = { 'X-Service-Identity': tokens[n % tokens.length] ?? '' }
    const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json', ...identity }
    return httpRequest('POST', path, headers, JSON.stringify({ body: text() }))
  })
}

async function benchRequests(what: string, sides: readonly Side[]): Promise<void> {
  // Unmeasured: what is compiled and kept at first.
  for (const side of sides) await ask(side)
  const rounds = await inTurns(sides, ask)
  for (const [{ name }, all] of rounds) {
    const of = (pick: (one: LoadResult & { micros: number }) => number): number => median(all.map(pick))
    const times = [of(({ p50 }) => p50), of(({ p99 }) => p99)].map((ms) => `${ms.toFixed(1)} ms`)
    const rate = `${of(({ perSecond }) => perSecond).toFixed(0)}/s`
    console.log(`| ${[what, name, rate, `${of(({ micros }) => micros).toFixed(0)} µs`, ...times].join(' | ')} |`)
  }
}

async function ask({ name, process, requests, check }: Side): Promise<LoadResult & { micros: number }> {
  const all = requests()
  const cpu = process.cpuMs()
  const result = await load({ port: process.port, connections: CONNECTIONS, seconds: SECONDS, requests: all })
  const micros = (process.cpuMs() - cpu) * 1000
  const wrong = Object.keys(result.statuses).filter((status) => !['200', '201'].includes(status))
  if (wrong.length > 0) throw new Error(`${name}: not all were answered: ${JSON.stringify(result.statuses)}`)
  const answered = Object.values(result.statuses).reduce((sum, n) => sum + n, 0)
  await check?.(answered)
  return { ...result, micros: micros / answered }
}
