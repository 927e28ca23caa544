import pg from 'pg'

import { withDatabase } from '../../src/app.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { readSettings } from '../../src/core/settings/settings.ts'
import { createTenant } from '../../src/domains/bootstrap/bootstrap.ts'
import { signIdentity } from '../harness/identity.ts'
import { type Figures, inTurns, median, figure, print, printTurns, run } from './figures.ts'
import { httpRequest, load, type LoadResult } from './load.ts'
import { byExternal, type Caller, postRequests } from './requests.ts'
import { closing } from './scripts.ts'
import { type BenchService, call, openDatabase, startBenchService } from './service.ts'
import { sized } from './size.ts'

const SECONDS = 5
const NEIGHBOUR_CONNECTIONS = 4
const LOCKED_CONNECTIONS = 200
const HEAVY_CONNECTIONS = 64
const HEAVY_ENDPOINTS = sized(1000, 20)
/** Articles, by their external ids. */
const PAGES = Array.from({ length: 50 }, (_, n) => `page-${n}`)

/** A tenant's latency beside another tenant, and alone, alternating. */
export async function benchNeighbours(): Promise<void> {
  await benchLocked()
  await benchHeavy()
}

/** 200 writes of the other tenant wait for a locked row. */
const benchLocked = (): Promise<void> =>
  withNeighbour(async ({ service, outside, alone }) => {
    const { discussionId, requests } = await lockedRequests(service)
    const beside = async (): Promise<LoadResult> => {
      await outside.query('BEGIN')
      await outside.query('SELECT 1 FROM discussions WHERE id = $1 FOR UPDATE', [discussionId])
      const locked = { connections: LOCKED_CONNECTIONS, seconds: SECONDS, requests, mayFail: true }
      const waiting = load({ port: service.port, ...locked })
      const result = await alone()
      await outside.query('ROLLBACK')
      await waiting
      return result
    }
    report(`${LOCKED_CONNECTIONS} connections of another one wait for a locked row`, 1.2, await turns(alone, beside))
  })

/** Each comment of the other tenant makes a delivery for each of its 1 000 endpoints. */
const benchHeavy = (): Promise<void> =>
  withNeighbour(async ({ service, outside, alone }) => {
    await outside.query(
      `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state)
       SELECT t.id, gen_random_uuid(), 'https://hooks.example/' || n, '{*}', 'verified'
       FROM tenants t CROSS JOIN generate_series(1, $2::int) n WHERE t.slug = $1`,
      [service.signer.tenant, HEAVY_ENDPOINTS],
    )
    const requests = await postsOf(service, 1000)
    const heavy: LoadResult[] = []
    const beside = async (): Promise<LoadResult> => {
      const posting = load({ port: service.port, connections: HEAVY_CONNECTIONS, seconds: SECONDS, requests })
      const result = await alone()
      heavy.push(await posting)
      // No worker sends them, and the next round must not find those of this one.
      await outside.query('TRUNCATE deliveries CASCADE')
      return result
    }
    const rounds = await turns(alone, beside)
    report(`${HEAVY_CONNECTIONS} connections of another one post to ${HEAVY_ENDPOINTS} endpoints`, 2, rounds)
    const of = (pick: (each: LoadResult) => number): string => figure(median(heavy.map(pick)))
    print(`the other: ${of(({ perSecond }) => perSecond)} comments/s, p50 ${of(({ p50 }) => p50)} ms`)
  })

interface World {
  service: BenchService
  outside: pg.Client
  /** Requests of the neighbour. */
  alone(): Promise<LoadResult>
}

const withNeighbour = (work: (world: World) => Promise<void>): Promise<void> =>
  closing(async (opened) => {
    const service = opened(await startBenchService({ DATABASE_POOL_SIZE: '16' }))
    const outside = new pg.Client({ connectionString: service.databaseUrl })
    await outside.connect()
    opened({ close: () => outside.end() })
    const requests = await neighbourRequests({ ...(await addTenant(service, 'neighbour')), port: service.port })
    const all = { connections: NEIGHBOUR_CONNECTIONS, seconds: SECONDS, requests }
    await work({ service, outside, alone: () => load({ port: service.port, ...all }) })
  })

