import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { runCli } from '../harness/cli.ts'
import { onServer } from '../harness/database.ts'
import { newSecrets } from '../harness/own-database.ts'
import { first, last, type Processes, startProcesses } from '../harness/processes.ts'
import type { TestResponse } from '../harness/service.ts'

const LONG = 180_000
/** What a loaded machine may add: the promise is 1 s with the bus, 5 s without. */
const SLACK_MS = 1500
const KILLS = 6
const PAGES = 40

const skipped = onServer ? '' : ' (skipped: needs DATABASE_URL)'

let service: Processes
let env: Record<string, string | undefined>
let database: pg.Client

const begin = (redis: string | undefined, worker: number) => async () => {
  const shared = {
    ...newSecrets(),
    REDIS_URL: redis,
    REDIS_PREFIX: `engagement-test-${randomBytes(6).toString('hex')}:`,
  }
  service = await startProcesses({ api: 2, worker, env: shared })
  env = { DATABASE_URL: service.databaseUrl ?? undefined, ...shared }
  database = new pg.Client(service.databaseUrl ?? undefined)
  await database.connect()
}
const end = async () => {
  await database.end()
  await service.close()
}

const cli = (...args: string[]) => runCli(args, env)

async function done(...args: string[]): Promise<TestResponse['json']> {
  const { code, stdout, stderr } = await cli(...args)
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout)
}

/** How many rows each tenant has, by table. */
async function count(): Promise<Map<string, Record<string, number>>> {
  const tables = await database.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant_id'",
  )
  const counts = new Map<string, Record<string, number>>()
  for (const { name } of tables.rows) {
    const { rows } = await database.query<{ id: string; n: number }>(
      `SELECT tenant_id AS id, count(*)::int AS n FROM "${name}" GROUP BY 1`,
    )
    for (const { id, n } of rows) counts.set(id, { ...counts.get(id), [name]: n })
  }
  return counts
}

describe.skipIf(!onServer).each([
  ['with the bus, within 1 s', process.env.REDIS_URL, 1000],
  ['without it, within 5 s', undefined, 5000],
])(`a tenant that the command line suspends is refused by every process, %s${skipped}`, (_name, redis, withinMs) => {
  beforeAll(begin(redis, 0))
  afterAll(end)

  test('with its requests, posts and streams', async () => {
    const { id } = (await service.call('POST', '/discussions', { body: { externalId: 'page' } })).json
    const headers = await service.as('ada')
    const path = `/discussions/${id}/comments`
    const streams = await Promise.all(
      service.apis.map(({ url }) => fetch(`${url}/api/v1/stream/${id}`, { headers: { 'x-api-key': service.apiKey } })),
    )
    const ends = streams.map(async (stream) => [await stream.text(), performance.now()] as const)
    const posts: number[][] = service.apis.map(() => [])
    let isOver = false
    const writing = service.apis.map(async (api, n) => {
      while (!isOver) posts[n]?.push((await service.call('POST', path, { body: { body: 'x' }, headers, api })).status)
    })
    await vi.waitFor(() => expect(posts.every((some) => some.includes(201))).toBe(true), { timeout: 10_000 })
    expect(await done('tenant', 'suspend', '--tenant', 'demo', '--reason', 'unpaid')).toMatchObject({
      state: 'suspended',
      suspensionReason: 'unpaid',
    })
    const since = performance.now()
    for (const api of service.apis) {
      while ((await service.call('GET', '/discussions', { api })).status !== 403) {
        expect(performance.now() - since).toBeLessThan(withinMs + SLACK_MS)
        await pause(20)
      }
    }
    for (const [text, at] of await Promise.all(ends)) {
      expect(text).toContain('event: connection-timeout')
      expect(at - since).toBeLessThan(withinMs + SLACK_MS)
    }
    isOver = true
    await Promise.all(writing)
    expect(new Set(posts.flat())).toEqual(new Set([201, 403]))
    const { rows } = await database.query('SELECT count(*)::int AS n FROM comments')
    expect(rows).toEqual([{ n: posts.flat().filter((status) => status === 201).length }])
    expect((await service.call('GET', '/discussions')).json.detail).toBe('The tenant is suspended: unpaid')
    expect(await done('tenant', 'resume', '--tenant', 'demo')).toMatchObject({ state: 'active', comments: rows[0].n })
    const resumedAt = performance.now()
    for (const api of service.apis) {
      while ((await service.call('POST', path, { body: { body: 'x' }, headers, api })).status !== 201) {
        expect(performance.now() - resumedAt).toBeLessThan(withinMs + SLACK_MS)
        await pause(20)
      }
    }
  })
})

