import { statement } from '../../src/core/database/statements.ts'
import { fillDiscussions, type Filled } from './fill.ts'
import { print, printTurns } from './figures.ts'
import { httpRequest } from './load.ts'
import { compare } from './measure.ts'
import { countRequests, pageRequests } from './requests.ts'
import { type BenchProcess, closing, startBareServer } from './scripts.ts'
import { ask, type BenchService, openDatabase, startBenchService } from './service.ts'
import { sized } from './size.ts'

const HOW = { connections: 16, seconds: 3, rounds: 3 }
const SIZE = { discussions: sized(500, 10), comments: 40, readers: sized(200, 10) }
const SHORT = sized(1000, 100)
const LONG = sized(1_000_000, 1000)
const POOL = { DATABASE_POOL_SIZE: String(HOW.connections) }

/**
 * The cost of reads, each beside its reference in the same run, alternating: pages (not cached,
 * cached, not modified, over GraphQL, at 1 000 and 1 000 000 comments), counts.
 */
export const benchApi = (): Promise<void> =>
  closing(async (opened) => {
    const service = opened(await startBenchService(POOL))
    const uncached = opened(await startBenchService({ ...POOL, PAGE_CACHE_MB: '0' }, service))
    const filled = await fillDiscussions(service, SIZE)
    const bare = opened(await startBareServer(service, { ...POOL, TENANT_ID: filled.tenantId }))
    await benchPages({ service, uncached, bare, filled })
    await benchCounts({ service, bare, filled })
    await benchSizes(uncached)
  })

interface World {
  service: BenchService
  uncached: BenchService
  bare: BenchProcess
  filled: Filled
}

async function benchPages({ service, uncached, bare, filled: { discussionIds } }: World): Promise<void> {
  const headers = { 'X-API-Key': service.apiKey }
  const pages = pageRequests(discussionIds, headers)
  const etags = await Promise.all(discussionIds.map(async (id) => (await pageOf(service, id)).get('etag') ?? ''))
  const known = discussionIds.flatMap((id, n) => pageRequests([id], { ...headers, 'If-None-Match': etags[n] ?? '' }))
  const sides = {
    bare: { process: bare, requests: pageRequests(discussionIds, {}, '') },
    'not cached': { process: uncached, requests: pages },
    cached: { process: service, requests: pages },
    'cached, gzip': {
      process: service,
      requests: pageRequests(discussionIds, { ...headers, 'Accept-Encoding': 'gzip' }),
    },
    'not modified (304)': { process: service, requests: known },
    GraphQL: { process: uncached, requests: discussionIds.map((id) => graphqlPage(id, service.apiKey)) },
  }
  printTurns(
    `api: a page of 20 of ${SIZE.comments} comments, ${SIZE.discussions} discussions`,
    await compare(sides, HOW),
    {
      'not cached': ['bare', 'rate at least 0.7'],
      cached: ['bare', 'rate at least 3'],
      'cached, gzip': ['cached', 'rate at least 0.95'],
      'not modified (304)': ['bare', 'rate at least 3'],
      GraphQL: ['not cached', 'rate at least 0.6'],
    },
  )
  const [plain = NaN, gzip = NaN] = await Promise.all(
    ['identity', 'gzip'].map(async (encoding) =>
      Number((await pageOf(service, discussionIds[0] ?? '', encoding)).get('content-length')),
    ),
  )
  print(`bytes, gzip: ${(gzip / plain).toFixed(2)} × plain (target: at most 0.3)`)
}

async function pageOf(service: BenchService, id: string, encoding = 'identity'): Promise<Headers> {
  const headers = { 'accept-encoding': encoding }
  const response = await ask(service, 'GET', `/discussions/${id}/comments`, undefined, headers)
  await response.arrayBuffer()
  return response.headers
}

/** The same fields as the REST route's, in a document of the caller's own. */
export function graphqlPage(id: string, apiKey: string): Buffer {
  const query = `query Page($id: ID!) { discussion(by: { id: $id }) { comments(first: 20) { edges { node { id discussionId parentId depth
    author { id externalId name avatarUrl profileUrl badges } body bodyHtml status pinnedAt editedAt deletedAt revision replyCount
    reactionCounts viewerReaction createdAt } } pageInfo { hasNextPage endCursor } } } }`
  const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json' }
  return httpRequest('POST', '/graphql', headers, JSON.stringify({ query, variables: { id } }))
}

async function benchCounts({ service, bare, filled: { externalIds } }: Omit<World, 'uncached'>): Promise<void> {
  const headers = { 'X-API-Key': service.apiKey }
  const sides = {
    bare: { process: bare, requests: countRequests(externalIds, headers, '') },
    REST: { process: service, requests: countRequests(externalIds, headers) },
  }
  printTurns('api: counts of 20 pages', await compare(sides, HOW))
}

/** The cost of a page in a short and in a very long discussion. */
async function benchSizes(service: BenchService): Promise<void> {
  const [short, long] = [`${SHORT} comments`, `${LONG} comments`]
  const few = await fillDiscussions(service, { ...SIZE, discussions: 1, comments: SHORT })
  const many = await fillDiscussions(service, { ...SIZE, discussions: 1, comments: LONG })
  await closing(async (opened) =>
    opened(await openDatabase(service)).db.query(statement('bench_analyze', 'VACUUM ANALYZE')),
  )
  for (const sort of ['newest', 'oldest', 'top'] as const) {
    const page = ({ discussionIds: [id] }: Filled) => ({
      process: service,
      requests: [
        httpRequest('GET', `/api/v1/discussions/${id}/comments?sort=${sort}`, { 'X-API-Key': service.apiKey }),
      ],
    })
    const rounds = await compare({ [short]: page(few), [long]: page(many) }, HOW)
    const title = `api: the first page, sort=${sort}, not cached, by the size of its discussion`
    printTurns(title, rounds, { [long]: [short, 'rate at least 0.83'] })
  }
}
