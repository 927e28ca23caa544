import pg from 'pg'

import { withDatabase } from '../../src/app.ts'
import { createLog } from '../../src/core/log.ts'
import { readSettings } from '../../src/core/settings.ts'
import { openServer } from '../../src/data/server.ts'
import { createTenant } from '../../src/domains/tenants/bootstrap.ts'
import { type Signer, signIdentity } from '../harness/identity.ts'
import { httpRequest, load, type LoadResult } from './load.ts'
import { type BenchService, median, startBenchService } from './service.ts'

const POOL = 16
const SECONDS = 5
const ROUNDS = 5
const NEIGHBOUR_CONNECTIONS = 4
const LOCKED_CONNECTIONS = 200
const HEAVY_CONNECTIONS = 64
const HEAVY_ENDPOINTS = 1000
const TARGET = { locked: 1.2, heavy: 2 }

/** The credentials for a tenant. */
interface Caller {
  apiKey: string
  signer: Signer
}

/** A tenant's latency beside another tenant, and alone, alternating. */
export async function benchNeighbours(): Promise<void> {
  await benchLocked()
  await benchHeavy()
}

interface Round {
  alone: LoadResult
  beside: LoadResult
}

/** 200 writes of the other tenant wait for a locked row. */
async function benchLocked(): Promise<void> {
  const service = await startBenchService({ DATABASE_POOL_SIZE: String(POOL) })
  const outside = new pg.Client({ connectionString: service.databaseUrl })
  await outside.connect()
  try {
    const neighbour = await neighbourRequests(await addTenant(service, 'neighbour'))
    const { discussionId, requests } = await lockedRequests(service)
    const run = (): Promise<LoadResult> =>
      load({ port: service.port, connections: NEIGHBOUR_CONNECTIONS, seconds: SECONDS, requests: neighbour })
    const beside = async (): Promise<LoadResult> => {
      await outside.query('BEGIN')
      await outside.query('SELECT 1 FROM discussions WHERE id = $1 FOR UPDATE', [discussionId])
      const waiting = load({ port: service.port, connections: LOCKED_CONNECTIONS, seconds: SECONDS, requests })
      const result = await run()
      await outside.query('ROLLBACK')
      await waiting
      return result
    }
    await run()
    const rounds: Round[] = []
    for (let n = 0; n < ROUNDS; n++) rounds.push({ alone: await run(), beside: await beside() })
    report(`${LOCKED_CONNECTIONS} connections of another one wait for a locked row`, rounds, TARGET.locked)
  } finally {
    await outside.end()
    await service.close()
  }
}

/** Each comment of the other tenant makes a delivery for each of its 1 000 endpoints. */
async function benchHeavy(): Promise<void> {
  const service = await startBenchService({ DATABASE_POOL_SIZE: String(POOL) })
  const outside = new pg.Client({ connectionString: service.databaseUrl })
  await outside.connect()
  try {
    const neighbour = await neighbourRequests(await addTenant(service, 'neighbour'))
    await outside.query(
      `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state)
       SELECT t.id, gen_random_uuid(), 'https://hooks.example/' || n, '{*}', 'verified'
       FROM tenants t CROSS JOIN generate_series(1, $2::int) n WHERE t.slug = $1`,
      [service.signer.tenant, HEAVY_ENDPOINTS],
    )
    const requests = await postsOf(service, 'A comment that goes to a thousand endpoints')
    const run = (): Promise<LoadResult> =>
      load({ port: service.port, connections: NEIGHBOUR_CONNECTIONS, seconds: SECONDS, requests: neighbour })
    const heavy: LoadResult[] = []
    const beside = async (): Promise<LoadResult> => {
      const posting = load({ port: service.port, connections: HEAVY_CONNECTIONS, seconds: SECONDS, requests })
      const result = await run()
      heavy.push(await posting)
      // No worker sends them, and the next round must not find those of this one.
      await outside.query('TRUNCATE deliveries CASCADE')
      return result
    }
    await run()
    const rounds: Round[] = []
    for (let n = 0; n < ROUNDS; n++) rounds.push({ alone: await run(), beside: await beside() })
    report(`${HEAVY_CONNECTIONS} connections of another one post to ${HEAVY_ENDPOINTS} endpoints`, rounds, TARGET.heavy)
    const posted = median(heavy.map(({ perSecond }) => perSecond))
    console.log(
      `  the other: ${posted.toFixed(1)} comments/s, p50 ${median(heavy.map(({ p50 }) => p50)).toFixed(0)} ms`,
    )
  } finally {
    await outside.end()
    await service.close()
  }
}

