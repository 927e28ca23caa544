import { gzipSync } from 'node:zlib'

import { Webhook } from 'standardwebhooks'
import { beforeEach, describe, expect, test, vi } from 'vitest'

import type { Param } from '../../src/core/database/statements.ts'
import { unnamed } from '../harness/sql.ts'
import { addDelivery, deliveryState } from '../harness/outbox.ts'
import { hang, isGenuine, reply } from '../harness/receiver.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service, whenVerified } = useReceiver()
let path: string
let counter = 0

const UNKNOWN = '019a0000-0000-7000-8000-000000000000'
/** Its attempts may take longer than the machine stands still. */
const FAST = { backoffBaseMs: 10, timeoutMs: 30_000 }
// Each test has a path of the receiver to itself.
beforeEach(() => {
  path = `/hook-${++counter}`
})

const register = (body: object = {}) =>
  service.call('POST', '/webhooks', { body: { url: receiver.url + path, policy: FAST, ...body } })
const read = async (id: string) => (await service.call('GET', `/webhooks/${id}`)).json
const list = async (id: string, query = '') => (await service.call('GET', `/webhooks/${id}/deliveries${query}`)).json
const get = async (id: string, deliveryId: string) =>
  (await service.call('GET', `/webhooks/${id}/deliveries/${deliveryId}`)).json
const add = (id: string, data?: string) => addDelivery(service.app, service.tenant.id, id, data)

async function registerVerified(body: object = {}) {
  const { json } = await register(body)
  await whenVerified(json.id)
  return json
}

/** An endpoint with a delivery that has failed, and is tried again in a minute. */
async function failOnce(): Promise<{ id: string; deliveryId: string }> {
  receiver.on(path, ({ headers }, response) =>
    headers['x-service-event'] === 'verification' ? undefined : reply(response, 500),
  )
  const { id } = await registerVerified({ policy: { backoffBaseMs: 60_000 } })
  const { deliveryId } = await add(id)
  await vi.waitFor(async () => expect((await get(id, deliveryId)).attempts).toHaveLength(1))
  return { id, deliveryId }
}

