import type { ServerResponse } from 'node:http'

import { beforeEach, describe, expect, test, vi } from 'vitest'

import { WEBHOOK_EVENT_TYPES } from '../../src/core/events.ts'
import { createHealthServer } from '../../src/api/http/health.ts'
import { effort } from '../harness/effort.ts'
import { addDelivery } from '../harness/outbox.ts'
import { isGenuine, reply } from '../harness/receiver.ts'
import { METRICS_TOKEN } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service, whenVerified } = useReceiver()
let path: string
let counter = 0

const UNKNOWN = '019a0000-0000-7000-8000-000000000000'
const DAY_MS = 86_400_000

beforeEach(() => {
  path = `/hook-${++counter}`
})

const post = (route: string, body?: object) =>
  service.call('POST', `/webhooks/${route}`, body === undefined ? {} : { body })
const read = async (id: string) => (await service.call('GET', `/webhooks/${id}`)).json
const get = async (id: string, deliveryId: string) =>
  (await service.call('GET', `/webhooks/${id}/deliveries/${deliveryId}`)).json
const list = async (id: string, query = '?limit=100') =>
  (await service.call('GET', `/webhooks/${id}/deliveries${query}`)).json.data
const add = (id: string) => addDelivery(service.app, service.tenant.id, id)

async function registerVerified(body: object = {}) {
  const json = await service.ok('POST', '/webhooks', {
    url: receiver.url + path,
    policy: { backoffBaseMs: 10 },
    ...body,
  })
  await whenVerified(json.id)
  return json
}

/** An endpoint whose receiver does not answer its handshake. */
async function registerUnverified() {
  receiver.on(path, (_request, response) => reply(response, 404))
  return (await service.call('POST', '/webhooks', { body: { url: receiver.url + path } })).json
}

const auditOf = async (id: string) =>
  service.app.prisma.auditEntry.findMany({ where: { targetId: id }, orderBy: { id: 'asc' } })

describe('POST /webhooks/{id}/rotate-secret', () => {
  test('answers 200 with the new secret; for 24 h the old one signs too', async () => {
    const { id, secret, kid } = await registerVerified()
    const { status, json } = await post(`${id}/rotate-secret`)
    expect(status).toBe(200)
    expect(json).toMatchObject({ id, secret: expect.stringMatching(/^whs_[0-9a-f]{64}$/), state: 'verified' })
    expect(json.secret).not.toBe(secret)
    expect(json.secrets.map((each: { kid: string }) => each.kid)).toEqual([json.kid, kid])
    expect(json.secrets[0].expiresAt).toBeNull()
    const leftMs = Date.parse(json.secrets[1].expiresAt) - Date.now()
    expect(leftMs).toBeGreaterThan(DAY_MS - 60_000)
    expect(leftMs).toBeLessThanOrEqual(DAY_MS + 1000)
    await add(id)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    const [request] = receiver.deliveries(path)
    expect(isGenuine(request!, { [json.kid]: json.secret })).toBe(true)
    expect(isGenuine(request!, { [kid]: secret }, 'signature-previous')).toBe(true)
    expect(isGenuine(request!, { [kid]: secret })).toBe(false)
    for (const at of ['', `/${id}`])
      expect((await service.call('GET', `/webhooks${at}`)).text).not.toContain(json.secret)
    expect(JSON.stringify(await auditOf(id))).not.toMatch(/whs_/)
  })

  test('within these 24 h answers 409 invalid_transition; forced, the oldest secret ends at once', async () => {
    const { id, kid } = await registerVerified()
    const second = (await post(`${id}/rotate-secret`)).json
    expect((await post(`${id}/rotate-secret`)).json).toMatchObject({ status: 409, code: 'invalid_transition' })
    expect((await post(`${id}/rotate-secret`, { force: false })).status).toBe(409)
    const third = (await post(`${id}/rotate-secret`, { force: true })).json
    expect(third.secrets.map((each: { kid: string }) => each.kid)).toEqual([third.kid, second.kid])
    expect(third.secrets.map((each: { kid: string }) => each.kid)).not.toContain(kid)
  })

  test('after the 24 h the old secret no longer signs, and another rotation is possible', async () => {
    const { id } = await registerVerified()
    const second = (await post(`${id}/rotate-secret`)).json
    const age = unnamed(
      `UPDATE webhook_secrets SET expires_at = now() - interval '1 second' WHERE endpoint_id = $1 AND expires_at IS NOT NULL`,
    )
    await service.app.db.query(age, [id])
    await add(id)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    expect(receiver.deliveries(path)[0]?.headers).not.toHaveProperty('x-service-signature-previous')
    expect((await read(id)).secrets).toHaveLength(1)
    const third = await post(`${id}/rotate-secret`)
    expect(third.status).toBe(200)
    expect(third.json.secrets.map((each: { kid: string }) => each.kid)).toEqual([third.json.kid, second.kid])
  })

  test('of many concurrent rotations one succeeds', async () => {
    const { id } = await registerVerified()
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(`${id}/rotate-secret`)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 409])
  })
})