describe.skipIf(!onServer)(`tenant delete${skipped}`, () => {
  beforeAll(begin(process.env.REDIS_URL, 2))
  afterAll(end)

  test('goes on whichever worker is killed, and takes nothing of another tenant', async () => {
    const { tenant, apiKey, identitySecret } = await done('tenant', 'create', '--slug', 'acme')
    const { id } = (await service.call('POST', '/discussions', { body: { externalId: 'kept' } })).json
    await service.ok('POST', `/discussions/${id}/comments`, { body: 'kept' }, await service.as('ada'))
    const sign = await import('../harness/identity.ts')
    const assertion = await sign.signIdentity(
      { tenant: 'acme', secret: identitySecret.secret as string },
      { sub: 'ada', name: 'Ada' },
    )
    const headers = { 'x-api-key': apiKey as string, 'x-service-identity': assertion }
    const fill = async (page: number) => {
      const path = `/discussions/by-external/page-${page}/comments`
      let parentId: string | null = null
      for (let n = 0; n < 8; n++)
        parentId = (await service.call('POST', path, { body: { body: 'x', parentId }, headers })).json.id
    }
    await Promise.all(Array.from({ length: PAGES }, (_, page) => fill(page)))
    for (const refused of [await cli('tenant', 'delete', '--tenant', 'acme', '--yes')])
      expect(refused).toMatchObject({ code: 1, stderr: 'acme is not suspended: run tenant suspend first\n' })
    await done('tenant', 'suspend', '--tenant', 'acme')
    expect(await cli('tenant', 'delete', '--tenant', 'acme')).toMatchObject({
      code: 1,
      stderr: 'tenant delete is final: repeat it with --yes\n',
    })
    // Workers fold analytics, which moves rows between tables.
    await vi.waitFor(async () => expect((await database.query('SELECT FROM analytics_deltas')).rowCount).toBe(0), LONG)
    const before = await count()
    expect(before.get(tenant.id)).toMatchObject({ comments: 8 * PAGES })
    expect(await done('tenant', 'delete', '--tenant', 'acme', '--yes')).toMatchObject({ state: 'deleting' })
    expect((await done('tenant', 'create', '--slug', 'acme')).tenant.slug).toBe('acme')
    const left = async () =>
      Number((await database.query('SELECT count(*) AS n FROM comments WHERE tenant_id = $1', [tenant.id])).rows[0].n)
    await database.query('UPDATE tenants SET removal_due_at = now() - make_interval(secs => 1) WHERE id = $1', [
      tenant.id,
    ])
    for (let n = 0; n < KILLS && (await left()) > 0; n++) {
      const now = await left()
      await vi.waitFor(async () => expect(await left()).toBeLessThan(now), { timeout: LONG, interval: 1 })
      await Promise.all(service.workers.map((worker) => worker.kill()))
      // What they held is free after a while.
      await database.query(
        'UPDATE tenants SET removal_due_at = now() - make_interval(secs => 1) WHERE removal_due_at IS NOT NULL',
      )
      await Promise.all(service.workers.map((worker) => worker.start()))
    }
    await vi.waitFor(
      async () => expect((await database.query('SELECT FROM tenants WHERE id = $1', [tenant.id])).rowCount).toBe(0),
      { timeout: LONG, interval: 50 },
    )
    const after = await count()
    expect(after.has(tenant.id)).toBe(false)
    const kept = [...before.keys()].find((each) => each !== tenant.id) ?? ''
    expect(after.get(kept)).toEqual(before.get(kept))
    expect(
      (await service.call('GET', '/discussions', { api: last(service.apis), headers: { 'x-api-key': apiKey } })).status,
    ).toBe(401)
    expect((await done('tenant', 'list')).map(({ slug, state }: TestResponse['json']) => [slug, state])).toEqual([
      ['demo', 'active'],
      ['acme', 'active'],
    ])
  })

  test('with --wait ends once nothing is left, also without a worker', async () => {
    await Promise.all(service.workers.map((worker) => worker.stop()))
    const { tenant } = await done('tenant', 'create', '--slug', 'second')
    await done('tenant', 'suspend', '--tenant', 'second')
    const since = performance.now()
    const { code, stdout, stderr } = await cli('tenant', 'delete', '--tenant', 'second', '--yes', '--wait')
    expect([code, JSON.parse(stdout)]).toEqual([0, { tenant: { id: tenant.id, slug: 'second' }, state: 'deleted' }])
    expect(performance.now() - since).toBeGreaterThan(5000)
    expect(JSON.parse(first(stderr.split('\n')))).toEqual({ left: { discussions: 0, readers: 0 } })
    expect((await count()).has(tenant.id)).toBe(false)
    expect((await cli('tenant', 'show', '--tenant', 'second')).stderr).toBe('there is no tenant second\n')
  })
})
