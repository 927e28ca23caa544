import { statement } from '../../src/core/sql.ts'
import { openServer } from '../../src/data/server.ts'
import { fillDiscussions, type Filled } from './fill.ts'
import { httpRequest, load } from './load.ts'
import { type BenchProcess, type BenchService, median, startBareServer, startBenchService } from './service.ts'

const CONNECTIONS = 16
const SECONDS = 3
const ROUNDS = 3
const DISCUSSIONS = 500
const COMMENTS = 40
const READERS = 200
const BIG = 1_000_000
const POOL = { DATABASE_POOL_SIZE: String(CONNECTIONS) }

/** One variant of a request, and the process that it goes to. */
interface Side {
  process: BenchProcess
  requests: readonly Buffer[]
}

export interface Figures {
  perSecond: number
  cpuMicros: number
  p50: number
  p99: number
}

/**
 * The cost of reads, each beside its reference in the same run, alternating: pages (not cached,
 * cached, not modified, over GraphQL, at 1 000 and 1 000 000 comments), counts.
 */
export async function benchApi(): Promise<void> {
  const open: { close(): Promise<void> }[] = []
  const opened = <T extends { close(): Promise<void> }>(process: T): T => (open.unshift(process), process)
  try {
    const service = opened(await startBenchService(POOL))
    const uncached = opened(await startBenchService({ ...POOL, PAGE_CACHE_MB: '0' }, service))
    const size = { discussions: DISCUSSIONS, comments: COMMENTS, readers: READERS }
    const filled = await fillDiscussions(service.databaseUrl, size)
    const bare = opened(await startBareServer(service.databaseUrl, { ...POOL, TENANT_ID: filled.tenantId }))
    await benchPages({ service, uncached, bare, filled })
    await benchCounts({ service, bare, filled })
    await benchSizes(uncached)
  } finally {
    for (const process of open) await process.close()
  }
}

interface World {
  service: BenchService
  uncached: BenchService
  bare: BenchProcess
  filled: Filled
}

async function benchPages({ service, uncached, bare, filled }: World): Promise<void> {
  const headers = { 'X-API-Key': service.apiKey }
  const pages = filled.discussionIds.map((id) => httpRequest('GET', `/api/v1/discussions/${id}/comments`, headers))
  const etags = await Promise.all(filled.discussionIds.map((id) => etagOf(service, id)))
  const known = filled.discussionIds.map((id, n) =>
    httpRequest('GET', `/api/v1/discussions/${id}/comments`, { ...headers, 'If-None-Match': etags[n] ?? '' }),
  )
  const zipped = filled.discussionIds.map((id) =>
    httpRequest('GET', `/api/v1/discussions/${id}/comments`, { ...headers, 'Accept-Encoding': 'gzip' }),
  )
  const rows = filled.discussionIds.map((id) => httpRequest('GET', `/discussions/${id}/comments`, {}))
  const figures = await compare({
    bare: { process: bare, requests: rows },
    'not cached': { process: uncached, requests: pages },
    cached: { process: service, requests: pages },
    'cached, gzip': { process: service, requests: zipped },
    'not modified (304)': { process: service, requests: known },
    GraphQL: { process: uncached, requests: filled.discussionIds.map((id) => graphqlPage(id, service.apiKey)) },
  })
  print(`a page of 20 of ${COMMENTS} comments, ${DISCUSSIONS} discussions`, figures, {
    'not cached': ['bare', 0.7],
    cached: ['bare', 3],
    'cached, gzip': ['cached', 0.95],
    'not modified (304)': ['bare', 3],
    GraphQL: ['not cached', 0.6],
  })
  const [plainBytes, gzipBytes] = [
    await pageBytes(service, filled, 'identity'),
    await pageBytes(service, filled, 'gzip'),
  ]
  console.log(`  bytes, gzip            ${(gzipBytes / plainBytes).toFixed(2)} × plain (target: at most 0.3)\n`)
}

async function pageBytes({ port, apiKey }: BenchService, { discussionIds: [id] }: Filled, encoding: string) {
  const url = `http://127.0.0.1:${port}/api/v1/discussions/${id}/comments`
  const response = await fetch(url, { headers: { 'x-api-key': apiKey, 'accept-encoding': encoding } })
  await response.arrayBuffer()
  return Number(response.headers.get('content-length'))
}

/** The same fields as the REST route's, in a document of the caller's own. */
export function graphqlPage(id: string, apiKey: string): Buffer {
  const query = `query Page($id: ID!) { discussion(by: { id: $id }) { comments(first: 20) { edges { node { id discussionId parentId depth
    author { id externalId name avatarUrl profileUrl } body bodyHtml status pinnedAt editedAt deletedAt revision replyCount
    reactionCounts viewerReaction createdAt } } pageInfo { hasNextPage endCursor } } } }`
  const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json' }
  return httpRequest('POST', '/graphql', headers, JSON.stringify({ query, variables: { id } }))
}

