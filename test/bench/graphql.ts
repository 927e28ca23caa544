import { report } from './cpu.ts'
import { fanOut } from './fan-out.ts'
import { fillDiscussions } from './fill.ts'
import { inTurns, printTurns } from './figures.ts'
import { startListeners } from './listening.ts'
import { pageRequests } from './requests.ts'
import { httpRequest } from './load.ts'
import { closing } from './scripts.ts'
import { call, startBenchService } from './service.ts'
import { COLLECTING, idleMemory } from './stream.ts'
import { graphqlPeer, type Peer, startStage } from './stream-peers.ts'
import { sized } from './size.ts'

const STREAMS = sized(2000, 20)
const RHYTHM = { name: 'one each 50 ms', atOnce: 1, everyMs: 50 }
/** The event itself costs more than its sending. */
const FEW = 5

/** The fields of REST's page. */
const PAGE = `query Page($id: ID!) { discussion(by: { id: $id }) { comments(first: 20) { nodes { id discussionId parentId
  depth author { id externalId name avatarUrl profileUrl badges } body bodyHtml status pinnedAt editedAt deletedAt revision
  replyCount reactionCounts viewerReaction createdAt } pageInfo { hasNextPage endCursor } } } }`

/**
 * A page over GraphQL by its documentId beside REST's, kept and not; and subscriptions by client
 * tokens beside subscriptions by a key. CPU_BESIDE names the `main.js` of another build whose
 * subscriptions are measured in turn.
 */
export async function benchGraphql(): Promise<void> {
  await benchPages()
  await benchSubscriptions()
}

const benchPages = (): Promise<void> =>
  closing(async (opened) => {
    const env = { DATABASE_POOL_SIZE: '16' }
    const kept = opened(await startBenchService(env))
    const unkept = opened(await startBenchService({ ...env, PAGE_CACHE_MB: '0' }, kept))
    const size = { discussions: sized(500, 10), comments: 40, readers: sized(200, 10) }
    const { discussionIds } = await fillDiscussions(kept, size)
    await call(kept, 'POST', '/documents', { manifest: { page: PAGE } })
    const headers = { 'X-API-Key': kept.apiKey }
    const [rest, graphql] = [pageRequests(discussionIds, headers), discussionIds.map((id) => byDocument(id, headers))]
    for (const [title, process] of Object.entries({ 'not kept': unkept, kept })) {
      const sides = { REST: { process, requests: rest }, GraphQL: { process, requests: graphql } }
      await report(`graphql: a page of 20, ${title}`, sides)
    }
  })

const byDocument = (id: string, headers: Record<string, string>): Buffer =>
  httpRequest('GET', `/graphql?documentId=page&variables=${encodeURIComponent(JSON.stringify({ id }))}`, headers)

const benchSubscriptions = (): Promise<void> =>
  closing(async (opened) => {
    const listeners = opened(await startListeners())
    const stage = opened(await startStage(COLLECTING))
    await call(stage.service, 'PATCH', '/settings', { clientToken: { perSecond: 10_000, burst: 100_000 } })
    const { token } = await call(stage.service, 'POST', '/client-tokens', { ttlSeconds: 3600 })
    // Without capabilities, as the token: the same comments are read and sent.
    const { key } = await call(stage.service, 'POST', '/keys', { label: 'subscriber', capabilities: [] })
    const peers = {
      'by key': graphqlPeer(stage, { 'X-API-Key': key }),
      'by token': graphqlPeer(stage, { Authorization: `Bearer ${token}` }),
    }
    const measured: Record<string, Peer> = { ...peers }
    const { CPU_BESIDE: other } = process.env
    if (other !== undefined) {
      const service = await stage.beside({}, other)
      measured['the other, by key'] = graphqlPeer({ ...stage, service }, { 'X-API-Key': key })
    }
    for (const streams of [STREAMS, FEW]) {
      const sent = await inTurns(measured, (peer) => fanOut(peer, listeners, { streams, rhythm: RHYTHM }), {
        rounds: 5,
        warm: streams === FEW ? 1 : 0,
      })
      printTurns(`graphql: ${streams} subscriptions, an event ${RHYTHM.name}`, sent)
    }
    // One-time allocations are no cost of a subscription: the first round is not counted.
    const held = await inTurns(peers, (peer) => idleMemory(peer, listeners, STREAMS), { rounds: 4 })
    printTurns(`graphql: ${STREAMS} idle subscriptions`, held)
  })
