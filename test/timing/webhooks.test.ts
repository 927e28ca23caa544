import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import type { Statement } from '../../src/core/database/statements.ts'
import { type Busy, endpointKey, leaseDeliveries } from '../../src/worker/statements/lease-sql.ts'
import { lockForReplay } from '../../src/domains/webhooks/sending/sending-sql.ts'
import { startDeliveries } from '../../src/worker/deliveries.ts'
import { startHandshakes } from '../../src/worker/handshakes.ts'
import { openOutbound, type Outbound } from '../../src/outbound/outbound.ts'
import type { Task } from '../../src/worker/tasks.ts'
import { addDelivery, deliveryState } from '../harness/outbox.ts'
import { hang, reply, startReceiver } from '../harness/receiver.ts'
import type { TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service } = useReceiver({ worker: false })
let outbound: Outbound
let path: string
let counter = 0
const tasks: Task[] = []

const WAIT = { timeout: 30_000, interval: 20 }
const SHORT = { leaseMs: 600, heartbeatMs: 100 }
const LONG = { leaseMs: 60_000, heartbeatMs: 10_000 }
/**
 * Short enough to expire during a test, and longer than the machine may stall, because a stall
 * rightly loses the lease.
 */
const HELD = { leaseMs: 4000, heartbeatMs: 200 }

beforeAll(async () => {
  outbound = openOutbound(service.app.settings)
})

afterAll(() => outbound.close())

beforeEach(() => {
  path = `/hook-${++counter}`
})

afterEach(async () => {
  await Promise.all(tasks.splice(0).map((task) => task.stop(0)))
  await service.app.db.query(unnamed('DELETE FROM webhook_endpoints'))
})

const VERIFY = unnamed(
  `UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL WHERE id = $1`,
)

async function endpoint(at = path, policy: object = {}, { apiKey }: TestTenant = service): Promise<string> {
  const body = { url: receiver.url + at, policy }
  const { json } = await service.call('POST', '/webhooks', { body, headers: { 'x-api-key': apiKey } })
  await service.app.db.query(VERIFY, [json.id])
  return json.id
}

const add = (endpointId: string) => addDelivery(service.app, service.tenant.id, endpointId)
const state = (deliveryId: string) => deliveryState(service.app, deliveryId)
/** Waits until it is delivered, which took one attempt. */
const deliveredByOne = (deliveryId: string) =>
  vi.waitFor(async () => expect(await state(deliveryId)).toMatchObject({ status: 'delivered', attemptCount: 1 }), WAIT)

/** A worker's deliveries, as in a process of their own. */
function startTask(app: App = service.app, timing = SHORT, through = outbound): Task {
  const task = startDeliveries(app, through, timing)
  tasks.push(task)
  return task
}

/** The same database, with `fail` called before each statement. */
const appWith = (fail: (statement: Statement) => void): App => ({
  ...service.app,
  db: {
    ...service.app.db,
    query: async (...args) => {
      fail(args[0])
      return service.app.db.query(...args)
    },
  },
})