const turns = (alone: () => Promise<Figures>, beside: () => Promise<Figures>) =>
  inTurns({ alone, beside }, run, { rounds: 5 })

const report = (what: string, target: number, rounds: Awaited<ReturnType<typeof turns>>): void =>
  printTurns(`neighbours: ${NEIGHBOUR_CONNECTIONS} connections of a tenant, ${what}`, rounds, {
    beside: ['alone', `p99 at most ${target}`],
  })

/** One more tenant, without limits. */
export async function addTenant({ databaseUrl, keys }: BenchService, slug: string): Promise<Caller> {
  const settings = readSettings({ DATABASE_URL: databaseUrl, ...keys }, () => {
    throw new Error('the secrets are given')
  })
  const database = await openDatabase({ databaseUrl }, 2)
  const { app, close } = withDatabase(settings, createLog('silent'), database)
  const { apiKey, identitySecret } = await createTenant(app, { slug })
  const text = `UPDATE tenants SET settings = '{"rateLimit":{"perSecond":100000,"burst":1000000}}' WHERE slug = $1`
  await database.db.query({ name: 'bench_limits', text, locks: true }, [slug])
  await close()
  return { apiKey, signer: { tenant: slug, secret: identitySecret.secret } }
}

/** One reader's posts on 50 pages. */
export const postsOf = (caller: Caller, count: number): Promise<Buffer[]> =>
  postRequests(caller, {
    paths: PAGES.map(byExternal),
    count,
    subs: ['reader'],
  })

/** Writes and reads on 50 pages, which are there from the first request. */
async function neighbourRequests(caller: Caller & { port: number }): Promise<Buffer[]> {
  const headers = await headersOf(caller)
  await Promise.all(PAGES.map((externalId) => call(caller, 'POST', '/discussions', { externalId })))
  const posts = await postsOf(caller, 1000)
  return posts.flatMap((post, n) => [
    post,
    httpRequest('GET', `${byExternal(PAGES[n % PAGES.length] ?? '')}?limit=5`, headers),
  ])
}

const headersOf = async ({ apiKey, signer }: Caller): Promise<Record<string, string>> => ({
  'X-API-Key': apiKey,
  'X-Service-Identity': await signIdentity(signer, { sub: 'reader', name: 'Reader' }),
})

/** Writes of every kind in one discussion. */
async function lockedRequests(service: BenchService): Promise<{ discussionId: string; requests: Buffer[] }> {
  const { 'X-API-Key': key = '', ...identity } = await headersOf(service)
  const headers = { 'X-API-Key': key, ...identity, 'Content-Type': 'application/json' }
  const path = '/discussions/by-external/locked/comments'
  const comments = await Promise.all(
    Array.from({ length: 20 }, (_, n) => call(service, 'POST', path, { body: `Comment ${n}` }, identity)),
  )
  const post = (to: string, body: object, more = {}): Buffer =>
    httpRequest('POST', `/api/v1${to}`, { ...headers, ...more }, JSON.stringify(body))
  const requests = comments.flatMap(({ id }, n) => [
    post(path, { body: `A comment that waits (${n})` }),
    post(`/comments/${id}/reactions`, { type: 'like' }),
    post(`/comments/${id}/reactions`, { type: 'like' }, { 'Idempotency-Key': `like-${id}` }),
    httpRequest('PATCH', `/api/v1/comments/${id}`, headers, JSON.stringify({ body: `Edited ${n}` })),
    post(`/comments/${id}/reject`, {}),
    post(`/comments/${id}/report`, { reason: 'spam' }),
  ])
  return { discussionId: comments[0]?.discussionId ?? '', requests }
}
