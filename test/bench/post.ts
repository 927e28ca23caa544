import { randomUUID } from 'node:crypto'

import pg from 'pg'

import { newId } from '../../src/core/ids.ts'
import { openServer } from '../../src/data/server.ts'
import { tenantSettings } from '../../src/core/tenant-settings.ts'
import { type CreateRow, insertComments } from '../../src/domains/comments/create-sql.ts'
import { judgeText } from '../../src/domains/comments/rules.ts'
import { isLockFailure, type Sql, statement } from '../../src/core/sql.ts'
import { signIdentity } from '../harness/identity.ts'
import { makeLean, pgbenchLean } from './lean.ts'
import { httpRequest, load, type LoadResult } from './load.ts'
import { type BenchService, median, startBenchService } from './service.ts'

const POOL = 16
const SECONDS = 4
const ROUNDS = 5
const READERS = 200

/** How the load is spread. */
interface Mix {
  connections: number
  discussions: number
}

/** A mix, and what it is measured beside. */
interface Case extends Mix {
  reference: 'the create statement, one each' | 'the least for a comment, by pgbench'
  /** REST to the reference, at least. */
  target: number
}

const MANY: Case = { connections: 16, discussions: 500, reference: 'the create statement, one each', target: 0.35 }
const HOT: Case = { ...MANY, connections: 128, discussions: 1, target: 1 }
const LEAN: Case = {
  connections: 64,
  discussions: 500,
  reference: 'the least for a comment, by pgbench',
  target: 1.2,
}

const BODY = 'I have read this twice now, and I still think that the second paragraph misses the point.'

/**
 * Comments posted per second over REST, turn by turn with a statement on as many connections as the
 * service has.
 */
export async function benchPost(): Promise<void> {
  for (const each of [MANY, HOT, LEAN]) await benchCase(each)
}

async function benchCase(measured: Case): Promise<void> {
  const service = await startBenchService({ DATABASE_POOL_SIZE: String(POOL) })
  try {
    const requests = await makeRequests(service, measured)
    const reference = await (measured === LEAN ? openLean(service) : openBare(service, measured.discussions))
    const rounds: Round[] = []
    for (let n = 0; n <= ROUNDS; n++) rounds.push(await round(service, requests, reference, measured))
    await reference.close()
    // The first one warms both up.
    report(rounds.slice(1), measured)
  } finally {
    await service.close()
  }
}

/** What posts are measured beside: comments a second. */
type Reference = Pick<Bare, 'run' | 'close'>

async function openLean({ databaseUrl }: BenchService): Promise<Reference> {
  const pool = new pg.Pool({ connectionString: databaseUrl })
  await makeLean(pool)
  await pool.end()
  return { run: () => pgbenchLean(databaseUrl, SECONDS), close: () => Promise.resolve() }
}

interface Round {
  reference: number
  rest: LoadResult
  cpuMicros: number
}

async function round(
  service: BenchService,
  requests: Buffer[],
  reference: Reference,
  { connections }: Mix,
): Promise<Round> {
  const perSecond = await reference.run()
  const before = service.cpuMs()
  const rest = await load({ port: service.port, connections, seconds: SECONDS, requests })
  const answered = Object.values(rest.statuses).reduce((sum, n) => sum + n, 0)
  if (Object.keys(rest.statuses).join() !== '201')
    throw new Error(`not all were created: ${JSON.stringify(rest.statuses)}`)
  return { reference: perSecond, rest, cpuMicros: ((service.cpuMs() - before) * 1000) / answered }
}

/** Posts by many readers on many pages, in a random order. */
export async function makeRequests({ apiKey, signer }: BenchService, { discussions }: Mix): Promise<Buffer[]> {
  const tokens = await Promise.all(
    Array.from({ length: READERS }, (_, n) => signIdentity(signer, { sub: `reader-${n}`, name: `Reader ${n}` })),
  )
  return Array.from({ length: 5000 }, (_, n) => {
    const page = (n * 7919) % discussions
    const headers = {
      'X-API-Key': apiKey,
      'X-Service-Identity': tokens[n % READERS] ?? '',
      'Content-Type': 'application/json',
    }
    const body = JSON.stringify({ body: `${BODY} (${n})` })
    return httpRequest('POST', `/api/v1/discussions/by-external/page-${page}/comments`, headers, body)
  })
}