describe('POST /webhooks', () => {
  test('answers 201 with the endpoint, its secret and kid, and never shows the secret again', async () => {
    const { status, json } = await register({ description: 'the newsroom', policy: { maxAttempts: 5 } })
    expect(status).toBe(201)
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      url: receiver.url + path,
      description: 'the newsroom',
      eventTypes: ['*'],
      discussionIds: null,
      headers: [],
      state: 'unverified',
      circuit: 'closed',
      circuitOpenUntil: null,
      pausedAt: null,
      pausedUntil: null,
      consecutiveFailures: 0,
      disabledReason: null,
      policy: {
        maxAttempts: 5,
        backoffBaseMs: 1000,
        timeoutMs: 10_000,
        breakerThreshold: 10,
        breakerCooldownMs: 60_000,
        disableThreshold: 50,
        schedule: 'short',
        ordered: false,
      },
      secrets: [{ kid: json.kid, createdAt: expect.any(String), expiresAt: null }],
      lastFailure: null,
      lastVerification: null,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.any(String),
      secret: expect.stringMatching(/^whs_[0-9a-f]{64}$/),
      standardSecret: `whsec_${Buffer.from(json.secret.slice(4), 'hex').toString('base64')}`,
      kid: expect.stringMatching(/^[0-9a-f]{8}$/),
    })
    for (const at of ['', `/${json.id}`]) {
      expect((await service.call('GET', `/webhooks${at}`)).text).not.toContain(json.secret)
    }
  })

  test.each([
    ['http', 'http://example.com/'],
    ['credentials', 'https://user:pass@example.com/'],
    ['no URL', 'example.com'],
    ['white space', 'https://example.com/a b'],
    ['more than 2 048 characters', `https://example.com/${'a'.repeat(2040)}`],
    ['a private address', 'https://10.0.0.1/'],
    ['the metadata address', 'https://169.254.169.254/latest'],
    ['a v4-mapped private address', 'https://[::ffff:10.0.0.1]/'],
    ['an address as one number', 'https://167772161/'],
    ['an address in octal', 'https://0012.0.0.1/'],
    ['v6 loopback', 'https://[::1]/'],
  ])('refuses a url with %s as 422 at /url', async (_name, url) => {
    const { status, json } = await register({ url })
    expect([status, json.code, json.errors[0].pointer]).toEqual([422, 'validation_failed', '/url'])
  })

  test.each([
    [{ eventTypes: [] }, '/eventTypes'],
    [{ eventTypes: ['comment_created', 'comment_created'] }, '/eventTypes'],
    [{ eventTypes: ['notification_reply'] }, '/eventTypes/0'],
    [{ eventTypes: ['nothing'] }, '/eventTypes/0'],
    [{ description: 'x'.repeat(501) }, '/description'],
    [{ description: 'a\0b' }, '/description'],
    [{ policy: { maxAttempts: 11 } }, '/policy/maxAttempts'],
    [{ policy: { timeoutMs: 99 } }, '/policy/timeoutMs'],
    [{ policy: { breakerThreshold: 60 } }, '/policy/disableThreshold'],
    [{ policy: { retries: 1 } }, '/policy/retries'],
  ])('refuses %j as 422 at %s', async (body, pointer) => {
    const { status, json } = await register(body)
    expect([status, json.errors?.[0]?.pointer]).toEqual([422, pointer])
  })

  test('without manage_webhooks answers 403 missing_capability, on every route', async () => {
    const { key } = await service.newKey()
    const routes = [
      ['POST', '/webhooks'],
      ['GET', '/webhooks'],
      ['GET', `/webhooks/${UNKNOWN}`],
      ['PATCH', `/webhooks/${UNKNOWN}`],
      ['DELETE', `/webhooks/${UNKNOWN}`],
      ['POST', `/webhooks/${UNKNOWN}/verify`],
      ['GET', `/webhooks/${UNKNOWN}/deliveries`],
      ['GET', `/webhooks/${UNKNOWN}/deliveries/${UNKNOWN}`],
    ] as const
    for (const [method, route] of routes) {
      const { status, json } = await service.call(method, route, { headers: { 'x-api-key': key } })
      expect([method, route, status, json.code]).toEqual([method, route, 403, 'missing_capability'])
    }
  })
})

