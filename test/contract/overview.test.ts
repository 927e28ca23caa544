import { expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import { unnamed } from '../harness/sql.ts'
import { COUNT_LIMIT } from '../../src/core/database/lists.ts'
import type { Param } from '../../src/core/database/statements.ts'
import { PresenceReporter } from '../../src/domains/tickets/presence.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { statementsOf } from '../harness/statements.ts'
import { openStream } from '../harness/stream-client.ts'

const service = useService()
let count = 0

const NOTHING = {
  pending: 0,
  reported: 0,
  circuitsOpen: 0,
  endpointsDisabled: 0,
  endpointsUnverified: 0,
  deliveriesHeld: 0,
  openStreams: 0,
}

interface Side extends TestTenant {
  headers: Record<string, string>
}

async function freshTenant(): Promise<Side> {
  const tenant = await service.addTenant(`overview-${count++}`)
  return { ...tenant, headers: { 'x-api-key': tenant.apiKey } }
}

const calls = callsTo(() => service)
const ok = (side: Side, method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  calls.ok(method, path, body, { ...side.headers, ...headers })

const overview = (side: Side) => ok(side, 'GET', '/overview')

const run = (text: string, params: readonly Param[]) => service.app.db.query(unnamed(text), params)

test('GET /overview of a tenant with nothing to do has zeros', async () => {
  expect(await overview(await freshTenant())).toEqual(NOTHING)
})

test('counts what needs attention, of this tenant only, in REST and GraphQL', async () => {
  const [side, other] = [await freshTenant(), await freshTenant()]
  const [ann, ben] = [await side.as('ann'), await side.as('ben')]
  const post = (page: string) => ok(side, 'POST', `/discussions/by-external/${page}/comments`, { body: 'text' }, ann)
  const { id } = await post('page')
  await ok(side, 'POST', `/comments/${id}/report`, { reason: 'spam' }, ben)
  await ok(side, 'PATCH', '/settings', { moderationMode: 'pre' })
  for (const page of ['page', 'page', 'another']) await post(page)
  const endpoints: string[] = []
  for (let n = 0; n < 6; n++) endpoints.push((await ok(side, 'POST', '/webhooks', { url: 'https://127.0.0.1:9/' })).id)
  const set = (n: number, state: string, openFor: string | null) =>
    run(
      'UPDATE webhook_endpoints SET state = $2::endpoint_state, circuit_open_until = now() + $3::interval WHERE id = $1',
      [endpoints[n] ?? null, state, openFor],
    )
  await set(0, 'verified', null)
  await set(1, 'verified', '1 minute')
  await set(2, 'verified', '-1 minute')
  // The circuit of a disabled endpoint does not count.
  await set(3, 'disabled', '1 minute')
  const { deliveryId } = await addDelivery(service.app, side.tenant.id, endpoints[3] ?? '')
  await addDelivery(service.app, side.tenant.id, endpoints[0] ?? '')
  await run(`UPDATE deliveries SET status = 'held' WHERE id = $1`, [deliveryId])
  const expected = {
    ...NOTHING,
    pending: 3,
    reported: 1,
    circuitsOpen: 2,
    endpointsDisabled: 1,
    endpointsUnverified: 2,
    deliveriesHeld: 1,
  }
  expect(await overview(side)).toEqual(expected)
  expect(await overview(other)).toEqual(NOTHING)
  const query = `{ overview { ${Object.keys(expected).join(' ')} } }`
  const { result, statements } = await statementsOf(service, () => service.graphql(query, {}, side.headers))
  expect(result.json).toEqual({ data: { overview: expected } })
  expect(statements.filter((name) => /count_queues|webhook_health|count_streams/.test(name))).toHaveLength(3)
})

test('counts the open streams of all discussions and processes', async () => {
  const [side, other] = [await freshTenant(), await freshTenant()]
  const discussionOf = async (of: Side) => (await ok(of, 'POST', '/discussions', { externalId: newId() })).id as string
  const [first, second, theirs] = [await discussionOf(side), await discussionOf(side), await discussionOf(other)]
  const open = (id: string, of: Side) => openStream(`${service.url}/api/v1/stream/${id}`, of.headers)
  const clients = [await open(first, side), await open(second, side), await open(theirs, other)]
  const counts = () => [{ tenantId: side.tenant.id, discussionId: first, streams: 5 }]
  const elsewhere = new PresenceReporter({ db: service.app.db, log: service.app.log, hub: { counts } })
  try {
    await vi.waitFor(async () => {
      // A report counts for 5 s.
      await elsewhere.report()
      expect((await overview(side)).openStreams).toBe(7)
    })
    expect((await overview(other)).openStreams).toBe(1)
  } finally {
    clients.forEach((client) => client.close())
    await elsewhere.stop()
  }
  await vi.waitFor(async () => expect((await overview(side)).openStreams).toBe(0))
})

test('a key gets the numbers that its capabilities allow, and null for the others', async () => {
  const side = await freshTenant()
  const as = async (...capabilities: string[]) => {
    const { key } = await ok(side, 'POST', '/keys', { label: 'some', capabilities })
    return ok(side, 'GET', '/overview', undefined, { 'x-api-key': key })
  }
  const [queues, webhooks] = [
    { pending: 0, reported: 0 },
    { circuitsOpen: 0, endpointsDisabled: 0, endpointsUnverified: 0, deliveriesHeld: 0 },
  ]
  const none = (of: object) => Object.fromEntries(Object.keys(of).map((name) => [name, null]))
  expect(await as()).toEqual({ ...none(queues), ...none(webhooks), openStreams: 0 })
  expect(await as('moderate_content')).toEqual({ ...queues, ...none(webhooks), openStreams: 0 })
  expect(await as('manage_webhooks')).toEqual({ ...none(queues), ...webhooks, openStreams: 0 })
})

test('comments and deliveries are counted up to the limit', async () => {
  const side = await freshTenant()
  const { discussionId } = await ok(
    side,
    'POST',
    '/discussions/by-external/p/comments',
    { body: 'a' },
    await side.as('a'),
  )
  const endpoint = (await ok(side, 'POST', '/webhooks', { url: 'https://127.0.0.1:9/' })).id
  const params = [side.tenant.id, discussionId, COUNT_LIMIT + 1]
  await run(
    `INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
     SELECT $1, gen_random_uuid(), $2, 'a', 'a', 'pending' FROM generate_series(1, $3::int)`,
    params,
  )
  await run(
    `INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, status)
     SELECT $1, gen_random_uuid(), $4, gen_random_uuid(), 'comment_created', $2, 1, 'held' FROM generate_series(1, $3::int)`,
    [...params, endpoint],
  )
  expect(await overview(side)).toMatchObject({ pending: COUNT_LIMIT, deliveriesHeld: COUNT_LIMIT })
})