export interface Bare {
  tenantId: string
  /** Comments per second. */
  run(): Promise<number>
  close(): Promise<void>
}

/** The create statement alone, a comment each, from as many connections as the service has. */
export async function openBare(
  { databaseUrl }: Pick<BenchService, 'databaseUrl'>,
  discussionCount = MANY.discussions,
): Promise<Bare> {
  const { db, close } = await openServer({ url: databaseUrl, size: POOL, onError: () => undefined })
  const tenantId = randomUUID()
  const authorIds = Array.from({ length: READERS }, newId)
  await db.query(statement('bare_tenant', "INSERT INTO tenants (id, slug) VALUES ($1, 'bare')"), [tenantId])
  await db.query(
    statement(
      'bare_readers',
      `INSERT INTO readers (tenant_id, id, external_id, name, profile_issued_at)
       SELECT $1, i, i, 'Reader', now() FROM unnest($2::uuid[]) i`,
    ),
    [tenantId, authorIds],
  )
  const discussions = Array.from({ length: discussionCount }, newId)
  await db.query(
    statement(
      'bare_discussions',
      'INSERT INTO discussions (tenant_id, id, external_id) SELECT $1, i, i FROM unnest($2::uuid[]) i',
    ),
    [tenantId, discussions],
  )
  let n = 0
  const one = async (): Promise<void> => {
    const id = newId()
    const authorId = authorIds[n % READERS] ?? ''
    const author = { id: authorId, externalId: authorId, name: 'Reader', avatarUrl: null, profileUrl: null }
    const actor = JSON.stringify({ kind: 'reader', readerId: authorId, externalId: authorId })
    const discussionId = discussions[(n++ * 7919) % discussionCount] ?? ''
    const body = `${BODY} (${n})`
    const bodyHtml = `<p>${body}</p>\n`
    const comment = JSON.stringify({
      id,
      discussionId,
      parentId: null,
      depth: -1,
      author,
      body,
      bodyHtml,
      status: 'approved',
    })
    const ids = { tenantId, discussionId, parentId: null, id, authorId, createdEventId: newId(), replyEventId: newId() }
    const judgement = judgeText(body, bodyHtml, tenantSettings({}))
    const row = {
      ...ids,
      ...judgement,
      flags: false,
      asks: false,
      body,
      bodyHtml,
      maxDepth: 10,
      actor,
      comment,
      trace: null,
    }
    await insertPatiently(db.query, row)
  }
  return {
    tenantId,
    run: async () => {
      const until = performance.now() + SECONDS * 1000
      const started = performance.now()
      const from = n
      const loop = async (): Promise<void> => {
        while (performance.now() < until) await one()
      }
      await Promise.all(Array.from({ length: POOL }, loop))
      return (n - from) / ((performance.now() - started) / 1000)
    },
    close,
  }
}

/**
 * On a slow machine the queue for one hot discussion is longer than a statement waits for a lock.
 */
async function insertPatiently(sql: Sql, row: CreateRow): Promise<void> {
  for (let isWritten = false; !isWritten;) {
    isWritten = await insertComments(sql, [row], new Date(), 'wait').then(
      () => true,
      (error: unknown) => {
        if (isLockFailure(error)) return false
        throw error
      },
    )
  }
}

function report(rounds: readonly Round[], { connections, discussions, reference, target }: Case): void {
  const of = (pick: (each: Round) => number): number => median(rounds.map(pick))
  const ratio = of((each) => each.rest.perSecond / each.reference)
  console.log(`post: comments over REST, ${connections} connections, ${discussions} discussions, median of ${ROUNDS} rounds
  ${reference}: ${of((each) => each.reference).toFixed(0)} comments/s
  REST: ${of(({ rest }) => rest.perSecond).toFixed(0)} comments/s, p50 ${of(({ rest }) => rest.p50).toFixed(1)} ms, p99 ${of(({ rest }) => rest.p99).toFixed(1)} ms
  ratio: ${ratio.toFixed(2)} (target: at least ${target})
  CPU of the api process: ${of(({ cpuMicros }) => cpuMicros).toFixed(0)} µs a request`)
}
