import { randomBytes } from 'node:crypto'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { examine } from '../../src/cli/doctor.ts'
import { upgrade } from '../../src/data/migrations/migrate.ts'
import { openServer } from '../../src/data/server/server.ts'
import { SILENT } from '../harness/log.ts'
import { signIdentity } from '../harness/identity.ts'
import { canPrepare, PGBOUNCER, type Pooler, startPgbouncer } from '../harness/pgbouncer.ts'
import { freePort } from '../harness/ports.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../harness/postgres.ts'
import { type Env, runMain, ServiceProcess } from '../harness/processes.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { NEXT_RELEASE } from '../harness/releases.ts'
import { unnamed } from '../harness/sql.ts'
import { listen } from '../harness/sse.ts'

const WAIT = { timeout: 30_000, interval: 50 }
/** Fewer than the connections of one process: transactions of different clients share them. */
const SESSIONS = 3

const LIMITS = 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout'

const isHere = hasPostgres && PGBOUNCER !== undefined
const SKIPPED = isHere ? '' : ' (skipped: needs PostgreSQL, its initdb and pg_basebackup, and PgBouncer)'

describe.skipIf(!isHere)(`behind PgBouncer in transaction mode${SKIPPED}`, () => {
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  const secret = `ids_${randomBytes(32).toString('hex')}`
  let server: PostgresServer
  let pooler: Pooler
  let receiver: Receiver
  let directUrl: string
  let services: ServiceProcess[]

  const settings = (): Env => ({
    DATABASE_URL: pooler.url,
    DATABASE_DIRECT_URL: directUrl,
    DATABASE_POOLER: 'transaction',
    ...(canPrepare && { DATABASE_PREPARED_STATEMENTS: 'true' }),
    DATABASE_POOL_SIZE: '6',
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '3',
    DATABASE_LOCK_PATIENCE_SECONDS: '1',
    ADMIN_JWT_SECRET: 'x'.repeat(32),
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    BOOTSTRAP_API_KEY: apiKey,
    BOOTSTRAP_IDENTITY_SECRET: secret,
    UNAUTHENTICATED_RATE_PER_SECOND: '0',
    WEBHOOK_CA_FILE: receiver.caFile,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_POLL_SECONDS: '0.2',
    LOG_LEVEL: 'warn',
    SHUTDOWN_GRACE_SECONDS: '2',
  })

  beforeAll(async () => {
    receiver = await startReceiver()
    server = await startPostgres()
    directUrl = `postgres://postgres@127.0.0.1:${server.port}/postgres`
    pooler = await startPgbouncer(server.port, SESSIONS)
    const ports = await Promise.all([freePort(), freePort()])
    services = ports.map(
      (port) => new ServiceProcess(`http://127.0.0.1:${port}`, { ...settings(), PORT: String(port) }),
    )
    // Both find an empty database.
    await Promise.all(services.map((service) => service.start()))
  })
  afterAll(async () => {
    const stops = await Promise.allSettled((services ?? []).map((service) => service.stop()))
    await pooler?.close()
    await server?.close()
    await receiver?.close()
    expect(stops.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(services.flatMap(({ errors }) => errors)).toEqual([])
  })

  const ask = async (method: string, path: string, body?: unknown, reader = 'ann', index = 0) => {
    const identity = await signIdentity({ tenant: 'demo', secret }, { sub: reader, name: reader })
    const response = await fetch(`${services[index]?.url}${path}`, {
      method,
      headers: {
        'x-api-key': apiKey,
        'x-service-identity': identity,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, json: JSON.parse(text === '' ? 'null' : text) as Record<string, unknown> }
  }
  const api = (method: string, path: string, body?: unknown, reader?: string, index?: number) =>
    ask(method, `/api/v1${path}`, body, reader, index)
  const created = async (path: string, body: unknown): Promise<string> => {
    const { status, json } = await api('POST', path, body)
    expect(status).toBe(201)
    return String(json.id)
  }

  /** The answers of all sessions of the pooler. */
  async function ofSessions<Row extends object>(text: string): Promise<Row[]> {
    const clients = Array.from({ length: SESSIONS }, () => new pg.Client({ connectionString: pooler.url }))
    await Promise.all(clients.map((client) => client.connect()))
    try {
      // Within transactions each has a session of its own.
      await Promise.all(clients.map((client) => client.query('BEGIN')))
      const answers = await Promise.all(clients.map((client) => client.query<Row>(text)))
      // A session that is left in a transaction is closed.
      await Promise.all(clients.map((client) => client.query('ROLLBACK')))
      return answers.flatMap(({ rows }) => rows)
    } finally {
      await Promise.all(clients.map((client) => client.end()))
    }
  }

  /** State that sessions have kept from earlier clients. */
  const leftovers = () =>
    ofSessions(`SELECT name FROM pg_settings WHERE name LIKE '%_timeout' AND source = 'session'
      UNION ALL SELECT locktype FROM pg_locks WHERE locktype = 'advisory'`)

  test('two processes start at once on an empty database, and leave nothing behind', async () => {
    expect(await server.query('SELECT count(*)::int AS n FROM tenants')).toEqual([{ n: 1 }])
    expect(await leftovers()).toEqual([])
  })

  test('posts, edits, reactions, pages, streams and webhooks work as without it', async () => {
    const endpoint = await created('/webhooks', { url: `${receiver.url}/hook` })
    await vi.waitFor(
      async () => expect((await api('GET', `/webhooks/${endpoint}`)).json).toMatchObject({ state: 'verified' }),
      WAIT,
    )
    const discussion = await created('/discussions', { externalId: 'page' })
    const comments = `/discussions/${discussion}/comments`
    const stream = await listen(`${services[0]?.url}/api/v1/stream/${discussion}`, { 'x-api-key': apiKey })
    const ids = await Promise.all(Array.from({ length: 30 }, (_each, n) => created(comments, { body: `Comment ${n}` })))
    const [id] = ids
    expect((await api('PATCH', `/comments/${id}`, { body: 'Edited' })).status).toBe(200)
    expect((await api('POST', `/comments/${id}/reactions`, { type: 'like' }, 'bob', 1)).status).toBe(200)
    const seen: unknown[] = []
    for (let after = ''; ;) {
      const { status, json } = await api('GET', `${comments}?limit=7${after}`, undefined, 'bob', 1)
      expect(status).toBe(200)
      const { data, nextCursor } = json as { data: { id: string }[]; nextCursor: string | null }
      seen.push(...data.map((comment) => comment.id))
      if (nextCursor === null) break
      after = `&cursor=${nextCursor}`
    }
    expect(seen).toHaveLength(ids.length)
    expect(new Set(seen)).toEqual(new Set(ids))
    await vi.waitFor(() => expect(stream.received).toHaveLength(32), WAIT)
    stream.close()
    await vi.waitFor(() => expect(receiver.deliveries('/hook')).toHaveLength(32), WAIT)
    expect(await leftovers()).toEqual([])
    expect((await ofSessions('SELECT FROM pg_prepared_statements')).length > 0).toBe(canPrepare)
  })

  test('a write that meets a lock and a statement without end are aborted in time', async () => {
    const discussion = await created('/discussions', { externalId: 'locked' })
    const holder = new pg.Client({ connectionString: directUrl })
    await holder.connect()
    await holder.query(`BEGIN; SELECT FROM discussions WHERE id = '${discussion}' FOR UPDATE`)
    try {
      const post = await api('POST', `/discussions/${discussion}/comments`, { body: 'late' })
      expect(post.status).toBe(503)
      expect(await server.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)).toEqual([])
    } finally {
      await holder.end()
    }
    const database = await openServer({
      url: pooler.url,
      directUrl,
      size: 2,
      isPooled: true,
      isPreparing: canPrepare,
      deadlines: { connectMs: 1000, poolMs: 1000, statementMs: 300 },
      onError: () => undefined,
    })
    const sleeping = unnamed('SELECT pg_sleep(30)')
    await expect(database.db.query(sleeping)).rejects.toThrow(/terminated/)
    await expect(database.db.transaction((sql) => sql(sleeping))).rejects.toMatchObject({ code: '57014' })
    expect(await database.db.query(unnamed('SELECT 1 AS one'))).toEqual([{ one: 1 }])
    await database.close()
  })

  test('an upgrade bypasses it, with a backfill and an index that is built concurrently', async () => {
    await server.query('CREATE DATABASE upgraded')
    const at = (url: string): string => url.replace(/postgres$/, 'upgraded')
    const database = await openServer({
      url: at(pooler.url),
      directUrl: at(directUrl),
      size: 4,
      isPooled: true,
      isPreparing: canPrepare,
      onError: () => undefined,
    })
    await Promise.all([1, 2].map(() => upgrade(database, SILENT, NEXT_RELEASE)))
    expect(
      await database.db.query(
        unnamed('SELECT count(*)::int AS n FROM _prisma_migrations WHERE finished_at IS NOT NULL'),
      ),
    ).toEqual([{ n: NEXT_RELEASE.length }])
    expect(await leftovers()).toEqual([])
    await database.close()
  })

  const REFUSED: readonly [string, Env, string][] = [
    ['a pooler that no setting tells of', {}, 'DATABASE_URL: leads to a connection pooler: set DATABASE_POOLER'],
    ['no direct URL', { DATABASE_POOLER: 'transaction' }, 'DATABASE_DIRECT_URL: is required with'],
    [
      'a direct URL to the pooler',
      { DATABASE_DIRECT_URL: 'here' },
      'DATABASE_DIRECT_URL: leads to a connection pooler',
    ],
    ['a pooler that ignores limits', { DATABASE_URL: 'hidden' }, 'DATABASE_URL: leads to a connection pooler'],
  ]
  test('a start with wrong settings prints one line with what to set', async () => {
    const { DATABASE_POOLER, DATABASE_DIRECT_URL: _direct, ...rest } = settings()
    const hidden = await startPgbouncer(server.port, SESSIONS, `ignore_startup_parameters = ${LIMITS}`)
    const outcomes = await Promise.all(
      REFUSED.map(async ([, env]) => {
        const direct = env.DATABASE_DIRECT_URL && { DATABASE_POOLER, DATABASE_DIRECT_URL: pooler.url }
        const url = env.DATABASE_URL && { DATABASE_URL: hidden.url }
        const run = runMain({ ...rest, PORT: '0', ...env, ...direct, ...url })
        const { code } = await run.exited
        return { code, stderr: run.stderr }
      }),
    )
    await hidden.close()
    for (const [index, [, , words]] of REFUSED.entries()) {
      const { code, stderr } = outcomes[index] ?? { code: null, stderr: '' }
      expect(code).toBe(1)
      expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(words)])
      expect(stderr).not.toContain('postgres:')
    }
    expect(await leftovers()).toEqual([])
  })

  test('the doctor checks the pooler, and the server behind it', async () => {
    const { DATABASE_POOLER, ...rest } = settings()
    const of = (env: Env) => examine({ ...rest, DATABASE_POOLER, ...env })
    const text = 'the server ends no long read: run ALTER ROLE "postgres" SET statement_timeout = \'10s\''
    expect(await of({})).toEqual(
      expect.arrayContaining([
        { level: 'warn', part: 'pooler', text },
        { level: 'ok', part: 'direct', text: 'leads to the same database, past the pooler' },
      ]),
    )
    const wrong = await Promise.all([
      of({ DATABASE_POOLER: undefined }),
      of({ DATABASE_DIRECT_URL: pooler.url }),
      of({ DATABASE_DIRECT_URL: directUrl.replace(/postgres$/, 'template1') }),
    ])
    expect(wrong.map((findings) => findings.find(({ level }) => level === 'fail')?.text)).toEqual([
      expect.stringContaining('DATABASE_URL: leads to a connection pooler'),
      expect.stringContaining('DATABASE_DIRECT_URL: leads to a connection pooler'),
      expect.stringContaining('DATABASE_DIRECT_URL: leads to another database'),
    ])
  })

  test('a restart and a kill of PgBouncer lose nothing; writes succeed soon after its return', async () => {
    await Promise.all(services.map((service) => service.stop()))
    await Promise.all(services.map((service) => service.start()))
    const acknowledged: string[] = []
    const statuses = new Set<number>()
    let isOver = false
    const writers = Array.from({ length: 6 }, async (_each, n) => {
      while (!isOver) {
        const id = randomBytes(8).toString('hex')
        const { status } = await api('POST', '/discussions', { externalId: id }, 'ann', n % 2)
        statuses.add(status)
        if (status === 201) acknowledged.push(id)
        else await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })
    const more = async (count: number): Promise<void> => {
      const before = acknowledged.length
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(before + count), WAIT)
    }
    await more(50)
    await pooler.kill()
    await vi.waitFor(async () => expect((await ask('GET', '/readyz')).status).toBe(503), WAIT)
    await pooler.start()
    const back = performance.now()
    await more(20)
    expect(performance.now() - back).toBeLessThan(10_000)
    isOver = true
    await Promise.all(writers)
    expect(statuses).toEqual(new Set([201, 503]))
    const rows = await server.query('SELECT external_id FROM discussions')
    const there = new Set(rows.map((row) => row.external_id))
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([])
    await vi.waitFor(async () => expect((await ask('GET', '/readyz')).status).toBe(200), WAIT)
    expect(await leftovers()).toEqual([])
  })
})
