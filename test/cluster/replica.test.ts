import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { examine } from '../../src/cli/doctor.ts'
import { Replica } from '../../src/data/server/replica.ts'
import { DEADLINES } from '../../src/data/server/connection.ts'
import { openServer } from '../../src/data/server/server.ts'
import { signIdentity } from '../harness/identity.ts'
import { SILENT } from '../harness/log.ts'
import { freePort } from '../harness/ports.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../harness/postgres.ts'
import { ServiceProcess } from '../harness/processes.ts'
import { unnamed } from '../harness/sql.ts'

const WAIT = { timeout: 20_000, interval: 50 }
/** Long enough to see what is late, short enough to wait for its end. */
const MAX_LAG_MS = 1500
const METRICS_TOKEN = 'a-token-of-the-tests'

const WHERE = unnamed('SELECT pg_is_in_recovery() AS "isStandby"')

const SKIPPED = hasPostgres ? '' : ' (skipped: needs PostgreSQL, its initdb and pg_basebackup)'

// One after the other: the last ones freeze, kill and promote the standby.
describe.skipIf(!hasPostgres)(`reads that may be late, with a standby${SKIPPED}`, () => {
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  const secret = `ids_${randomBytes(32).toString('hex')}`
  let primary: PostgresServer
  let standby: PostgresServer
  let service: ServiceProcess
  const urlOf = ({ port }: PostgresServer): string => `postgres://postgres@127.0.0.1:${port}/postgres`

  beforeAll(async () => {
    primary = await startPostgres()
    standby = await startPostgres({ max_standby_streaming_delay: '0' }, primary)
    const PORT = String(await freePort())
    service = new ServiceProcess(`http://127.0.0.1:${PORT}`, {
      PORT,
      ROLE: 'api',
      DATABASE_URL: urlOf(primary),
      DATABASE_REPLICA_URL: urlOf(standby),
      DATABASE_REPLICA_MAX_LAG_SECONDS: String(MAX_LAG_MS / 1000),
      ADMIN_JWT_SECRET: 'x'.repeat(32),
      ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      BOOTSTRAP_API_KEY: apiKey,
      BOOTSTRAP_IDENTITY_SECRET: secret,
      METRICS_TOKEN,
      LOG_LEVEL: 'info',
      SHUTDOWN_GRACE_SECONDS: '2',
    })
    await service.start()
  })
  afterAll(async () => {
    const stopped = await service?.stop().then(
      () => null,
      (error: unknown) => error,
    )
    await standby?.close()
    await primary?.close()
    expect(stopped).toBeNull()
    expect(service.errors).toEqual([])
  })

  const call = async (method: string, path: string, body?: unknown, reader?: string) => {
    const identity = reader && { 'x-service-identity': await signIdentity({ tenant: 'demo', secret }, { sub: reader }) }
    const response = await fetch(`${service.url}/api/v1${path}`, {
      method,
      headers: {
        'x-api-key': apiKey,
        ...identity,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, json: JSON.parse(text === '' ? '{}' : text) as Record<string, unknown> }
  }
  const figure = async (name: string): Promise<number> => {
    const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
    return Number(
      (await response.text())
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1),
    )
  }
  /** How often `action` was done, by the audit log. */
  const audited = async (action: string): Promise<number> => {
    const { status, json } = await call('GET', `/audit-log?action=${action}`)
    expect(status).toBe(200)
    return (json.data as unknown[]).length
  }
  const change = async (): Promise<void> => {
    const body = { bannedWords: [randomBytes(4).toString('hex')] }
    expect((await call('PATCH', '/settings', body)).status).toBe(200)
  }
  /**
   * Reads of a test's own, once the standby is read. `asked`: single statements that the primary
   * got.
   */
  const follow = async (maxLagMs: number, { isPooled = false, statementMs = 10_000 } = {}) => {
    const onError = (): void => undefined
    const deadlines = { ...DEADLINES, statementMs }
    const options = { size: 2, isPooled, deadlines, onError }
    const database = await openServer({ ...options, url: urlOf(primary) })
    const asked: string[] = []
    const replica = new Replica({
      replica: await openServer({ ...options, url: urlOf(standby), isReplica: true }),
      primary: database.probe,
      db: {
        ...database.db,
        query: (statement, params) => {
          asked.push(statement.text)
          return database.db.query(statement, params)
        },
      },
      maxLagMs,
      statementMs,
      log: SILENT,
    })
    const { reads } = replica
    await vi.waitFor(async () => expect(await reads.query(WHERE)).toEqual([{ isStandby: true }]), WAIT)
    const close = async (): Promise<void> => {
      await replica.close()
      await database.close()
    }
    return { reads, asked, close }
  }
  const isUsed = (): Promise<void> =>
    vi.waitFor(() => {
      const said = service.run.stderr.split('\n').filter((line) => line.includes('replica'))
      expect(said.at(-1)).toContain('the replica follows')
    }, WAIT)

  test('reads go to the standby while it is close, and to the primary once it lags too far behind', async () => {
    await isUsed()
    await audited('settings.update')
    await vi.waitFor(async () => expect(await figure('database_late_reads_total{server="replica"}')).toBe(1), WAIT)
    const discussion = await call('POST', '/discussions', { externalId: 'page' })
    expect(discussion.status).toBe(201)
    await standby.query('SELECT pg_wal_replay_pause()')
    await change()
    // A paused standby does not see it; a reader that it lacks is looked up on the primary.
    expect(await audited('settings.update')).toBe(0)
    expect((await call('GET', '/analytics/summary')).status).toBe(200)
    const post = await call('POST', `/discussions/${String(discussion.json.id)}/comments`, { body: 'Hello' }, 'ann')
    expect(post.status).toBe(201)
    const { id } = (post.json.author ?? {}) as { id: string }
    expect(await call('GET', `/readers/${id}/export`)).toMatchObject({ status: 200, json: { reader: { id } } })
    await vi.waitFor(async () => expect(await audited('settings.update')).toBe(1), WAIT)
    expect(await figure('database_replica_lag_seconds')).toBeGreaterThan(MAX_LAG_MS / 1000)
    await standby.query('SELECT pg_wal_replay_resume()')
    await isUsed()
    expect(await audited('settings.update')).toBe(1)
    await standby.query('SELECT pg_wal_replay_pause()')
    await change()
    const changed = Date.now()
    await sleep(MAX_LAG_MS / 3)
    const exported = await call('GET', `/readers/${id}/export`)
    await standby.query('SELECT pg_wal_replay_resume()')
    expect(exported).toMatchObject({ status: 200, json: { reader: { id } } })
    // A later time would be the primary's.
    expect(Date.parse(String(exported.json.asOf))).toBeLessThanOrEqual(changed)
  })

  test('erased data is not shown, although the standby still has it', async () => {
    await isUsed()
    const { json: discussion } = await call('POST', '/discussions', { externalId: 'erased' })
    const path = `/discussions/${String(discussion.id)}/comments`
    const { id } = (await call('POST', path, { body: 'Hello' }, 'bob')).json.author as { id: string }
    expect((await call('POST', `/readers/${id}/ban`, { reason: 'rude' })).status).toBe(200)
    const isThere = `SELECT 1 AS one FROM audit_log WHERE action = 'reader.ban' AND target_id = '${id}'`
    await vi.waitFor(async () => expect(await standby.query(isThere)).toEqual([{ one: 1 }]), WAIT)
    const bob = { reader: expect.objectContaining({ id }) }
    const banned = { targetId: id, after: { ban: expect.objectContaining({ reason: 'rude' }) } }
    const answers = async () => {
      const [top, log] = await Promise.all([call('GET', '/analytics/top'), call('GET', '/audit-log?action=reader.ban')])
      return { readers: top.json.readers, entries: log.json.data }
    }
    const held = await answers()
    expect(held.readers).toContainEqual(expect.objectContaining(bob))
    expect(held.entries).toMatchObject([banned])

    const changes = await audited('settings.update')
    await standby.query('SELECT pg_wal_replay_pause()')
    await change()
    expect((await call('DELETE', `/readers/${id}`)).status).toBe(204)
    const exported = await call('GET', `/readers/${id}/export`)
    const left = await answers()
    const changesSeen = await audited('settings.update')
    await standby.query('SELECT pg_wal_replay_resume()')
    expect(exported).toMatchObject({ status: 404, json: { code: 'not_found' } })
    expect(left.readers).not.toContainEqual(expect.objectContaining(bob))
    expect(left.entries).toMatchObject([{ targetId: id, before: null, after: null }])
    // The standby has answered, also at the end.
    expect(changesSeen).toBe(changes)
    const exports = `SELECT 1 FROM audit_log WHERE action = 'reader.export' AND target_id = '${id}'`
    expect(await primary.query(exports)).toEqual([])
  })

  test('the doctor distinguishes a standby from another server', async () => {
    const of = async (replica: string) => {
      const findings = await examine({
        DATABASE_URL: urlOf(primary),
        DATABASE_REPLICA_URL: replica,
        ADMIN_JWT_SECRET: 'x'.repeat(32),
        ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      })
      return findings.filter(({ part }) => part === 'replica')
    }
    expect(await of(urlOf(standby))).toEqual([{ level: 'ok', part: 'replica', text: 'is a standby of the database' }])
    expect(await of(urlOf(primary))).toMatchObject([
      { level: 'fail', text: expect.stringMatching(/leads to no standby/) },
    ])
    expect(await of('postgres://postgres:secret@127.0.0.1:1/postgres')).toMatchObject([
      { level: 'fail', text: expect.stringMatching(/does not answer \(ECONNREFUSED\)/) },
    ])
  })

  test('a standby of an idle primary does not count as late', async () => {
    // Until the next record, the primary's position is behind a header that is not written yet.
    await primary.query('SELECT pg_switch_wal()')
    await sleep(MAX_LAG_MS + 500)
    expect(await figure('database_replica_lag_seconds')).toBeLessThan(MAX_LAG_MS / 1000)
    const before = await figure('database_late_reads_total{server="primary"}')
    await audited('settings.update')
    await sleep(1000)
    expect(await figure('database_late_reads_total{server="primary"}')).toBe(before)
  })

  test('a commit that the primary has not written yet makes the standby late', async () => {
    const maxLagMs = 400
    await primary.query('CREATE TABLE unwritten AS SELECT 0 AS n')
    const { reads, close } = await follow(maxLagMs)
    const commit = (how: string) => primary.query(`SET synchronous_commit = ${how}; UPDATE unwritten SET n = n + 1`)
    await primary.query(`ALTER SYSTEM SET wal_writer_delay = '10s'`)
    await primary.query('SELECT pg_reload_conf()')
    // After a long sleep, the WAL writer wakes up at once for the first commit.
    await commit('off')
    await commit('on')
    await commit('off')
    await sleep(2 * maxLagMs)
    expect(await standby.query('SELECT n FROM unwritten')).toEqual([{ n: 2 }])
    expect(await reads.query(unnamed('SELECT n FROM unwritten'))).toEqual([{ n: 3 }])
    await primary.query('ALTER SYSTEM RESET wal_writer_delay')
    await primary.query('SELECT pg_reload_conf()')
    await close()
  })

  test.each([true, false])(
    'a read past its deadline ends on the standby and is not retried on the primary (pooled: %s)',
    async (isPooled) => {
      const { reads, asked, close } = await follow(MAX_LAG_MS, { isPooled, statementMs: 300 })
      asked.length = 0
      await expect(reads.query(unnamed('SELECT pg_sleep(60)'))).rejects.toMatchObject({ code: '57014' })
      expect(asked).toEqual([])
      const sleeping = `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND state = 'active'`
      expect(await standby.query(`${sleeping} AND pid <> pg_backend_pid()`)).toEqual([])
      let runs = 0
      const cut = reads.transaction(async () => {
        runs++
        await sleep(350)
        throw new Error('Connection terminated')
      })
      await expect(cut).rejects.toThrow('Connection terminated')
      expect(runs).toBe(1)
      await close()
    },
  )

  test('a read that the standby cancels for its replay is retried on the primary', async () => {
    const { reads, close } = await follow(MAX_LAG_MS)
    await primary.query('CREATE TABLE trimmed AS SELECT 1 AS n')
    const seen: unknown[] = []
    await vi.waitFor(
      async () =>
        expect(await standby.query(`SELECT to_regclass('trimmed')::text AS name`)).toEqual([{ name: 'trimmed' }]),
      WAIT,
    )
    await reads.transaction(async (sql) => {
      const [row] = await sql<{ isStandby: boolean }>(WHERE)
      seen.push(row?.isStandby)
      if (row?.isStandby !== true) return
      await sql(unnamed('SELECT n FROM trimmed'))
      await primary.query('DROP TABLE trimmed')
      await sql(unnamed('SELECT pg_sleep(5)'))
    })
    expect(seen).toEqual([true, false])
    await close()
  })

  test.each([
    ['frozen', 3000, () => standby.freeze(), () => standby.unfreeze()],
    ['killed', 500, () => standby.kill(), () => standby.start()],
  ] as const)('with a standby that is %s the primary answers in time', async (_how, forMs, down, up) => {
    await isUsed()
    await down()
    const until = performance.now() + forMs
    let slowestMs = 0
    while (performance.now() < until) {
      const began = performance.now()
      await audited('settings.update')
      slowestMs = Math.max(slowestMs, performance.now() - began)
      await sleep(20)
    }
    expect(slowestMs).toBeLessThan(5000)
    await change()
    expect(await audited('settings.update')).toBeGreaterThan(1)
    await up()
    await isUsed()
  })

  test('a promoted standby is no longer read', async () => {
    await isUsed()
    await standby.promote()
    await vi.waitFor(() => expect(service.run.stderr).toContain('leads to no standby of this primary'), WAIT)
    const before = await audited('settings.update')
    await change()
    expect(await audited('settings.update')).toBe(before + 1)
  })
})