describe('a lease', () => {
  test('of a dead worker is taken over once it ends, not before, and uses up no attempt', async () => {
    const id = await endpoint()
    const { deliveryId } = await add(id)
    const endsAt = Date.now() + 700
    const abandon = unnamed(
      `UPDATE deliveries SET status = 'delivering', lease_id = gen_random_uuid(), next_attempt_at = $2 WHERE id = $1`,
    )
    await service.app.db.query(abandon, [deliveryId, new Date(endsAt).toISOString()])
    startTask()
    await deliveredByOne(deliveryId)
    expect(receiver.deliveries(path)[0]?.at).toBeGreaterThanOrEqual(endsAt - 20)
  })

  test('is extended while its attempt takes longer, so that no other worker begins it', async () => {
    const answer = receiver.hold(path, 200)
    const id = await endpoint()
    const { deliveryId } = await add(id)
    startTask(service.app, HELD)
    startTask(service.app, HELD)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1), WAIT)
    const first = (await state(deliveryId))?.nextAttemptAt?.getTime() ?? Infinity
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(first + 1000), WAIT)
    answer()
    await deliveredByOne(deliveryId)
    expect(receiver.deliveries(path)).toHaveLength(1)
  })

  test('that cannot be extended ends its attempt before another worker begins', async () => {
    const ends: number[] = []
    receiver.on(path, (_request, response) => {
      response.on('close', () => ends.push(Date.now()))
      return true
    })
    const id = await endpoint()
    const { deliveryId } = await add(id)
    let cutOff = false
    startTask(
      appWith(() => {
        if (cutOff) throw new Error('the database is away')
      }),
    )
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1), WAIT)
    cutOff = true
    startTask()
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(2), WAIT)
    expect(ends[0]).toBeLessThanOrEqual(receiver.deliveries(path)[1]?.at ?? 0)
    expect(await state(deliveryId)).toMatchObject({ attemptCount: 0 })
  })

  test('that an erasure takes back ends its attempt before the one with the new text begins', async () => {
    const ends: number[] = []
    receiver.on(path, (_request, response) => {
      response.on('close', () => ends.push(Date.now()))
      return true
    })
    await endpoint()
    const headers = await service.as('leaver')
    const at = `/discussions/by-external/${path.slice(1)}/comments`
    const { json } = await service.call('POST', at, { body: { body: 'a name to forget' }, headers })
    startTask(service.app, HELD)
    startTask(service.app, HELD)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1), WAIT)
    expect((await service.call('DELETE', `/readers/${json.author.id}`)).status).toBe(204)
    const created = () => receiver.deliveries(path).filter(({ body }) => body.type === 'comment_created')
    await vi.waitFor(() => expect(created()).toHaveLength(2), WAIT)
    const [before, after] = created()
    expect(ends[0]).toBeLessThanOrEqual(after?.at ?? 0)
    expect([before, after].map((each) => each?.raw.includes('a name to forget'))).toEqual([true, false])
    expect(after?.headers['x-service-delivery-id']).toBe(before?.headers['x-service-delivery-id'])
  })

  test('is given back at a stop, due at once, its attempt not counted', async () => {
    receiver.on(path, hang)
    const id = await endpoint()
    const { deliveryId } = await add(id)
    const task = startTask(service.app, LONG)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1), WAIT)
    await task.stop(50)
    expect(await state(deliveryId)).toMatchObject({ status: 'pending', attemptCount: 0, leaseId: null })
    receiver.on(path, null)
    startTask()
    await deliveredByOne(deliveryId)
  })

  test('that was lost records no outcome', async () => {
    const answer = receiver.hold(path, 500)
    const id = await endpoint()
    const { deliveryId } = await add(id)
    const task = startTask(service.app, LONG)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1), WAIT)
    const take = unnamed('UPDATE deliveries SET lease_id = gen_random_uuid() WHERE id = $1')
    await service.app.db.query(take, [deliveryId])
    answer()
    await task.stop(5000)
    expect(await state(deliveryId)).toMatchObject({ status: 'delivering', attemptCount: 0 })
    expect((await service.call('GET', `/webhooks/${id}`)).json.consecutiveFailures).toBe(0)
  })
})

test('a stop waits for the attempt under way, and its outcome is recorded', async () => {
  const answer = receiver.hold(path, 200)
  const { deliveryId } = await add(await endpoint())
  const task = startTask(service.app, LONG)
  await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1), WAIT)
  const stopped = task.stop(10_000)
  answer()
  await stopped
  expect(await state(deliveryId)).toMatchObject({ status: 'delivered', attemptCount: 1 })
})

test('three workers attempt each delivery once, with at most 8 at a time per endpoint and worker', async () => {
  let open = 0
  let most = 0
  receiver.on(path, (_request, response) => {
    most = Math.max(most, ++open)
    setTimeout(() => {
      open--
      reply(response, 200)
    }, 5)
    return true
  })
  // An attempt that timed out would rightly be repeated.
  const id = await endpoint(path, { timeoutMs: 30_000 })
  const added = await Promise.all(Array.from({ length: 100 }, () => add(id)))
  for (let n = 0; n < 3; n++) startTask(service.app, LONG)
  const unfinished = unnamed(`SELECT id FROM deliveries WHERE endpoint_id = $1 AND status <> 'delivered'`)
  // As long as it takes: how fast they are is for a bench.
  const patience = { timeout: 100_000, interval: 100 }
  await vi.waitFor(async () => expect(await service.app.db.query(unfinished, [id])).toEqual([]), patience)
  const sent = receiver.deliveries(path).map(({ headers }) => headers['x-service-delivery-id'])
  expect(sent).toHaveLength(added.length)
  expect(new Set(sent)).toEqual(new Set(added.map(({ deliveryId }) => deliveryId)))
  expect(most).toBeLessThanOrEqual(24)
})

test('a hanging endpoint, with a backlog before all others, delays no other', async () => {
  receiver.on(path, hang)
  const hanging = await endpoint(path, { timeoutMs: 30_000 })
  for (let n = 0; n < 100; n++) await add(hanging)
  const healthy = await endpoint(`${path}-healthy`)
  const added = await Promise.all(Array.from({ length: 30 }, () => add(healthy)))
  startTask(service.app, LONG)
  // At least once each: on a slow machine, one may have been retried.
  const arrived = () => receiver.deliveries(`${path}-healthy`).map(({ headers }) => headers['x-service-delivery-id'])
  await vi.waitFor(() => expect(new Set(arrived()).size).toBe(added.length), WAIT)
  expect(receiver.deliveries(path)).toHaveLength(8)
})

