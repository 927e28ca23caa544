import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { freePort } from '../harness/ports.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../harness/postgres.ts'
import { type Run, runMain } from '../harness/processes.ts'

const WAIT = { timeout: 30_000, interval: 50 }

/** A deadline that has a test wait for less. The default is 10 s. */
const STATEMENT_SECONDS = 3

const SKIPPED = hasPostgres ? '' : ' (skipped: needs PostgreSQL, its initdb and pg_basebackup)'

describe.skipIf(!hasPostgres)(`a primary with a synchronous standby${SKIPPED}`, () => {
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  let primary: PostgresServer
  let standby: PostgresServer
  let service: Run
  let url: string

  beforeEach(async () => {
    primary = await startPostgres()
    standby = await startPostgres({}, primary)
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
    await primary.query('SELECT pg_reload_conf()')
    await vi.waitFor(
      async () =>
        expect(await primary.query('SELECT sync_state FROM pg_stat_replication')).toMatchObject([
          { sync_state: 'sync' },
        ]),
      WAIT,
    )
    const PORT = String(await freePort())
    url = `http://127.0.0.1:${PORT}`
    service = runMain({
      PORT,
      DATABASE_URL: `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres?target_session_attrs=read-write`,
      DATABASE_POOL_SIZE: '8',
      DATABASE_STATEMENT_TIMEOUT_SECONDS: String(STATEMENT_SECONDS),
      ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      BOOTSTRAP_API_KEY: apiKey,
      UNAUTHENTICATED_RATE_PER_SECOND: '0',
      LOG_LEVEL: 'warn',
      SHUTDOWN_GRACE_SECONDS: '2',
    })
    await service.ready
  })

  afterEach(async () => {
    service.signal('SIGTERM')
    const { code } = await service.exited
    await standby.close()
    await primary.close()
    expect(code).toBe(0)
  })

  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as { detail?: string } }
  }
  const post = async (externalId = randomBytes(8).toString('hex')): Promise<number> =>
    (await ask('POST', '/api/v1/discussions', { externalId })).status
  const written = async (server: PostgresServer): Promise<Set<unknown>> =>
    new Set((await server.query('SELECT external_id FROM discussions')).map((row) => row.external_id))

  /** Writes until it is stopped: what was acknowledged, and how each write was answered. */
  function writeSteadily() {
    const acknowledged: string[] = []
    const statuses = new Set<number>()
    let slowestMs = 0
    let isOver = false
    const writers = Array.from({ length: 6 }, async () => {
      while (!isOver) {
        const id = randomBytes(8).toString('hex')
        const began = performance.now()
        const status = await post(id)
        slowestMs = Math.max(slowestMs, performance.now() - began)
        statuses.add(status)
        if (status < 300) acknowledged.push(id)
        else await sleep(50)
      }
    })
    const stop = async () => {
      isOver = true
      await Promise.all(writers)
      return { acknowledged, statuses, slowestMs }
    }
    return { acknowledged, stop }
  }

  test('kill -9 of the primary: no acknowledged write is lost, and new ones go to the standby once it is promoted', async () => {
    const writing = writeSteadily()
    await vi.waitFor(() => expect(writing.acknowledged.length).toBeGreaterThan(50), WAIT)
    await primary.kill()
    await sleep(1000)
    await standby.promote()
    const promoted = performance.now()
    const before = writing.acknowledged.length
    await vi.waitFor(() => expect(writing.acknowledged.length).toBeGreaterThan(before + 20), WAIT)
    const tookMs = performance.now() - promoted
    const { acknowledged, statuses } = await writing.stop()
    expect(tookMs).toBeLessThan(10_000)
    expect(statuses).toEqual(new Set([201, 503]))
    const there = await written(standby)
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([])
    expect((await ask('GET', '/readyz')).status).toBe(200)
  })

  test.each([
    ['is killed, and started again', () => primary.kill(), () => primary.start()],
    ['freezes, and goes on', async () => primary.freeze(), async () => primary.unfreeze()],
  ])(
    'a primary that %s: 503 in time, nothing acknowledged is lost, and writes succeed soon afterwards',
    async (_what, fail, mend) => {
      const writing = writeSteadily()
      await vi.waitFor(() => expect(writing.acknowledged.length).toBeGreaterThan(50), WAIT)
      await fail()
      // Longer than a process waits for the answer of its server.
      await sleep(6000)
      await mend()
      const mended = performance.now()
      const before = writing.acknowledged.length
      await vi.waitFor(() => expect(writing.acknowledged.length).toBeGreaterThan(before + 20), WAIT)
      const tookMs = performance.now() - mended
      const { acknowledged, statuses, slowestMs } = await writing.stop()
      // The standby comes back to its primary within 5 s, and a commit waits for it.
      expect(tookMs).toBeLessThan(15_000)
      expect(slowestMs).toBeLessThan(12_000)
      expect(statuses).toEqual(new Set([201, 503]))
      const there = await written(primary)
      expect(acknowledged.filter((id) => !there.has(id))).toEqual([])
      await vi.waitFor(async () => expect((await ask('GET', '/readyz')).status).toBe(200), WAIT)
    },
  )

  test("a primary that freezes: 503 in time; the standby takes over, and the old primary's later answers are ignored", async () => {
    const writing = writeSteadily()
    await vi.waitFor(() => expect(writing.acknowledged.length).toBeGreaterThan(50), WAIT)
    primary.freeze()
    await sleep(500)
    await standby.promote()
    const promoted = performance.now()
    const before = writing.acknowledged.length
    await vi.waitFor(() => expect(writing.acknowledged.length).toBeGreaterThan(before + 20), WAIT)
    const tookMs = performance.now() - promoted
    primary.unfreeze()
    await sleep(1000)
    const { acknowledged, statuses, slowestMs } = await writing.stop()
    expect(tookMs).toBeLessThan(10_000)
    expect(slowestMs).toBeLessThan(12_000)
    expect(statuses).toEqual(new Set([201, 503]))
    const there = await written(standby)
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([])
  })

  test('a lost standby: writes are 503 in time and leave the server connections, reads continue, /readyz reports it', async () => {
    await post('before')
    await standby.kill()
    const writing = writeSteadily()
    await vi.waitFor(
      async () =>
        expect(await ask('GET', '/readyz')).toMatchObject({
          status: 503,
          json: { detail: 'Commits of the database wait for a synchronous standby that is away.' },
        }),
      WAIT,
    )
    await sleep(STATEMENT_SECONDS * 1000 + 1000)
    expect((await ask('GET', '/api/v1/discussions/by-external/before')).status).toBe(200)
    const [{ count } = { count: 0 }] = await primary.query(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
    )
    expect(count).toBeLessThanOrEqual(16)
    await standby.start()
    const back = performance.now()
    const before = writing.acknowledged.length
    await vi.waitFor(() => expect(writing.acknowledged.length).toBeGreaterThan(before + 20), WAIT)
    expect(performance.now() - back).toBeLessThan(10_000)
    const { acknowledged, statuses, slowestMs } = await writing.stop()
    expect(statuses).toEqual(new Set([201, 503]))
    // It waits for a connection for 5 s at most, then for its statement.
    expect(slowestMs).toBeLessThan((5 + STATEMENT_SECONDS) * 1000 + 2000)
    const there = await written(standby)
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([])
    expect((await ask('GET', '/readyz')).status).toBe(200)
  })
})