describe('POST /webhooks/{id}/test', () => {
  test.each(WEBHOOK_EVENT_TYPES)('%s: answers 202; an example arrives, signed and marked', async (eventType) => {
    const { id, secret, kid } = await registerVerified({ eventTypes: ['discussion_locked'] })
    const { status, json } = await post(`${id}/test`, { eventType })
    expect([status, json.status, json.eventType]).toEqual([202, 'pending', eventType])
    await vi.waitFor(async () => expect((await get(id, json.id)).status).toBe('delivered'))
    const [request] = receiver.deliveries(path)
    expect(isGenuine(request!, { [kid]: secret })).toBe(true)
    expect(request?.headers).toMatchObject({
      'x-service-event': eventType,
      'x-service-test': 'true',
      'x-service-delivery-id': json.id,
      'x-service-idempotency-key': `${eventType}:${json.eventId}`,
    })
    expect(request?.body).toMatchObject({ id: json.eventId, type: eventType, seq: 0, data: expect.any(Object) })
    const delivery = await get(id, json.id)
    expect(delivery.body).toBe(request?.raw.toString())
    expect(delivery.headers).toMatchObject({ 'X-Service-Test': 'true' })
  })

  test('is no event: nothing is written to any event log', async () => {
    const { id } = await registerVerified()
    const count = unnamed('SELECT count(*)::int AS count FROM events')
    const before = await service.app.db.query(count)
    const { json } = await post(`${id}/test`, { eventType: 'comment_created' })
    await vi.waitFor(async () => expect((await get(id, json.id)).status).toBe('delivered'))
    expect(await service.app.db.query(count)).toEqual(before)
  })

  test('is retried like any other delivery', async () => {
    receiver.on(path, ({ headers }, response) =>
      headers['x-service-event'] === 'verification' ? undefined : reply(response, 500),
    )
    const { id } = await registerVerified()
    const { json } = await post(`${id}/test`, { eventType: 'comment_created' })
    await vi.waitFor(async () => expect((await get(id, json.id)).status).toBe('failed'))
    expect(receiver.deliveries(path)).toHaveLength(3)
    expect(await read(id)).toMatchObject({ consecutiveFailures: 3 })
  })

  test('of an unknown event answers 422; of an unverified endpoint 409', async () => {
    const { id } = await registerVerified()
    for (const eventType of ['notification_reply', 'verification', '*', 'nothing']) {
      expect((await post(`${id}/test`, { eventType })).json.errors[0].pointer).toBe('/eventType')
    }
    path = `${path}-unverified`
    const other = await registerUnverified()
    const refused = await post(`${other.id}/test`, { eventType: 'comment_created' })
    expect(refused.json).toMatchObject({ status: 409, code: 'invalid_transition' })
    expect(await list(other.id)).toEqual([])
  })
})