test('a tenant has half of a worker, beyond it one slot for each idle endpoint, and others have their share', async () => {
  const { db } = service.app
  const greedy = await Promise.all(Array.from({ length: 12 }, (_, n) => endpoint(`${path}-${n}`)))
  for (const id of greedy) await Promise.all(Array.from({ length: 8 }, () => add(id)))
  const slots = 64
  const busy = new Map<string, Busy>()
  const held = (tenantId: string): number =>
    [...busy.values()].reduce((sum, each) => sum + (each.tenantId === tenantId ? each.count : 0), 0)
  const total = (): number => [...busy.values()].reduce((sum, { count }) => sum + count, 0)
  async function lease(): Promise<void> {
    const options = { leaseMs: 60_000, busy: [...busy.values()], perEndpoint: 8, limit: slots - total() }
    const { leases } = await leaseDeliveries(db.query, options)
    for (const { tenantId, endpointId } of leases) {
      const key = endpointKey({ tenantId, endpointId })
      busy.set(key, { tenantId, endpointId, count: (busy.get(key)?.count ?? 0) + 1 })
    }
  }
  for (let n = 0; n < 3; n++) await lease()
  const counts = [...busy.values()].map(({ count }) => count).sort((a, b) => b - a)
  expect(counts).toEqual([8, 8, 8, 8, 1, 1, 1, 1, 1, 1, 1, 1])

  const other = await service.addTenant(`other-${counter}`)
  const id = await endpoint(`${path}-other`, {}, other)
  await Promise.all(Array.from({ length: 5 }, () => addDelivery(service.app, other.tenant.id, id)))
  await lease()
  expect(held(other.tenant.id)).toBe(5)
  expect(held(service.tenant.id)).toBe(40)
})

const TWIN_ENDPOINT = unnamed(
  `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state) VALUES ($1, $2, $3, '{*}', 'verified')`,
)
const TWIN_SECRET = unnamed(
  `INSERT INTO webhook_secrets (tenant_id, endpoint_id, kid, sealed)
   SELECT $1, endpoint_id, kid, sealed FROM webhook_secrets WHERE endpoint_id = $2`,
)
const DELIVERED = unnamed(
  `SELECT tenant_id AS "tenantId", count(*) FILTER (WHERE status = 'delivered')::int AS delivered
   FROM deliveries WHERE endpoint_id = $1 GROUP BY tenant_id`,
)
const ADVISORY_LOCKS = unnamed(
  `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
)

// An import that keeps ids makes such endpoints.
test('two tenants whose endpoints, discussions and deliveries have the same ids do not affect each other', async () => {
  const { db } = service.app
  const twin = await service.addTenant(`twin-${counter}`)
  const id = await endpoint(`${path}-hangs`, { timeoutMs: 30_000 })
  await db.query(TWIN_ENDPOINT, [twin.tenant.id, id, receiver.url + path])
  await db.query(TWIN_SECRET, [twin.tenant.id, id])
  receiver.on(`${path}-hangs`, hang)
  const added = await Promise.all(Array.from({ length: 20 }, () => add(id)))
  startTask(service.app, LONG)
  await vi.waitFor(() => expect(receiver.deliveries(`${path}-hangs`)).toHaveLength(8), WAIT)
  for (const ids of added) await addDelivery(service.app, twin.tenant.id, id, '{"note":"twin"}', ids)
  await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(20), WAIT)
  for (const { raw } of receiver.deliveries(path)) expect(raw.toString()).toContain('twin')
  for (const { raw } of receiver.deliveries(`${path}-hangs`)) expect(raw.toString()).not.toContain('twin')
  await vi.waitFor(async () => {
    const counts = await db.query<{ tenantId: string; delivered: number }>(DELIVERED, [id])
    expect(new Map(counts.map(({ tenantId, delivered }) => [tenantId, delivered]))).toEqual(
      new Map([
        [service.tenant.id, 0],
        [twin.tenant.id, 20],
      ]),
    )
  }, WAIT)
  // A replay for one does not wait for a replay for the other.
  await db.transaction(async (sql) => {
    for (const { tenant } of [service, twin]) await lockForReplay(sql, tenant.id, id)
    expect(await sql(ADVISORY_LOCKS)).toEqual([{ n: 2 }])
  })
})

test('a temporary outage of the database loses no outcome, and nothing is delivered twice', async () => {
  const id = await endpoint()
  let failures = 3
  const app = appWith(({ name }) => {
    if (name === 'record_attempts' && failures-- > 0) throw new Error('the database is away')
    if (name === 'lease_deliveries' && failures === 2) throw new Error('the database is away')
  })
  const added = await Promise.all(Array.from({ length: 5 }, () => add(id)))
  startTask(app, LONG)
  await vi.waitFor(async () => {
    for (const { deliveryId } of added)
      expect(await state(deliveryId)).toMatchObject({ status: 'delivered', attemptCount: 1 })
  }, WAIT)
  expect(receiver.deliveries(path)).toHaveLength(5)
})

describe('an address that is not allowed', () => {
  const CONNECTION: [string, string, string[]][] = [
    ['a name that resolves to loopback', 'https://localhost', []],
    ['loopback itself', 'https://127.0.0.1', []],
    ['loopback as v4-mapped v6', 'https://[::ffff:127.0.0.1]', []],
    ['loopback, where another range is open', 'https://127.0.0.1', ['10.0.0.0/8']],
  ]

  test.each(CONNECTION)('is not connected to: %s', async (_name, origin, WEBHOOK_ALLOWED_CIDRS) => {
    const guarded = openOutbound({ ...service.app.settings, WEBHOOK_ALLOWED_CIDRS })
    // Registration refuses literal ones; one that slipped in is refused at the attempt.
    const id = await endpoint(path, { maxAttempts: 1 })
    const move = unnamed('UPDATE webhook_endpoints SET url = $2 WHERE id = $1')
    await service.app.db.query(move, [id, `${origin}:${new URL(receiver.url).port}${path}`])
    const { deliveryId } = await add(id)
    startTask(service.app, SHORT, guarded)
    await vi.waitFor(async () => expect((await state(deliveryId))?.status).toBe('failed'), WAIT)
    const { json } = await service.call('GET', `/webhooks/${id}/deliveries/${deliveryId}`)
    expect(json.attempts).toEqual([expect.objectContaining({ statusCode: null, error: 'address not allowed' })])
    expect(receiver.deliveries(path)).toEqual([])
    guarded.close()
  })

  test('is not connected to by a handshake either', async () => {
    const guarded = openOutbound({ ...service.app.settings, WEBHOOK_ALLOWED_CIDRS: [] })
    const { json } = await service.call('POST', '/webhooks', { body: { url: `https://localhost:1${path}` } })
    tasks.push(startHandshakes(service.app, guarded))
    await vi.waitFor(async () => {
      expect((await service.call('GET', `/webhooks/${json.id}`)).json.lastVerification?.error).toBe(
        'address not allowed',
      )
    }, WAIT)
    guarded.close()
  })

  test('connects only to checked addresses: a name is resolved once, and its forbidden addresses are left out', async () => {
    let asked = 0
    const resolve = async () => {
      asked++
      return [
        { address: '10.0.0.1', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]
    }
    const pinned = openOutbound(service.app.settings, resolve)
    const url = `https://localhost:${new URL(receiver.url).port}${path}`
    const request = { url, headers: {}, body: '{}', timeoutMs: 30_000, signal: new AbortController().signal }
    expect(await pinned.post(request)).toMatchObject({ statusCode: 204, error: null })
    expect(await pinned.post(request)).toMatchObject({ statusCode: 204, error: null })
    expect(asked).toBe(1)
    pinned.close()
  })
})

