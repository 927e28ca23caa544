import { report } from './cpu.ts'
import { fanOut, medianOf, type FanOut } from './fan-out.ts'
import { fillDiscussions, type Filled } from './fill.ts'
import { type Listeners, startListeners } from './listening.ts'
import { httpRequest } from './load.ts'
import { type BenchService, median, startBenchService } from './service.ts'
import { COLLECTING, resident } from './stream.ts'
import { call, graphqlPeer, type Peer, startStage } from './stream-peers.ts'

const CONNECTIONS = 16
const DISCUSSIONS = 500
const STREAMS = 2000
/** `BENCH_ROUNDS=1` is a short run, which shows that it works. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 20)
const RHYTHM = { name: 'one each 50 ms', atOnce: 1, everyMs: 50 }

/** The fields of REST's page. */
const PAGE = `query Page($id: ID!) { discussion(by: { id: $id }) { comments(first: 20) { nodes { id discussionId parentId
  depth author { id externalId name avatarUrl profileUrl } body bodyHtml status pinnedAt editedAt deletedAt revision
  replyCount reactionCounts viewerReaction createdAt } pageInfo { hasNextPage endCursor } } } }`

/**
 * A page over GraphQL by its documentId beside REST's, kept and not; and subscriptions by client
 * tokens beside subscriptions by a key.
 */
export async function benchGraphql(): Promise<void> {
  await benchPages()
  await benchSubscriptions()
}

async function benchPages(): Promise<void> {
  const env = { DATABASE_POOL_SIZE: String(CONNECTIONS) }
  const open: BenchService[] = []
  try {
    const kept = await startBenchService(env)
    open.unshift(kept)
    const unkept = await startBenchService({ ...env, PAGE_CACHE_MB: '0' }, kept)
    open.unshift(unkept)
    const filled = await fillDiscussions(kept.databaseUrl, { discussions: DISCUSSIONS, comments: 40, readers: 200 })
    await call(kept, 'POST', '/documents', { manifest: { page: PAGE } })
    for (const [title, process] of [['not kept', unkept] as const, ['kept', kept] as const]) {
      const sides = Object.entries(requestsOf(kept, filled)).map(([name, requests]) => [name, { process, requests }])
      await report(`graphql: a page of 20, ${title}`, Object.fromEntries(sides), ROUNDS)
    }
  } finally {
    for (const service of open) await service.close()
  }
}

function requestsOf({ apiKey }: BenchService, { discussionIds }: Filled): Record<string, Buffer[]> {
  const headers = { 'X-API-Key': apiKey }
  const get = (path: string): Buffer => httpRequest('GET', path, headers)
  const addressOf = (id: string): string =>
    `/graphql?documentId=page&variables=${encodeURIComponent(JSON.stringify({ id }))}`
  return {
    REST: discussionIds.map((id) => get(`/api/v1/discussions/${id}/comments`)),
    GraphQL: discussionIds.map((id) => get(addressOf(id))),
  }
}

async function benchSubscriptions(): Promise<void> {
  const listeners = await startListeners()
  const stage = await startStage(COLLECTING)
  try {
    await call(stage.service, 'PATCH', '/settings', { clientToken: { perSecond: 10_000, burst: 100_000 } })
    const { token } = await call(stage.service, 'POST', '/client-tokens', { ttlSeconds: 3600 })
    const peers = [graphqlPeer(stage, 'by key'), graphqlPeer(stage, 'by token', { Authorization: `Bearer ${token}` })]
    await compareCpu(peers, listeners)
    await compareMemory(peers, listeners)
  } finally {
    await stage.close()
    await listeners.end()
  }
}

async function compareCpu(peers: readonly Peer[], listeners: Listeners): Promise<void> {
  const rounds = new Map(peers.map((peer): [Peer, FanOut[]] => [peer, []]))
  const count = Math.ceil(ROUNDS / 4)
  for (let round = 0; round < count; round++) {
    for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
      rounds.get(peer)?.push(await fanOut(peer, listeners, { streams: STREAMS, rhythm: RHYTHM }))
    }
  }
  console.log(`graphql: ${STREAMS} subscriptions, ${RHYTHM.name}, median of ${count} turns`)
  const [key = [], token = []] = [...rounds.values()]
  for (const [{ name }, all] of rounds) {
    const { micros, p50, p99 } = medianOf(all)
    console.log(
      `  ${name.padEnd(12)} ${micros.toFixed(2)} µs an event, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
    )
  }
  const ratio = median(token.map(({ micros }, round) => micros / (key[round]?.micros ?? NaN)))
  console.log(`  CPU by token ${ratio.toFixed(2)} × by key`)
}

/** Memory of idle subscriptions after a collection of garbage, in alternating order. */
async function compareMemory(peers: readonly Peer[], listeners: Listeners): Promise<void> {
  const held = new Map(peers.map((peer): [Peer, number[]] => [peer, []]))
  const count = Math.ceil(ROUNDS / 6)
  // One-time allocations are no cost of a subscription: the first round is not counted.
  for (let round = 0; round <= count; round++) {
    for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
      const before = await resident(peer)
      await listeners.open(peer.port, peer.head, STREAMS)
      const bytes = ((await resident(peer)) - before) / STREAMS
      if (round > 0) held.get(peer)?.push(bytes)
      await listeners.close()
    }
  }
  const [key = NaN, token = NaN] = [...held.values()].map((all) => median(all) / 1024)
  console.log(`graphql: ${STREAMS} idle subscriptions, median of ${count} turns`)
  console.log(`  by key ${key.toFixed(1)} KB, by token ${token.toFixed(1)} KB: ${(token / key).toFixed(2)} ×\n`)
}