describe('POST /webhooks/{id}/deliveries/{deliveryId}/redeliver', () => {
  test('answers 202 with a new delivery id under the same idempotency key, any number of times', async () => {
    const { id, secret, kid } = await registerVerified()
    const { deliveryId, eventId } = await add(id)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('delivered'))
    const ids = [deliveryId]
    for (let n = 2; n <= 3; n++) {
      const { status, json } = await post(`${id}/deliveries/${deliveryId}/redeliver`)
      expect([status, json.eventId, json.status, json.attempts]).toEqual([202, eventId, 'pending', []])
      ids.push(json.id)
      await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(n))
    }
    expect(new Set(ids).size).toBe(3)
    const requests = receiver.deliveries(path)
    expect(requests.map(({ headers }) => headers['x-service-delivery-id'])).toEqual(ids)
    const keys = new Set(requests.map(({ headers }) => headers['x-service-idempotency-key']))
    expect(keys).toEqual(new Set([`discussion_locked:${eventId}`]))
    expect(new Set(requests.map(({ raw }) => raw.toString())).size).toBe(1)
    expect(requests.every((request) => isGenuine(request, { [kid]: secret }))).toBe(true)
  })

  test('of a test repeats its body', async () => {
    const { id } = await registerVerified()
    const { json } = await post(`${id}/test`, { eventType: 'reaction_toggled' })
    await post(`${id}/deliveries/${json.id}/redeliver`)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(2))
    expect(new Set(receiver.deliveries(path).map(({ raw }) => raw.toString())).size).toBe(1)
  })

  test("answers 404 for unknown ids, and for another endpoint's delivery", async () => {
    const { id } = await registerVerified()
    const { deliveryId } = await add(id)
    path = `${path}-other`
    const other = await registerVerified()
    expect((await post(`${id}/deliveries/${UNKNOWN}/redeliver`)).status).toBe(404)
    expect((await post(`${id}/deliveries/nonsense/redeliver`)).status).toBe(404)
    expect((await post(`${other.id}/deliveries/${deliveryId}/redeliver`)).status).toBe(404)
  })

  test('answers 409 if the event is no longer stored, and if the endpoint is not verified', async () => {
    const { id } = await registerVerified()
    const { deliveryId, eventId } = await add(id)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('delivered'))
    receiver.on(path, (_request, response) => reply(response, 404))
    await service.call('POST', `/webhooks/${id}/verify`)
    expect((await post(`${id}/deliveries/${deliveryId}/redeliver`)).json.code).toBe('invalid_transition')
    receiver.on(path, null)
    await service.call('POST', `/webhooks/${id}/verify`)
    await whenVerified(id)
    await service.app.db.query(unnamed('DELETE FROM events WHERE id = $1'), [eventId])
    expect((await post(`${id}/deliveries/${deliveryId}/redeliver`)).json.code).toBe('invalid_transition')
    expect(await list(id)).toHaveLength(1)
  })
})