describe('a connection that is not trusted', () => {
  const request = (url: string) => ({
    url,
    headers: {},
    body: '{}',
    timeoutMs: 30_000,
    signal: new AbortController().signal,
  })

  test('by an unknown CA is refused', async () => {
    const stranger = await startReceiver()
    expect(await outbound.post(request(stranger.url))).toMatchObject({
      error: 'tls: the certificate cannot be verified',
    })
    expect(stranger.requests).toEqual([])
    await stranger.close()
  })

  test('over http is refused, even for endpoints registered while the setting allowed it', async () => {
    const plain = receiver.url.replace('https:', 'http:')
    expect(await outbound.post(request(plain))).toMatchObject({ statusCode: null, error: 'http not allowed' })
  })

  test('with a certificate for another name is refused', async () => {
    const other = await startReceiver(['elsewhere.example'])
    const trusting = openOutbound({ ...service.app.settings, WEBHOOK_CA_FILE: other.caFile })
    expect(await trusting.post(request(other.url))).toMatchObject({ error: 'tls: the certificate is for another name' })
    expect(other.requests).toEqual([])
    trusting.close()
    await other.close()
  })

  test('an unknown name is a failed attempt', async () => {
    const failing = openOutbound(service.app.settings, () =>
      Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })),
    )
    expect(await failing.post(request('https://nowhere.example/'))).toMatchObject({
      statusCode: null,
      error: 'name not found',
    })
    failing.close()
  })

  test('a hanging name look-up counts towards the one deadline', async () => {
    const hanging = openOutbound(service.app.settings, () => new Promise(() => undefined))
    const answer = await hanging.post({ ...request('https://nowhere.example/'), timeoutMs: 100 })
    expect(answer).toMatchObject({ statusCode: null, error: 'timeout' })
    hanging.close()
  })
})
