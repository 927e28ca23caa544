import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { type Disk, mountDisk } from '../harness/disk.ts'
import { freePort } from '../harness/ports.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../harness/postgres.ts'
import { ServiceProcess } from '../harness/processes.ts'

const WAIT = { timeout: 30_000, interval: 50 }

const disk: Disk | null = hasPostgres ? mountDisk(160) : null
const SKIPPED = disk === null ? ' (skipped: needs PostgreSQL, and the right to mount)' : ''

describe.skipIf(disk === null)(`a database whose disk is full${SKIPPED}`, () => {
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  let server: PostgresServer
  let service: ServiceProcess
  let discussionId: string

  beforeAll(async () => {
    server = await startPostgres({}, undefined, disk?.folder)
    const PORT = String(await freePort())
    service = new ServiceProcess(`http://127.0.0.1:${PORT}`, {
      PORT,
      DATABASE_URL: `postgres://postgres@127.0.0.1:${server.port}/postgres`,
      ADMIN_JWT_SECRET: 'x'.repeat(32),
      ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      BOOTSTRAP_API_KEY: apiKey,
      LOG_LEVEL: 'warn',
      SHUTDOWN_GRACE_SECONDS: '2',
    })
    await service.start()
    discussionId = String((await ask('POST', '/api/v1/discussions', { externalId: 'page' })).json.id)
    const body = { rateLimit: { perSecond: 10_000, burst: 100_000 } }
    expect((await ask('PATCH', '/api/v1/settings', body)).status).toBe(200)
  })
  afterAll(async () => {
    await service?.stop()
    await server?.close()
    disk?.close()
    expect(service.errors).toEqual([])
  })

  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { 'x-api-key': apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  const readyz = () => ask('GET', '/readyz')

  /** Writes until it is stopped: what was acknowledged, and how each write was answered. */
  function writeSteadily() {
    const acknowledged: string[] = []
    const statuses = new Set<number>()
    let isOver = false
    const writers = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const externalId = randomBytes(8).toString('hex')
        const { status } = await ask('POST', '/api/v1/discussions', { externalId, title: 'x'.repeat(200) })
        statuses.add(status)
        if (status === 201) acknowledged.push(externalId)
        else await sleep(20)
      }
    })
    const more = async (count: number): Promise<void> => {
      const before = acknowledged.length
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(before + count), WAIT)
    }
    const stop = async () => {
      isOver = true
      await Promise.all(writers)
      const rows = await server.query('SELECT external_id FROM discussions')
      const there = new Set(rows.map((row) => row.external_id))
      return { statuses, lost: acknowledged.filter((id) => !there.has(id)) }
    }
    return { more, stop }
  }

  const FULL = 'The database is out of disk space.'
  const DOWN = 'The database does not answer.'

  test.each([
    ['tables', FULL, 200],
    ['log', DOWN, 503],
  ])(
    'without space for its %s: 503 and not ready, nothing lost, and ready again once there is space',
    async (what, detail, read) => {
      const writing = writeSteadily()
      await writing.more(20)
      disk?.fill()
      // Without space for the next segment of its log PostgreSQL stops, and starts again.
      if (what === 'log') await server.query('SELECT pg_switch_wal()').catch(() => undefined)
      await vi.waitFor(async () => expect(await readyz()).toMatchObject({ status: 503, json: { detail } }), WAIT)
      await sleep(1000)
      expect((await readyz()).status).toBe(503)
      expect((await ask('GET', `/api/v1/discussions/${discussionId}`)).status).toBe(read)
      disk?.empty()
      if (what === 'log') {
        // It has given up, as it does where it cannot recover. Its supervisor starts it.
        await server.kill()
        await server.start()
      }
      const freed = performance.now()
      await vi.waitFor(async () => expect((await readyz()).status).toBe(200), WAIT)
      await writing.more(20)
      expect(performance.now() - freed).toBeLessThan(10_000)
      expect(await writing.stop()).toEqual({ statuses: new Set([201, 503]), lost: [] })
    },
  )
})