describe('the ownership handshake', () => {
  test('is a signed POST; the echoed challenge makes the endpoint verified', async () => {
    const { id, secret, kid, standardSecret } = await registerVerified()
    const [handshake] = receiver.handshakes(path)
    expect(handshake?.body).toEqual({
      type: 'verification',
      challenge: expect.stringMatching(/^[0-9a-f]{64}$/),
      timestamp: handshake?.headers['x-service-timestamp'],
    })
    expect(handshake?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'verification',
      'x-service-delivery-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'x-service-idempotency-key': expect.stringMatching(/^verification:/),
    })
    expect(() => new Webhook(standardSecret).verify(handshake!.raw, handshake!.headers)).not.toThrow()
    expect(isGenuine(handshake!, { [kid]: secret })).toBe(true)
    expect((await read(id)).lastVerification).toEqual({ at: expect.any(String), ok: true, error: null })
  })

  test.each([
    ['status 201', 'status 201, where 200 was expected', 201, (challenge: string) => JSON.stringify({ challenge })],
    ['status 500', 'status 500, where 200 was expected', 500, () => ''],
    ['a redirect', 'status 302, where 200 was expected', 302, () => ''],
    ['an answer that is not JSON', 'the answer is not JSON', 200, (challenge: string) => challenge],
    ['a list', 'the answer is not a JSON object', 200, (challenge: string) => JSON.stringify([{ challenge }])],
    ['no challenge', 'the answer has no challenge', 200, () => '{}'],
    [
      'another challenge',
      'the challenge in the answer is another one',
      200,
      () => JSON.stringify({ challenge: 'a'.repeat(64) }),
    ],
  ])('fails with %s, and says so', async (_name, error, status, body) => {
    receiver.on(path, (request, response) =>
      reply(response, status, body(request.body.challenge ?? ''), { location: `${receiver.url}/other` }),
    )
    const { id } = (await register()).json
    await vi.waitFor(async () => {
      expect((await read(id)).lastVerification).toEqual({ at: expect.any(String), ok: false, error })
    })
    expect(await read(id)).toMatchObject({ state: 'unverified' })
    expect(receiver.requests.filter((request) => request.path === path)).toHaveLength(1)
  })

  test('fails if the connection fails, with a plain reason', async () => {
    const { id } = (await register({ url: 'https://localhost:1/' })).json
    await vi.waitFor(async () => expect((await read(id)).lastVerification?.error).toBe('connection refused'))
  })

  test('POST /webhooks/{id}/verify answers 202 unverified and starts a new one', async () => {
    const { id } = await registerVerified()
    const { status, json } = await service.call('POST', `/webhooks/${id}/verify`)
    expect([status, json.state]).toEqual([202, 'unverified'])
    await whenVerified(id)
    const challenges = receiver.handshakes(path).map(({ body }) => body.challenge)
    expect(new Set(challenges).size).toBe(2)
  })

  test('a late answer to an old challenge is ignored', async () => {
    let answerFirst: () => void = () => undefined
    receiver.on(path, (request, response) => {
      if (receiver.handshakes(path).length > 1) return reply(response, 200, '{}')
      answerFirst = () => reply(response, 200, JSON.stringify({ challenge: request.body.challenge }))
      return true
    })
    const { id } = (await register()).json
    await vi.waitFor(() => expect(receiver.handshakes(path)).toHaveLength(1))
    await service.call('POST', `/webhooks/${id}/verify`)
    await vi.waitFor(async () => expect((await read(id)).lastVerification).toMatchObject({ ok: false }))
    answerFirst()
    // The same connection and the same worker make this later one, so the late answer has been
    // judged by then.
    await registerVerified({ url: `${receiver.url}${path}-other` })
    expect(await read(id)).toMatchObject({ state: 'unverified', lastVerification: { ok: false } })
  })
})