async function etagOf({ port, apiKey }: BenchService, id: string): Promise<string> {
  const url = `http://127.0.0.1:${port}/api/v1/discussions/${id}/comments`
  const response = await fetch(url, { headers: { 'x-api-key': apiKey } })
  await response.arrayBuffer()
  return response.headers.get('etag') ?? ''
}

async function benchCounts({ service, bare, filled }: Omit<World, 'uncached'>): Promise<void> {
  const headers = { 'X-API-Key': service.apiKey, 'Content-Type': 'application/json' }
  const bodies = Array.from({ length: 100 }, (_, n) =>
    JSON.stringify({
      externalIds: Array.from({ length: 20 }, (_each, k) => filled.externalIds[(n * 37 + k * 11) % DISCUSSIONS]),
    }),
  )
  const figures = await compare({
    bare: { process: bare, requests: bodies.map((body) => httpRequest('POST', '/discussions/counts', headers, body)) },
    REST: {
      process: service,
      requests: bodies.map((body) => httpRequest('POST', '/api/v1/discussions/counts', headers, body)),
    },
  })
  print('counts of 20 pages', figures, { REST: ['bare', null] })
}

/** The cost of a page in a short and in a very long discussion. */
async function benchSizes(service: BenchService): Promise<void> {
  const small = await fillDiscussions(service.databaseUrl, { discussions: 1, comments: 1000, readers: READERS })
  const big = await fillDiscussions(service.databaseUrl, { discussions: 1, comments: BIG, readers: READERS })
  const { db, close } = await openServer({ url: service.databaseUrl, size: 1, onError: () => undefined })
  await db.query(statement('bench_analyze', 'VACUUM ANALYZE'))
  await close()
  const headers = { 'X-API-Key': service.apiKey }
  for (const sort of ['newest', 'oldest', 'top'] as const) {
    const page = ({ discussionIds: [id] }: Filled): Side => ({
      process: service,
      requests: [httpRequest('GET', `/api/v1/discussions/${id}/comments?sort=${sort}`, headers)],
    })
    const figures = await compare({ '1 000 comments': page(small), '1 000 000 comments': page(big) })
    const [few, many] = [figures['1 000 comments'], figures['1 000 000 comments']]
    print(`the first page, sort=${sort}, not cached, by the size of its discussion`, figures, {})
    const cost = (few?.perSecond ?? 0) / (many?.perSecond ?? 1)
    console.log(`  cost of the long one    ${cost.toFixed(2)} × the short one (target: at most 1.2)\n`)
  }
}

/**
 * Measures all sides turn by turn, in alternating order, after a round that warms up; the middle of
 * the rounds.
 */
export async function compare(
  sides: Readonly<Record<string, Side>>,
  { roundCount = ROUNDS, seconds = SECONDS } = {},
): Promise<Record<string, Figures>> {
  const rounds: Record<string, Figures[]> = {}
  for (let round = 0; round <= roundCount; round++) {
    const all = Object.entries(sides)
    for (const [name, side] of round % 2 === 0 ? all : all.toReversed()) {
      const figures = await measure(side, seconds)
      if (round > 0) (rounds[name] ??= []).push(figures)
    }
  }
  return Object.fromEntries(Object.entries(rounds).map(([name, all]) => [name, middle(all)]))
}

export async function measure({ process, requests }: Side, seconds = SECONDS): Promise<Figures> {
  const before = process.cpuMs()
  const result = await load({ port: process.port, connections: CONNECTIONS, seconds, requests })
  const wrong = Object.keys(result.statuses).filter((status) => !['200', '201', '304'].includes(status))
  if (wrong.length > 0) throw new Error(`not all were answered: ${JSON.stringify(result.statuses)}`)
  const answered = Object.values(result.statuses).reduce((sum, n) => sum + n, 0)
  return { ...result, cpuMicros: ((process.cpuMs() - before) * 1000) / answered }
}

export function middle(rounds: readonly Figures[]): Figures {
  const of = (pick: (each: Figures) => number): number => median(rounds.map(pick))
  return {
    perSecond: of(({ perSecond }) => perSecond),
    cpuMicros: of(({ cpuMicros }) => cpuMicros),
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
  }
}

/** Prints one line a side; `ratios` names the side that each is compared with, and the target. */
export function print(
  title: string,
  figures: Record<string, Figures>,
  ratios: Readonly<Record<string, readonly [string, number | null]>>,
): void {
  console.log(`${title}; ${CONNECTIONS} connections, medians`)
  for (const [name, { perSecond, cpuMicros, p50, p99 }] of Object.entries(figures)) {
    const [reference, target] = ratios[name] ?? []
    const ratio = reference === undefined ? '' : (perSecond / (figures[reference]?.perSecond ?? NaN)).toFixed(2)
    const wanted = target == null ? '' : ` (target: at least ${target})`
    const times = Number.isNaN(p50)
      ? ''
      : `, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${cpuMicros.toFixed(0)} µs CPU`
    console.log(
      `  ${name.padEnd(22)}  ${perSecond.toFixed(0)}/s${times}${ratio === '' ? '' : `; ${ratio} × ${reference}${wanted}`}`,
    )
  }
  console.log()
}
