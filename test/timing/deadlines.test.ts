import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import type { Database } from '../../src/data/database.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createServerDatabase, onServer } from '../harness/database.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { unnamed } from '../harness/sql.ts'

const DEADLINES = { connectMs: 500, poolMs: 600, statementMs: 700 }

const SKIPPED = onServer ? '' : ' (skipped: needs DATABASE_URL)'

describe.skipIf(!onServer)(`deadlines of a pool${SKIPPED}`, () => {
  let created: Awaited<ReturnType<typeof createServerDatabase>>
  let proxy: Proxy
  let database: Database

  beforeEach(async () => {
    created = await createServerDatabase()
    const { hostname, port } = new URL(created.url)
    proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
    const proxied = new URL(created.url)
    proxied.host = `127.0.0.1:${proxy.port}`
    database = await openServer({ url: proxied.href, size: 3, onError: () => undefined, deadlines: DEADLINES })
  })
  afterEach(async () => {
    proxy.silence(false)
    proxy.swallow(null)
    proxy.delay(0)
    await database.close()
    await proxy.close()
    await created.drop()
  })

  test('a pool that is never idle loses no connection', async () => {
    const pids = new Set<number>()
    const until = performance.now() + 4 * DEADLINES.statementMs
    const callers = Array.from({ length: 12 }, async () => {
      while (performance.now() < until) {
        const [row] = await database.db.query<{ pid: number }>(
          unnamed('SELECT pg_backend_pid() AS pid, pg_sleep(0.01)'),
        )
        pids.add(row?.pid ?? 0)
      }
    })
    await Promise.all(callers)
    expect(pids.size).toBe(3)
  })

  test('a session with many consecutive statements is not late while each is answered', async () => {
    const slept = await database.db.transaction(async (sql) =>
      Promise.all(Array.from({ length: 6 }, () => sql(unnamed('SELECT pg_sleep(0.3)')))),
    )
    expect(slept).toHaveLength(6)
  })

  test('a statement that the server does not end is aborted, and others continue', async () => {
    await database.db.query(unnamed('SELECT 1'))
    proxy.swallow(() => true)
    const first = await database.db.query(unnamed('SELECT 1')).catch((error: Error) => error.message)
    expect(first).toMatch(/terminated/)
    proxy.swallow(null)
    expect(await database.db.query(unnamed('SELECT 1 AS one'))).toEqual([{ one: 1 }])
  })

  test.each(['query', 'transaction'] as const)(
    'a caller that was refused while the pool checked a new connection gets it no more: %s',
    async (kind) => {
      const ask = (text: string): Promise<unknown> =>
        kind === 'query' ? database.db.query(unnamed(text)) : database.db.transaction((sql) => sql(unnamed(text)))
      const asked = Promise.allSettled(Array.from({ length: 6 }, (_each, n) => ask(`CREATE TABLE late_${n} ()`)))
      // The first three are cut while they connect, after half of the time that the others have: of
      // those, the rest is over in the midst of the check of their own connections.
      proxy.delay(200)
      database.abandon()
      await sleep(300)
      database.abandon()
      const outcomes = await asked
      expect(outcomes.map(({ status }) => status)).toEqual(Array(6).fill('rejected'))
      proxy.delay(0)
      await sleep(DEADLINES.poolMs)
      for (let n = 0; n < 6; n++) await ask('SELECT 1')
      const late = await database.db.query(unnamed(`SELECT FROM pg_class WHERE relname LIKE 'late_%'`))
      expect(late).toEqual([])
    },
  )

  test('a server that answers nothing ends no process, even through a pipe', async () => {
    const [row] = await database.db.query<{ folder: string }>(
      unnamed(`SELECT split_part(current_setting('unix_socket_directories'), ',', 1) AS folder`),
    )
    const url = new URL(created.url)
    const local = `postgres:///${url.pathname.slice(1)}?host=${row?.folder}&user=${url.username}&port=${url.port || 5432}`
    const deadlines = { ...DEADLINES, statementMs: 60_000 }
    const piped = await openServer({ url: local, size: 2, onError: () => undefined, deadlines })
    const waits = piped.db.query(unnamed('SELECT pg_sleep(30)')).catch((error: Error) => error.message)
    const sleeping = unnamed(`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'PgSleep'`)
    await vi.waitFor(async () => expect(await database.db.query(sleeping)).toHaveLength(1))
    piped.abandon()
    expect(await waits).toMatch(/terminated/)
    expect(await piped.db.query(unnamed('SELECT 1 AS one'))).toEqual([{ one: 1 }])
    await piped.close()
  })
})