describe('a delivery', () => {
  test('is the event, signed, and delivered by a 2xx', async () => {
    const { id, secret, kid, standardSecret } = await registerVerified()
    const { deliveryId, eventId, discussionId } = await add(id)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    const [request] = receiver.deliveries(path)
    expect(isGenuine(request!, { [kid]: secret })).toBe(true)
    expect(isGenuine({ ...request!, raw: Buffer.from(`${request!.raw.toString()} `) }, { [kid]: secret })).toBe(false)
    expect(() => new Webhook(standardSecret).verify(request!.raw, request!.headers)).not.toThrow()
    expect(request?.headers).toMatchObject({
      'webhook-id': `discussion_locked:${eventId}`,
      'content-type': 'application/json',
      'x-service-event': 'discussion_locked',
      'x-service-delivery-id': deliveryId,
      'x-service-idempotency-key': `discussion_locked:${eventId}`,
    })
    expect(request?.body).toMatchObject({
      id: eventId,
      type: 'discussion_locked',
      discussionId,
      seq: 1,
      data: { note: 'ü' },
    })
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('delivered'))
    const delivery = await get(id, deliveryId)
    expect(delivery).toEqual({
      id: deliveryId,
      endpointId: id,
      eventId,
      eventType: 'discussion_locked',
      discussionId,
      status: 'delivered',
      attempts: [
        {
          n: 1,
          at: request?.headers['x-service-timestamp'],
          durationMs: expect.any(Number),
          statusCode: 204,
          error: null,
          responseSnippet: null,
          requestHeaders: {
            'Content-Type': 'application/json',
            'User-Agent': 'engagement-service-webhooks/1',
            'X-Service-Event': 'discussion_locked',
            'X-Service-Delivery-Id': deliveryId,
            'X-Service-Idempotency-Key': request?.headers['x-service-idempotency-key'],
            'X-Service-Timestamp': request?.headers['x-service-timestamp'],
            'webhook-id': request?.headers['webhook-id'],
            'webhook-timestamp': request?.headers['webhook-timestamp'],
          },
          responseHeaders: expect.objectContaining({ date: expect.any(String) }),
        },
      ],
      nextAttemptAt: null,
      createdAt: expect.any(String),
      deliveredAt: expect.any(String),
      body: request?.raw.toString(),
      headers: expect.objectContaining({ 'X-Service-Delivery-Id': deliveryId }),
    })
    expect(JSON.stringify(delivery)).not.toMatch(/signature/i)
  })

  test('is attempted 3 times with the same bytes, each with its own signature, after waits of 1 and 2 bases; then it has failed', async () => {
    receiver.on(path, ({ headers }, response) =>
      headers['x-service-event'] === 'verification' ? undefined : reply(response, 500, JSON.stringify(headers)),
    )
    const { id, secret, kid } = await registerVerified({ policy: { backoffBaseMs: 200 } })
    const { deliveryId } = await add(id)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('failed'))
    const requests = receiver.deliveries(path)
    expect(requests).toHaveLength(3)
    expect(new Set(requests.map(({ raw }) => raw.toString())).size).toBe(1)
    expect(new Set(requests.map(({ headers }) => headers['x-service-timestamp'])).size).toBe(3)
    expect(new Set(requests.map(({ headers }) => headers['x-service-delivery-id']))).toEqual(new Set([deliveryId]))
    expect(requests.every((request) => isGenuine(request, { [kid]: secret }))).toBe(true)
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(195)
    expect(requests[2]!.at - requests[1]!.at).toBeGreaterThanOrEqual(395)
    const { attempts, nextAttemptAt } = await get(id, deliveryId)
    expect(attempts.map(({ n, statusCode, error }: Record<string, unknown>) => [n, statusCode, error])).toEqual([
      [1, 500, 'status 500'],
      [2, 500, 'status 500'],
      [3, 500, 'status 500'],
    ])
    expect(nextAttemptAt).toBeNull()
    // The receiver echoed all headers.
    expect(attempts[0].responseSnippet).toContain('x-service-signature')
    expect(attempts[0].responseSnippet).not.toMatch(/v1=[0-9a-f]{64}/)
    expect(await read(id)).toMatchObject({ consecutiveFailures: 3, state: 'verified', circuit: 'closed' })
  })

  test('that succeeds resets consecutiveFailures', async () => {
    let failures = 2
    receiver.on(path, ({ headers }, response) =>
      headers['x-service-event'] === 'verification' || failures-- <= 0 ? undefined : reply(response, 503),
    )
    const { id } = await registerVerified()
    const { deliveryId } = await add(id)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('delivered'))
    expect((await get(id, deliveryId)).attempts).toHaveLength(3)
    expect(await read(id)).toMatchObject({ consecutiveFailures: 0 })
  })

  test('waits in the database for its next attempt, between base and one and a half of it', async () => {
    const { id, deliveryId } = await failOnce()
    const { status, attempts, nextAttemptAt } = await get(id, deliveryId)
    const sinceMs = Date.now() - Date.parse(attempts[0].at)
    const waitMs = Date.parse(nextAttemptAt) - Date.parse(attempts[0].at)
    expect(status).toBe('pending')
    expect(waitMs).toBeGreaterThanOrEqual(60_000)
    // It is counted from the end of the attempt.
    expect(waitMs).toBeLessThan(90_000 + sinceMs + 1000)
  })

  test.each([
    ['a redirect', { statusCode: 302, error: 'redirect not followed' }],
    ['a hanging answer', { statusCode: null, error: 'timeout' }],
    ['a closed connection', { statusCode: null, error: 'connection closed by the receiver' }],
  ])('counts %s as failed, with a plain reason', async (name, expected) => {
    receiver.on(path, (request, response) => {
      if (request.headers['x-service-event'] === 'verification') return undefined
      if (name === 'a redirect') return reply(response, 302, '', { location: `${receiver.url}${path}-elsewhere` })
      if (name === 'a hanging answer') return hang(request, response)
      return response.socket?.destroy()
    })
    const { id } = await registerVerified({ policy: { ...FAST, maxAttempts: 1 } })
    if (name === 'a hanging answer')
      await service.call('PATCH', `/webhooks/${id}`, { body: { policy: { timeoutMs: 400 } } })
    const { deliveryId } = await add(id)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('failed'))
    expect((await get(id, deliveryId)).attempts).toEqual([expect.objectContaining(expected)])
    expect(receiver.deliveries(`${path}-elsewhere`)).toEqual([])
  })

  test('reads at most 64 KiB of the unpacked answer and keeps 1 KiB', async () => {
    receiver.on(path, ({ headers }, response) =>
      headers['x-service-event'] === 'verification'
        ? undefined
        : reply(response, 200, gzipSync(Buffer.alloc(50_000_000, 'x')) as unknown as string, {
            'content-encoding': 'gzip',
          }),
    )
    const { id } = await registerVerified({ policy: FAST })
    const { deliveryId } = await add(id)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('delivered'))
    expect((await get(id, deliveryId)).attempts[0].responseSnippet).toBe('x'.repeat(1024))
  })
})