/** One more tenant, without limits. */
export async function addTenant({ databaseUrl, keys }: BenchService, slug: string): Promise<Caller> {
  const settings = readSettings({ DATABASE_URL: databaseUrl, ...keys }, () => {
    throw new Error('the secrets are given')
  })
  const database = await openServer({ url: databaseUrl, size: 2, onError: () => undefined })
  const { app, close } = withDatabase(settings, createLog('silent'), database)
  const { apiKey, identitySecret } = await createTenant(app, { slug })
  const text = `UPDATE tenants SET settings = '{"rateLimit":{"perSecond":100000,"burst":1000000}}' WHERE slug = $1`
  await database.db.query({ name: 'bench_limits', text, locks: true }, [slug])
  await close()
  return { apiKey, signer: { tenant: slug, secret: identitySecret.secret } }
}

export const headersOf = async ({ apiKey, signer }: Caller): Promise<Record<string, string>> => ({
  'X-API-Key': apiKey,
  'X-Service-Identity': await signIdentity(signer, { sub: 'reader', name: 'Reader' }),
  'Content-Type': 'application/json',
})

/** Posts on 50 pages. */
async function postsOf(caller: Caller, text: string): Promise<Buffer[]> {
  const headers = await headersOf(caller)
  return Array.from({ length: 1000 }, (_, n) =>
    httpRequest(
      'POST',
      `/api/v1/discussions/by-external/page-${n % 50}/comments`,
      headers,
      JSON.stringify({ body: `${text} (${n})` }),
    ),
  )
}

/** Writes and reads on 50 pages. */
async function neighbourRequests(caller: Caller): Promise<Buffer[]> {
  const headers = await headersOf(caller)
  return Array.from({ length: 2000 }, (_, n) => {
    const path = `/api/v1/discussions/by-external/page-${(n >> 1) % 50}/comments`
    return n % 2 === 0
      ? httpRequest('POST', path, headers, JSON.stringify({ body: `A comment beside a locked row (${n})` }))
      : httpRequest('GET', `${path}?limit=5`, headers)
  })
}

/** Writes of every kind in one discussion. */
async function lockedRequests(service: BenchService): Promise<{ discussionId: string; requests: Buffer[] }> {
  const headers = await headersOf(service)
  const base = '/api/v1/discussions/by-external/locked/comments'
  const post = async (n: number): Promise<{ id: string; discussionId: string }> => {
    const body = JSON.stringify({ body: `Comment ${n}` })
    const answer = await fetch(`http://127.0.0.1:${service.port}${base}`, { method: 'POST', headers, body })
    return (await answer.json()) as { id: string; discussionId: string }
  }
  const comments = await Promise.all(Array.from({ length: 20 }, (_, n) => post(n)))
  const requests = comments.flatMap(({ id }, n) => [
    httpRequest('POST', base, headers, JSON.stringify({ body: `One more ${n}` })),
    httpRequest('POST', `/api/v1/comments/${id}/reactions`, headers, '{"type":"like"}'),
    httpRequest(
      'POST',
      `/api/v1/comments/${id}/reactions`,
      { ...headers, 'Idempotency-Key': `like-${id}` },
      '{"type":"like"}',
    ),
    httpRequest('PATCH', `/api/v1/comments/${id}`, headers, JSON.stringify({ body: `Edited ${n}` })),
    httpRequest('POST', `/api/v1/comments/${id}/reject`, headers, '{}'),
    httpRequest('POST', `/api/v1/comments/${id}/report`, headers, '{"reason":"spam"}'),
  ])
  return { discussionId: comments[0]?.discussionId ?? '', requests }
}

function report(what: string, rounds: readonly Round[], target: number): void {
  const of = (pick: (each: (typeof rounds)[number]) => number): string => median(rounds.map(pick)).toFixed(2)
  const statuses = JSON.stringify(rounds.at(-1)?.beside.statuses)
  console.log(`neighbours: ${NEIGHBOUR_CONNECTIONS} connections of a tenant, ${what}, median of ${ROUNDS} rounds
  alone    p50 ${of(({ alone }) => alone.p50)} ms, p99 ${of(({ alone }) => alone.p99)} ms, ${of(({ alone }) => alone.perSecond)} requests/s
  beside   p50 ${of(({ beside }) => beside.p50)} ms, p99 ${of(({ beside }) => beside.p99)} ms, ${of(({ beside }) => beside.perSecond)} requests/s ${statuses}
  ratio    p50 ${of(({ alone, beside }) => beside.p50 / alone.p50)}, p99 ${of(({ alone, beside }) => beside.p99 / alone.p99)} (target: at most ${target})`)
}