describe('POST /webhooks/{id}/replay', () => {
  const ADD_EVENTS = unnamed(`WITH d AS (
       INSERT INTO discussions (tenant_id, id, external_id, seq) VALUES ($1, $2, 'replayed-' || $2::uuid::text, $4)
     )
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
     SELECT $1, $2, n, new_id(), CASE WHEN n % 2 = 0 THEN 'comment_created' ELSE 'notification_reply' END, 'tenant',
       $3::timestamptz + n * interval '1 millisecond', '{"kind":"system"}', json_build_object('n', n)
     FROM generate_series(1, $4::int) AS n`)
  let base = Date.parse('2026-01-01T00:00:00Z')

  /**
   * Events of a time of their own: every second one is a comment, the others never go to webhooks.
   */
  async function happened(count: number, tenantId = service.tenant.id): Promise<{ from: string; to: string }> {
    base += DAY_MS
    const from = new Date(base).toISOString()
    const id = `019a0000-0000-7000-8000-${String(base).padStart(12, '0').slice(-12)}`
    await service.app.db.query(ADD_EVENTS, [tenantId, id, from, count])
    return { from, to: new Date(base + DAY_MS - 1).toISOString() }
  }

  test('queues missing events, in order, and only once', async () => {
    const { id } = await registerVerified()
    const span = await happened(20)
    const { status, json } = await post(`${id}/replay`, span)
    expect([status, json]).toEqual([202, { queued: 10 }])
    expect((await post(`${id}/replay`, span)).json).toEqual({ queued: 0 })
    await vi.waitFor(async () => expect(await list(id, '?status=delivered')).toHaveLength(10))
    expect((await post(`${id}/replay`, span)).json).toEqual({ queued: 0 })
    const bodies = receiver.deliveries(path).map(({ body }) => body)
    expect(bodies.every(({ type }) => type === 'comment_created')).toBe(true)
    expect(new Set(bodies.map(({ seq }) => seq))).toEqual(new Set([2, 4, 6, 8, 10, 12, 14, 16, 18, 20]))
  })

  test('queues failed deliveries again, not delivered ones', async () => {
    receiver.on(path, ({ headers, body }, response) =>
      headers['x-service-event'] !== 'verification' && Number(body.seq) > 4 ? reply(response, 500) : undefined,
    )
    const { id } = await registerVerified({ policy: { maxAttempts: 1, breakerThreshold: 100, disableThreshold: 1000 } })
    const span = await happened(12)
    expect((await post(`${id}/replay`, span)).json).toEqual({ queued: 6 })
    await vi.waitFor(async () => expect(await list(id, '?status=failed')).toHaveLength(4))
    receiver.on(path, null)
    expect((await post(`${id}/replay`, span)).json).toEqual({ queued: 4 })
    await vi.waitFor(async () => expect(await list(id, '?status=delivered')).toHaveLength(6))
  })

  test("selects by time and type; by default the endpoint's own types", async () => {
    const { id } = await registerVerified({ eventTypes: ['comment_edited'] })
    const span = await happened(10)
    expect((await post(`${id}/replay`, span)).json).toEqual({ queued: 0 })
    expect(
      (await post(`${id}/replay`, { ...span, eventTypes: ['comment_edited', 'comment_deleted'] })).json.queued,
    ).toBe(0)
    const to = new Date(Date.parse(span.from) + 5).toISOString()
    expect((await post(`${id}/replay`, { from: span.from, to, eventTypes: ['comment_created'] })).json.queued).toBe(2)
    expect((await post(`${id}/replay`, { ...span, eventTypes: ['*'] })).json.queued).toBe(3)
  })

  test.each([
    [{}, '/from'],
    [{ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, '/to'],
    [{ from: '2026-01-02T00:00:00Z', eventTypes: [] }, '/eventTypes'],
    [{ from: '2026-01-02T00:00:00Z', eventTypes: ['notification_reply'] }, '/eventTypes/0'],
  ])('refuses %j as 422 at %s', async (body, pointer) => {
    const { id } = await registerVerified()
    const { status, json } = await post(`${id}/replay`, body)
    expect([status, json.errors?.[0]?.pointer]).toEqual([422, pointer])
  })

  test('of an unverified endpoint answers 409', async () => {
    const { id } = await registerUnverified()
    expect((await post(`${id}/replay`, { from: '2026-01-01T00:00:00Z' })).json.code).toBe('invalid_transition')
  })

  test("takes no event of another tenant, and has an entry in each tenant's own audit log", async () => {
    const { id } = await registerVerified()
    const stranger = await service.addTenant(`replay-${counter}`)
    const span = await happened(10, stranger.tenant.id)
    expect((await post(`${id}/replay`, span)).json).toEqual({ queued: 0 })
    const entry = (await auditOf(id)).at(-1)
    expect(entry).toMatchObject({
      action: 'webhook.replay',
      tenantId: service.tenant.id,
      after: { queued: 0, ...span },
    })
  })

  test('concurrent replays queue each event once', async () => {
    const { id } = await registerVerified()
    const span = await happened(100)
    const answers = await Promise.all([
      post(`${id}/replay`, span),
      post(`${id}/replay`, span),
      post(`${id}/replay`, span),
    ])
    expect(answers.map(({ json }) => json.queued).toSorted((a, b) => a - b)).toEqual([0, 0, 50])
  })

  test('of many events waits behind later events', async () => {
    const { id } = await registerVerified({ policy: { timeoutMs: 30_000 } })
    const queued = effort(100_000, 4000)
    const span = await happened(2 * queued)
    // The receiver answers none of them before the later event is there.
    const held: ServerResponse[] = []
    receiver.on(path, (_request, response) => held.push(response))
    const { json } = await post(`${id}/replay`, span)
    expect(json).toEqual({ queued })
    await vi.waitFor(() => expect(held.length).toBeGreaterThan(0))
    const { deliveryId } = await add(id)
    receiver.on(path, null)
    for (const response of held) reply(response, 204)
    const place = (): number =>
      receiver.deliveries(path).findIndex(({ headers }) => headers['x-service-delivery-id'] === deliveryId)
    await vi.waitFor(() => expect(place()).toBeGreaterThan(0))
    // Some of them had begun: as many as an endpoint has attempts in flight.
    expect(place()).toBeLessThan(100)
    await service.call('DELETE', `/webhooks/${id}`)
  })
})

test('GraphQL has the same, under the same names', async () => {
  const { id } = await registerVerified()
  const { deliveryId } = await add(id)
  const run = async (query: string, input: object) => {
    const { json } = await service.graphql(query, { input })
    expect(json.errors).toBeUndefined()
    return Object.values(json.data)[0]
  }
  expect(
    await run(
      'mutation ($input: RotateWebhookSecretInput!) { rotateWebhookSecret(input: $input) { secret kid webhookEndpoint { id } } }',
      { id },
    ),
  ).toMatchObject({ secret: expect.stringMatching(/^whs_/), webhookEndpoint: { id } })
  expect(
    await run(
      'mutation ($input: TestWebhookEndpointInput!) { testWebhookEndpoint(input: $input) { delivery { eventType } } }',
      {
        id,
        eventType: 'comment_pinned',
      },
    ),
  ).toEqual({ delivery: { eventType: 'comment_pinned' } })
  expect(
    await run(
      'mutation ($input: RedeliverDeliveryInput!) { redeliverDelivery(input: $input) { delivery { endpointId } } }',
      {
        id,
        deliveryId,
      },
    ),
  ).toEqual({ delivery: { endpointId: id } })
  expect(
    await run('mutation ($input: ReplayWebhookEventsInput!) { replayWebhookEvents(input: $input) { queued } }', {
      id,
      from: '2020-01-01T00:00:00Z',
      to: '2020-01-02T00:00:00Z',
    }),
  ).toEqual({ queued: 0 })
  const enable =
    'mutation ($input: EnableWebhookEndpointInput!) { enableWebhookEndpoint(input: $input) { webhookEndpoint { id } } }'
  expect((await service.graphql(enable, { input: { id } })).json.errors[0].extensions.code).toBe('admin_only')
})

describe('POST /webhooks/{id}/pause and /resume', () => {
  /** Two endpoints that get the events of one new discussion. */
  async function registerPair() {
    const body = { eventTypes: ['comment_created'], policy: { backoffBaseMs: 10, ordered: true } }
    const first = await registerVerified(body)
    const firstPath = path
    path = `/hook-${++counter}`
    const other = await registerVerified(body)
    return { id: first.id as string, firstPath, other: other.id as string, otherPath: path }
  }
  const texts = (at: string) =>
    receiver.deliveries(at).map(({ raw }) => JSON.parse(String(raw)).data.comment.body as string)
  const comment = async (externalId: string, text: string) => {
    const headers = await service.as('writer')
    await service.ok('POST', `/discussions/by-external/${externalId}/comments`, { body: text }, headers)
  }

  test('a paused endpoint gets nothing; once it is resumed, it gets everything in order', async () => {
    const { id, firstPath, otherPath } = await registerPair()
    const { status, json } = await post(`${id}/pause`)
    expect([status, json.state]).toEqual([200, 'verified'])
    expect(json.pausedAt).toMatch(/^20/)
    const externalId = `paused-${id}`
    const sent = ['one', 'two', 'three', 'four']
    for (const text of sent) await comment(externalId, text)
    // The other endpoint shows that the workers have sent what they may send.
    await vi.waitFor(() => expect(texts(otherPath)).toEqual(sent))
    expect(texts(firstPath)).toEqual([])
    const waiting = await list(id)
    expect(waiting.map(({ status: is, nextAttemptAt }: Record<string, unknown>) => [is, nextAttemptAt])).toEqual(
      sent.map(() => ['pending', null]),
    )
    expect((await post(`${id}/resume`)).json).toMatchObject({ id, pausedAt: null, state: 'verified' })
    await vi.waitFor(() => expect(texts(firstPath)).toEqual(sent))
  })

  test('pausing a paused endpoint and resuming another change nothing, and are not logged again', async () => {
    const { id } = await registerVerified()
    await post(`${id}/resume`)
    const { pausedAt } = (await post(`${id}/pause`)).json
    expect((await post(`${id}/pause`)).json.pausedAt).toBe(pausedAt)
    await post(`${id}/resume`)
    await post(`${id}/resume`)
    const entries = (await auditOf(id)).map(({ action }) => action)
    expect(entries).toEqual(['webhook.create', 'webhook.pause', 'webhook.resume'])
  })

  test('a pause outlasts another URL, a handshake, and a disabled endpoint that is enabled', async () => {
    const { id } = await registerVerified()
    const { pausedAt } = (await post(`${id}/pause`)).json
    await service.call('PATCH', `/webhooks/${id}`, { body: { url: `${receiver.url}${path}-moved` } })
    await whenVerified(id)
    await service.app.prisma.webhookEndpoint.updateMany({ where: { id }, data: { state: 'disabled' } })
    const { token } = (await service.call('POST', '/admin/auth/login', { body: service.admin })).json
    const admin = { authorization: `Bearer ${token}` }
    const enabled = await service.call('POST', `/admin/webhooks/${id}/enable`, { headers: admin })
    expect(enabled.json).toMatchObject({ state: 'verified', pausedAt })
  })

  test('by many at once: one pauses, and one resumes', async () => {
    const { id } = await registerVerified()
    const pauses = await Promise.all(Array.from({ length: 6 }, () => post(`${id}/pause`)))
    expect(new Set(pauses.map(({ json }) => json.pausedAt)).size).toBe(1)
    await Promise.all(Array.from({ length: 6 }, () => post(`${id}/resume`)))
    expect(await auditOf(id)).toHaveLength(3)
  })

  test('answers 404 for an unknown id', async () => {
    for (const action of ['pause', 'resume']) expect((await post(`${UNKNOWN}/${action}`)).json.code).toBe('not_found')
  })
})

test('every write has an audit entry', async () => {
  const { id } = await registerVerified()
  const { deliveryId } = await add(id)
  await post(`${id}/rotate-secret`)
  await post(`${id}/test`, { eventType: 'comment_created' })
  await post(`${id}/deliveries/${deliveryId}/redeliver`)
  await post(`${id}/replay`, { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' })
  const actions = (await auditOf(id)).map(({ action, actorKind }) => `${actorKind} ${action}`)
  expect(actions).toEqual([
    'key webhook.create',
    'key webhook.rotate_secret',
    'key webhook.test',
    'key webhook.redeliver',
    'key webhook.replay',
  ])
})

test('a process without an api answers only for its health and metrics', async () => {
  const server = createHealthServer(service.app, { hasMetrics: true })
  const statusOf = async (url: string) =>
    (await server.inject({ url, headers: { authorization: `Bearer ${METRICS_TOKEN}` } })).statusCode
  expect(await Promise.all(['/healthz', '/readyz', '/metrics', '/api/v1/webhooks'].map(statusOf))).toEqual([
    200, 200, 200, 404,
  ])
  await server.close()
})

test('GET /metrics counts attempts, their duration, the backlog and circuits', async () => {
  const { id } = await registerVerified()
  await add(id)
  await vi.waitFor(async () => expect(await list(id, '?status=delivered')).toHaveLength(1))
  const text = await service.scrape()
  expect(text).toMatch(/^webhook_attempts_total\{outcome="delivered"\} [1-9]/m)
  expect(text).toMatch(/^webhook_attempt_duration_seconds_count [1-9]/m)
  expect(text).toMatch(/^webhook_attempts_in_flight \d/m)
  expect(text).toMatch(/^webhook_backlog_age_seconds \d/m)
  // Endpoints of the tests before may have an open circuit.
  expect(text).toMatch(/^webhook_circuits_open \d/m)
  // A worker looks over the tables of a new database, in its own time.
  expect(text).toMatch(/^backfills_open \d$/m)
})