describe('PATCH /webhooks/{id}', () => {
  test("changes only the given fields; null returns a policy value to the tenant's", async () => {
    const { id } = await registerVerified({ description: 'first', policy: { maxAttempts: 5, timeoutMs: 20_000 } })
    const json = await service.ok('PATCH', `/webhooks/${id}`, {
      eventTypes: ['comment_created'],
      policy: { maxAttempts: null, backoffBaseMs: 20 },
    })
    expect(json).toMatchObject({ state: 'verified', description: 'first', eventTypes: ['comment_created'] })
    expect(json.policy).toMatchObject({ maxAttempts: 3, timeoutMs: 20_000, backoffBaseMs: 20 })
    expect(
      (await service.call('PATCH', `/webhooks/${id}`, { body: { description: null } })).json.description,
    ).toBeNull()
  })

  test('of the url resets verification; deliveries wait, then go to the new url', async () => {
    const { id, deliveryId } = await failOnce()
    const next = `${path}-next`
    receiver.on(next, (_request, response) => reply(response, 404))
    const { json } = await service.call('PATCH', `/webhooks/${id}`, { body: { url: receiver.url + next } })
    expect(json).toMatchObject({ state: 'unverified', url: receiver.url + next })
    await vi.waitFor(async () => expect((await read(id)).lastVerification.ok).toBe(false))
    await service.app.db.query(
      unnamed('UPDATE deliveries SET next_attempt_at = now() - make_interval(secs => 1) WHERE id = $1'),
      [deliveryId],
    )
    // A worker that has found another endpoint's has looked at this one.
    const other = await registerVerified({ url: `${receiver.url}${path}-other` })
    const found = await add(other.id)
    await vi.waitFor(async () => expect((await get(other.id, found.deliveryId)).status).toBe('delivered'))
    expect(await deliveryState(service.app, deliveryId)).toMatchObject({ status: 'pending', attemptCount: 1 })
    receiver.on(next, null)
    await service.call('POST', `/webhooks/${id}/verify`)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('delivered'))
    expect(receiver.deliveries(next)).toHaveLength(1)
    expect(receiver.deliveries(path)).toHaveLength(1)
  })

  test('of the same url keeps it verified', async () => {
    const { id, url } = await registerVerified()
    expect((await service.call('PATCH', `/webhooks/${id}`, { body: { url } })).json.state).toBe('verified')
  })
})

