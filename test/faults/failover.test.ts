import { randomBytes } from 'node:crypto'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { type ProxiedService, startProxiedService } from '../harness/proxied-service.ts'

const WAIT = { timeout: 60_000, interval: 20 }

describe.skipIf(!onServer)(`a process whose database fails${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  let admin: pg.Client
  let service: ProxiedService
  let name: string

  beforeAll(async () => {
    service = await startProxiedService()
    name = new URL(service.databaseUrl).pathname.slice(1)
    admin = new pg.Client({ connectionString: process.env.DATABASE_URL })
    await admin.connect()
  })

  afterAll(async () => {
    await admin.end()
    await service.close()
  })

  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { 'x-api-key': service.apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, retryAfter, json: (await response.json()) as { id?: string; detail?: string } }
  }
  const post = () => ask('POST', '/api/v1/discussions', { externalId: randomBytes(8).toString('hex') })
  const becomesReady = () =>
    vi.waitFor(
      async () => expect([(await ask('GET', '/readyz')).status, (await post()).status]).toEqual([200, 201]),
      WAIT,
    )
  const becomesUnready = (detail: string) =>
    vi.waitFor(async () => expect(await ask('GET', '/readyz')).toMatchObject({ status: 503, json: { detail } }), WAIT)
  const terminate = () =>
    admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
  const warnings = () => service.run.stderr.split('\n').filter((line) => line !== '')
  const UNAVAILABLE = { status: 503, retryAfter: '1', json: { code: 'unavailable' } }

  test('a database that is down: 503 with Retry-After everywhere, one log line, and everything works again when it is back', async () => {
    const { id } = (await post()).json
    const before = warnings().length
    await service.proxy.down()
    expect(await post()).toMatchObject(UNAVAILABLE)
    expect(await ask('GET', '/api/v1/discussions')).toMatchObject(UNAVAILABLE)
    expect(await ask('GET', `/api/v1/stream/${id}`)).toMatchObject(UNAVAILABLE)
    await becomesUnready('The database does not answer.')
    expect(await ask('GET', '/healthz')).toMatchObject({ status: 200 })
    await service.proxy.up()
    await becomesReady()
    expect(
      warnings()
        .slice(before)
        .map((line) => JSON.parse(line) as unknown),
    ).toMatchObject([{ database: 'down' }])
  })

  test('a server that vanishes silently: waiting requests get 503, and a new connection is used once it is back', async () => {
    await becomesReady()
    service.proxy.swallow(() => true)
    const asked = Array.from({ length: 6 }, () => post())
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject(UNAVAILABLE)
    await becomesUnready('The database does not answer.')
    service.proxy.swallow(null)
    await becomesReady()
  })

  test('a failover to a server that takes no writes: 503 for writes, and new connections once it does', async () => {
    const before = warnings().length
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    await terminate()
    await vi.waitFor(async () => expect(await post()).toMatchObject(UNAVAILABLE), WAIT)
    await becomesUnready('The database is read-only: it takes no writes.')
    // What it holds can still be read.
    await vi.waitFor(async () => expect((await ask('GET', '/api/v1/discussions')).status).toBe(200), WAIT)
    // Nothing ends the connections this time: they would stay read-only forever.
    await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
    await becomesReady()
    for (let n = 0; n < 8; n++) expect((await post()).status).toBe(201)
    const states = warnings()
      .slice(before)
      .map((line) => (JSON.parse(line) as { database?: string }).database)
    expect(states).toContain('read_only')
    expect(states.every((state) => state === 'read_only' || state === 'down')).toBe(true)
  })

  /** Sessions name their search path, so nothing but the catalogue itself can hide a function. */
  async function changeCatalog(...changes: string[]): Promise<void> {
    const inside = new pg.Client({ connectionString: service.databaseUrl })
    await inside.connect()
    for (const change of ['SET allow_system_table_mods = on', ...changes]) await inside.query(change)
    await inside.end()
  }

  test('a server that becomes a standby: its connections are dropped, and it is no longer read', async () => {
    // In this database alone the server says that it is a standby.
    await changeCatalog(
      'ALTER FUNCTION pg_catalog.pg_is_in_recovery() RENAME TO pg_was_in_recovery',
      `CREATE FUNCTION pg_catalog.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
    )
    await terminate()
    await becomesUnready('The database server is a standby: it takes no writes.')
    expect(await ask('GET', '/api/v1/discussions')).toMatchObject(UNAVAILABLE)
    expect(await post()).toMatchObject(UNAVAILABLE)
    await changeCatalog(
      'DROP FUNCTION pg_catalog.pg_is_in_recovery()',
      'ALTER FUNCTION pg_catalog.pg_was_in_recovery() RENAME TO pg_is_in_recovery',
    )
    await becomesReady()
  })

  test('a database that takes no connections: 503, until it does', async () => {
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
    await terminate()
    await becomesUnready('The database does not answer.')
    expect(await ask('GET', '/api/v1/discussions')).toMatchObject(UNAVAILABLE)
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    await becomesReady()
  })
})
