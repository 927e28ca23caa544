import { fanOut, type Rhythm } from './fan-out.ts'
import { fillDiscussions } from './fill.ts'
import { inTurns, printTurns } from './figures.ts'
import { startListeners } from './listening.ts'
import { compare, measure } from './measure.ts'
import { byExternal, BODY, pageRequests, postRequests, readersOf } from './requests.ts'
import { closing } from './scripts.ts'
import { startBenchService } from './service.ts'
import { isSmallest, sized } from './size.ts'
import { nchanPeer, oneEvent, type Peer, ssePeer, startStage } from './stream-peers.ts'
import { startWaline, WALINE, walinePages, walinePost } from './waline.ts'

const SIZES = isSmallest ? [20] : [2000, 5000]
/** 50 events a second each. */
const RHYTHMS: readonly Rhythm[] = [
  { name: 'one each 20 ms', atOnce: 1, everyMs: 20 },
  { name: '16 each 320 ms', atOnce: 16, everyMs: 320 },
]
const ROUNDS = 3
const NEVER_GROWS = { STREAM_MAX_PAUSE_MS: '5' }

const HOW = { connections: 16, seconds: 3 }
const SIZE = { discussions: sized(500, 10), comments: 40 }
/** More than are posted in a round. */
const POSTS = sized(20_000, 2000)
const READERS = sized(200, 10)

/** The service beside others that do a part of its work, turn by turn in one run. */
export async function benchPeers(): Promise<void> {
  await benchFanOut()
  await benchComments()
}

/**
 * Fan-out of 50 events a second, beside Nchan (Debian's `nginx` and `libnginx-mod-nchan`), and
 * beside this service with a pause between writes that never grows.
 */
const benchFanOut = (): Promise<void> =>
  closing(async (opened) => {
    const listeners = opened(await startListeners())
    const stage = opened(await startStage())
    const service = await ssePeer(stage)
    const steady = await ssePeer({ ...stage, service: await stage.beside(NEVER_GROWS) })
    const nchan = await nchanPeer(await oneEvent(service))
    const peers: Record<string, Peer> = { 'this service': service, 'a pause of 5 ms': steady }
    if (nchan !== null) peers.Nchan = opened(nchan)
    for (const streams of SIZES) {
      for (const rhythm of RHYTHMS) {
        const measured = (peer: Peer) => fanOut(peer, listeners, { streams, rhythm })
        const rounds = await inTurns(peers, measured, { rounds: ROUNDS, warm: 0 })
        printTurns(`peers: ${streams} streams, events ${rhythm.name}`, rounds)
      }
    }
  })

/**
 * Reads of pages and posts, beside Waline on the same PostgreSQL. Both have one process; posts here
 * are by signed readers, there by anonymous ones.
 */
const benchComments = (): Promise<void> =>
  closing(async (opened) => {
    const waline = await startWaline(SIZE)
    if (waline === null) return
    opened(waline)
    const service = opened(await startBenchService())
    const uncached = opened(await startBenchService({ PAGE_CACHE_MB: '0' }, service))
    const { discussionIds, externalIds } = await fillDiscussions(service, { ...SIZE, readers: READERS })
    const pages = pageRequests(discussionIds, { 'X-API-Key': service.apiKey })
    const readers = {
      'this service': { process: service, requests: pages },
      'this service, pages not kept': { process: uncached, requests: pages },
      Waline: { process: waline, requests: walinePages(SIZE.discussions) },
    }
    const read = await compare(readers, { ...HOW, rounds: ROUNDS })
    printTurns(`peers: a page of 20 of ${SIZE.comments} beside Waline ${WALINE}, ${HOW.connections} connections`, read)
    // Waline refuses a text that it has already.
    let written = 0
    const body = () => ({ body: `${BODY} (${written++})` })
    const paths = externalIds.map(byExternal)
    const writers = {
      'this service': async () => {
        const requests = await postRequests(service, { paths, count: POSTS, subs: readersOf(READERS), body })
        return measure({ process: service, requests }, HOW)
      },
      Waline: async () => {
        const requests = Array.from({ length: POSTS }, (_, n) => walinePost(n % SIZE.discussions, body().body))
        const before = await waline.count()
        const figures = await measure({ process: waline, requests }, HOW)
        const stored = (await waline.count()) - before
        if (stored !== figures.answered) throw new Error(`Waline: ${figures.answered} answers, ${stored} comments`)
        return figures
      },
    }
    const posted = await inTurns(writers, (write) => write(), { rounds: ROUNDS })
    printTurns(`peers: a post beside Waline ${WALINE}, ${HOW.connections} connections`, posted)
  })