describe('reading', () => {
  test('GET /webhooks pages newest first', async () => {
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.unshift((await register({ url: `${receiver.url}${path}-${n}` })).json.id)
    const first = (await service.call('GET', '/webhooks?limit=2')).json
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2))
    expect(first.hasMore).toBe(true)
    const second = (await service.call('GET', `/webhooks?limit=1&cursor=${first.nextCursor}`)).json
    expect(second.data[0].id).toBe(ids[2])
    const noId = Buffer.from(JSON.stringify(['webhooks', 'x'])).toString('base64url')
    for (const cursor of ['nonsense', noId]) {
      expect((await service.call('GET', `/webhooks?cursor=${cursor}`)).status).toBe(422)
    }
  })

  test('GET /webhooks/{id} shows the handshake under way and the held deliveries', async () => {
    const endpoint = async (id: string) => {
      const { deliveriesHeld, verificationPending } = await read(id)
      return { deliveriesHeld, verificationPending }
    }
    const { id } = await registerVerified()
    expect(await endpoint(id)).toEqual({ deliveriesHeld: 0, verificationPending: false })
    const set = (text: string, params: readonly Param[]) => service.app.db.query(unnamed(text), params)
    await set(`UPDATE webhook_endpoints SET state = 'disabled' WHERE id = $1`, [id])
    for (let n = 0; n < 2; n++) {
      const { deliveryId } = await add(id)
      await set(`UPDATE deliveries SET status = 'held' WHERE id = $1`, [deliveryId])
    }
    expect(await endpoint(id)).toEqual({ deliveriesHeld: 2, verificationPending: false })
    // As it is between the request for a handshake and its end.
    const due = `UPDATE webhook_endpoints SET challenge = 'c', verification_due_at = now() + interval '1 hour' WHERE id = $1`
    await set(due, [id])
    expect((await endpoint(id)).verificationPending).toBe(true)
    const { json } = await service.graphql('{ webhookEndpoints { edges { node { id deliveriesHeld } } } }')
    const found = json.data.webhookEndpoints.edges.find((edge: { node: { id: string } }) => edge.node.id === id)
    expect(found.node.deliveriesHeld).toBe(2)
  })

  test('GET /webhooks/{id}/deliveries lists all types of a status, and all statuses of a type, in one order', async () => {
    const { id } = await registerVerified()
    const set = (text: string, params: readonly Param[]) => service.app.db.query(unnamed(text), params)
    await set(`UPDATE webhook_endpoints SET state = 'disabled' WHERE id = $1`, [id])
    const made: { id: string; eventType: string; status: string }[] = []
    for (let n = 0; n < 12; n++) {
      const eventType = ['comment_created', 'of_a_newer_release', 'discussion_locked'][n % 3] ?? ''
      const status = ['failed', 'held'][n % 2] ?? ''
      const { deliveryId } = await add(id)
      await set('UPDATE deliveries SET event_type = $2, status = $3::delivery_status WHERE id = $1', [
        deliveryId,
        eventType,
        status,
      ])
      made.unshift({ id: deliveryId, eventType, status })
    }
    const all = async (query: string): Promise<string[]> => {
      const found: string[] = []
      for (let cursor = ''; ;) {
        const { data, hasMore, nextCursor } = await list(id, `?limit=2&${query}${cursor}`)
        found.push(...data.map((delivery: { id: string }) => delivery.id))
        if (hasMore !== true) return found
        cursor = `&cursor=${nextCursor}`
      }
    }
    const idsOf = (of: { eventType?: string; status?: string }) =>
      made
        .filter((each) => Object.entries(of).every(([key, value]) => each[key as 'status'] === value))
        .map((one) => one.id)
    for (const of of [
      { status: 'failed' },
      { status: 'held' },
      { status: 'delivered' },
      { eventType: 'comment_created' },
      { eventType: 'comment_created', status: 'held' },
    ]) {
      expect(await all(new URLSearchParams(of).toString())).toEqual(idsOf(of))
    }
  })

  test('GET /webhooks/{id}/deliveries filters and pages, newest first', async () => {
    const { id } = await registerVerified()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.unshift((await add(id)).deliveryId)
    await vi.waitFor(async () => expect((await list(id, '?status=delivered')).data).toHaveLength(3))
    expect((await list(id)).data.map((delivery: { id: string }) => delivery.id)).toEqual(ids)
    expect((await list(id, '?status=failed')).data).toEqual([])
    expect((await list(id, '?eventType=discussion_locked')).data).toHaveLength(3)
    expect((await list(id, '?eventType=comment_created')).data).toEqual([])
    const page = await list(id, '?limit=2')
    expect(
      (await list(id, `?limit=2&cursor=${page.nextCursor}`)).data.map((delivery: { id: string }) => delivery.id),
    ).toEqual([ids[2]])
    const [newest, , oldest] = (await list(id)).data as { createdAt: string }[]
    const idsOf = async (query: string) => (await list(id, query)).data.map((delivery: { id: string }) => delivery.id)
    expect(await idsOf(`?from=${newest?.createdAt}`)).toContain(ids[0])
    expect(await idsOf(`?to=${newest?.createdAt}`)).not.toContain(ids[0])
    expect(await idsOf(`?from=${oldest?.createdAt}`)).toEqual(ids)
    expect(await idsOf(`?to=${oldest?.createdAt}`)).toEqual([])
    expect(await idsOf('?from=1970-01-01T00:00:00Z&to=9999-12-31T23:59:59Z')).toEqual(ids)
    await searchByEvent(id, ids[1] ?? '')
    expect((await service.call('GET', `/webhooks/${id}/deliveries?eventType=lost`)).status).toBe(422)
  })

  /** The filter `eventId`, beside the others, pages, another endpoint and another tenant. */
  async function searchByEvent(id: string, deliveryId: string): Promise<void> {
    const { eventId, eventType, createdAt, status } = await get(id, deliveryId)
    const again = await service.ok('POST', `/webhooks/${id}/deliveries/${deliveryId}/redeliver`)
    const both = [again.id, deliveryId]
    const idsOf = async (query: string, of = id) =>
      (await list(of, `?eventId=${eventId}${query}`)).data.map((delivery: { id: string }) => delivery.id)
    expect(await idsOf('')).toEqual(both)
    expect(await idsOf(`&eventType=${eventType}`)).toEqual(both)
    expect(await idsOf('&eventType=comment_created')).toEqual([])
    expect(await idsOf(`&status=${status}`)).toContain(deliveryId)
    for (const rare of ['failed', 'held', 'delivering'].filter((each) => each !== status))
      expect(await idsOf(`&status=${rare}`)).not.toContain(deliveryId)
    expect(await idsOf(`&to=${createdAt}`)).toEqual([])
    expect(await idsOf(`&from=${createdAt}`)).toEqual(both)
    const first = await list(id, `?eventId=${eventId}&limit=1`)
    expect(await idsOf(`&limit=1&cursor=${first.nextCursor}`)).toEqual([deliveryId])
    expect(await idsOf('', (await registerVerified()).id)).toEqual([])
    expect((await service.call('GET', `/webhooks/${id}/deliveries?eventId=${UNKNOWN}`)).json.code).toBe('not_found')
    for (const wrong of ['nonsense', '%00', `${eventId}'`, '']) {
      const { status: refusal, json } = await service.call('GET', `/webhooks/${id}/deliveries?eventId=${wrong}`)
      expect(refusal, wrong).toBe(422)
      expect(json.errors).toEqual([{ pointer: '/eventId', code: 'invalid', message: 'must be the id of an event' }])
    }
    const theirs = await service.addTenant('events-of-others')
    const headers = { 'x-api-key': theirs.apiKey }
    expect((await service.call('GET', `/webhooks/${id}/deliveries?eventId=${eventId}`, { headers })).status).toBe(404)
  }

  test.each([
    ['an unknown id', UNKNOWN],
    ['no id', 'nonsense'],
  ])('%s answers 404 not_found on every route', async (_name, id) => {
    for (const [method, route] of [
      ['GET', `/webhooks/${id}`],
      ['PATCH', `/webhooks/${id}`],
      ['DELETE', `/webhooks/${id}`],
      ['POST', `/webhooks/${id}/verify`],
      ['GET', `/webhooks/${id}/deliveries`],
      ['GET', `/webhooks/${id}/deliveries/${id}`],
    ] as const) {
      const { status, json } = await service.call(method, route, method === 'PATCH' ? { body: {} } : {})
      expect([method, route, status, json.code]).toEqual([method, route, 404, 'not_found'])
    }
  })

  test('GraphQL gives the same endpoint and deliveries', async () => {
    const { id } = await registerVerified()
    const { deliveryId } = await add(id)
    await vi.waitFor(async () => expect((await get(id, deliveryId)).status).toBe('delivered'))
    const { json } = await service.graphql(
      `query ($id: ID!, $deliveryId: ID!) {
        webhookEndpoint(id: $id) { id state circuit policy { maxAttempts } }
        webhookDeliveries(id: $id) { edges { node { id status attempts { n } } } }
        webhookDelivery(id: $id, deliveryId: $deliveryId) { body headers }
      }`,
      { id, deliveryId },
    )
    expect(json.errors).toBeUndefined()
    expect(json.data.webhookEndpoint).toEqual({ id, state: 'verified', circuit: 'closed', policy: { maxAttempts: 3 } })
    expect(json.data.webhookDeliveries.edges[0].node).toEqual({
      id: deliveryId,
      status: 'delivered',
      attempts: [{ n: 1 }],
    })
    expect(json.data.webhookDelivery.body).toBe(receiver.deliveries(path)[0]?.raw.toString())
  })

  test("GraphQL shows an endpoint's own policy, whether its handshake is under way, and its held deliveries", async () => {
    const held = async () =>
      (
        await service.graphql(
          '{ webhookEndpoints(first: 100) { edges { node { id verificationPending deliveriesHeld } } } }',
        )
      ).json.data.webhookEndpoints.edges.map(({ node }: { node: object }) => node)
    const refuse = receiver.hold(path, 404)
    const { id } = (await register({ policy: { maxAttempts: 5, timeoutMs: 30_000 } })).json
    await vi.waitFor(() => expect(receiver.handshakes(path)).toHaveLength(1))
    expect(await held()).toContainEqual({ id, verificationPending: true, deliveriesHeld: 0 })
    receiver.on(path, null)
    refuse()
    await vi.waitFor(async () => expect((await read(id)).lastVerification?.ok).toBe(false))
    await service.call('POST', `/webhooks/${id}/verify`)
    await whenVerified(id)
    const others = (await held()).filter((each: { id: string }) => each.id !== id)
    const run = (text: string) => service.app.db.query(unnamed(text), [id])
    await run(`UPDATE webhook_endpoints SET state = 'disabled' WHERE id = $1`)
    for (let n = 0; n < 3; n++) await add(id)
    await run(`UPDATE deliveries SET status = 'held' WHERE endpoint_id = $1`)
    expect(await held()).toContainEqual({ id, verificationPending: false, deliveriesHeld: 3 })
    expect((await held()).filter((each: { id: string }) => each.id !== id)).toEqual(others)
    const { json } = await service.graphql(
      `query ($id: ID!) { webhookEndpoint(id: $id) { ownPolicy { maxAttempts timeoutMs breakerThreshold } } }`,
      { id },
    )
    expect(json.data.webhookEndpoint.ownPolicy).toEqual({ maxAttempts: 5, timeoutMs: 30_000, breakerThreshold: null })
  })
})

test('DELETE /webhooks/{id} answers 204, cancels its deliveries, then 404', async () => {
  const { id, deliveryId } = await failOnce()
  expect((await service.call('DELETE', `/webhooks/${id}`)).status).toBe(204)
  await vi.waitFor(async () => expect(await deliveryState(service.app, deliveryId)).toBeUndefined())
  expect((await service.call('DELETE', `/webhooks/${id}`)).status).toBe(404)
})

test('every write has an audit entry, without the secret', async () => {
  const { id, secret } = await registerVerified()
  await service.call('PATCH', `/webhooks/${id}`, { body: { description: 'changed' } })
  await service.call('POST', `/webhooks/${id}/verify`)
  await service.call('DELETE', `/webhooks/${id}`)
  const entries = await service.app.prisma.auditEntry.findMany({ where: { targetId: id }, orderBy: { id: 'asc' } })
  expect(entries.map(({ action }) => action)).toEqual([
    'webhook.create',
    'webhook.update',
    'webhook.verify',
    'webhook.delete',
  ])
  expect(JSON.stringify(entries)).not.toContain(secret)
})
