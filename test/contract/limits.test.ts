import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { newRawKey, sha256 } from '../../src/core/secrets/crypto.ts'
import { newId } from '../../src/core/ids.ts'
import { addressBucket, type Rate } from '../../src/core/limits.ts'
import { announceChange } from '../../src/core/read-cache.ts'
import { hubOf } from '../../src/live/hub.ts'
import { tokenOf } from '../../src/domains/staff/sign-ins.ts'
import { refusalIn } from '../harness/refusal.ts'
import { type TestResponse, type TestTenant, useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'

// So slow that no address regains a token during a test.
const RATE_PER_ADDRESS = { perSecond: 0.01, burst: 20 }

const service = useService({
  env: {
    UNAUTHENTICATED_RATE_PER_SECOND: String(RATE_PER_ADDRESS.perSecond),
    UNAUTHENTICATED_RATE_BURST: String(RATE_PER_ADDRESS.burst),
    TRUSTED_PROXIES: '127.0.0.0/8',
  },
})
let tenant: TestTenant
let count = 0

beforeEach(async () => {
  tenant = await service.addTenant(`limits-${count++}`)
})
afterEach(() => void vi.useRealTimers())

/** A new address. */
const from = () => ({ 'x-forwarded-for': `2001:db8:${(count++).toString(16)}::1` })
const asTenant = (headers: Record<string, string> = {}) => ({ 'x-api-key': tenant.apiKey, ...headers })
const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.call(method, path, { body, headers: asTenant(headers) })
const setRate = (perSecond: number, burst: number) => call('PATCH', '/settings', { rateLimit: { perSecond, burst } })

/** A debt of the tenant's key that it does not pay back during a test. */
async function owe(rate: Rate): Promise<void> {
  const { id: tenantId } = tenant.tenant
  const key = await service.app.prisma.apiKey.findFirstOrThrow({ where: { tenantId }, orderBy: { id: 'asc' } })
  service.app.limits.charge('caller', `${tenantId}/key/${key.id}`, rate, 1000)
}

function limitsOf({ headers }: { headers: Headers }): { limit: number; remaining: number; reset: number } {
  const read = (name: string): number => {
    const text = headers.get(`ratelimit-${name}`)
    expect(text, `RateLimit-${name}`).toMatch(/^\d+$/)
    return Number(text)
  }
  return { limit: read('limit'), remaining: read('remaining'), reset: read('reset') }
}

function expectLimited(answer: TestResponse): void {
  expect(refusalIn(answer.json)).toMatchObject({ status: 429, code: 'rate_limited' })
  expect(answer.status).toBe(429)
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
}

describe('a key over its rate', () => {
  test('gets the burst, then 429 with Retry-After, and can continue when a token is available', async () => {
    await setRate(1, 10)
    const key = (await call('POST', '/keys', { label: 'limited', capabilities: [] })).json.key as string
    const use = () => call('GET', '/discussions', undefined, { 'x-api-key': key })
    const started = Date.now()
    const answers = await Promise.all(Array.from({ length: 30 }, use))
    const passed = answers.filter(({ status }) => status === 200).length
    expect(passed).toBeGreaterThanOrEqual(10)
    expect(passed).toBeLessThanOrEqual(10 + Math.ceil((Date.now() - started) / 1000))
    const refused = answers.filter(({ status }) => status !== 200)
    refused.forEach(expectLimited)
    expect(refused.map(limitsOf)).toContainEqual({ limit: 10, remaining: 0, reset: 10 })
    await vi.waitFor(async () => expect((await use()).status).toBe(200))
  })

  test("does not affect the tenant's other keys, its admins, and other tenants", async () => {
    await setRate(1, 3)
    const made = await call('POST', '/keys', { label: 'other', capabilities: [] })
    const login = await service.call('POST', '/admin/auth/login', {
      headers: { 'x-api-key': '', ...from() },
      body: tenant.admin,
    })
    const answers = await Promise.all(Array.from({ length: 10 }, () => call('GET', '/discussions')))
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    await owe({ perSecond: 1, burst: 3 })
    expectLimited(await call('GET', '/discussions'))
    const other = { 'x-api-key': made.json.key as string }
    expect((await service.call('GET', '/discussions', { headers: other })).status).toBe(200)
    const admin = { authorization: `Bearer ${login.json.token}` }
    const me = await service.call('GET', '/admin/me', { headers: admin })
    expect(me.status).toBe(200)
    expect(limitsOf(me)).toMatchObject({ limit: 3, remaining: 2 })
    expect((await service.call('GET', '/discussions')).status).toBe(200)
  })

  test('is limited over REST, GraphQL and streams together', async () => {
    await setRate(1, 6)
    // Many: a slow machine takes seconds for them, with a further one allowed in each.
    const answers = await Promise.all(Array.from({ length: 40 }, () => call('GET', '/discussions')))
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    await owe({ perSecond: 1, burst: 6 })
    expectLimited(await call('GET', `/stream/${newId()}`))
    const graphql = await service.graphql('{ __typename }', {}, asTenant())
    expectLimited(graphql)
    const stream = await fetch(`${service.url}/graphql/stream`, { method: 'PUT', headers: asTenant() })
    expect(stream.status).toBe(429)
  })

  test('follows a changed setting within 1 s', async () => {
    const before = await call('GET', '/discussions')
    expect(limitsOf(before)).toMatchObject({ limit: 1000 })
    await setRate(7, 70)
    expect(limitsOf(await call('GET', '/discussions'))).toMatchObject({ limit: 70 })
  })
})

describe('RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset', () => {
  const cases: [string, number, () => Promise<{ status: number; headers: Headers }>][] = [
    ['200', 200, () => call('GET', '/discussions')],
    ['201', 201, () => call('POST', '/discussions', { externalId: 'a' })],
    [
      '204',
      204,
      async () => call('DELETE', `/keys/${(await call('POST', '/keys', { label: 'x', capabilities: [] })).json.id}`),
    ],
    ['400', 400, () => call('POST', '/discussions', '{')],
    ['401 for the assertion', 401, () => call('GET', '/discussions', undefined, { 'x-service-identity': 'x' })],
    ['403', 403, () => call('GET', '/admin/me')],
    ['404', 404, () => call('GET', `/discussions/${newId()}`)],
    ['405', 405, () => call('PUT', '/discussions', {})],
    ['413', 413, () => call('POST', '/discussions', { title: 'x'.repeat(300 * 1024) })],
    ['422', 422, () => call('POST', '/discussions', {})],
    ['a GraphQL answer', 200, () => service.graphql('{ __typename }', {}, asTenant())],
    ['a GraphQL refusal', 422, () => service.graphql('{'.repeat(3000), {}, asTenant())],
    ['a GraphQL stream', 201, () => fetch(`${service.url}/graphql/stream`, { method: 'PUT', headers: asTenant() })],
    [
      'a stream',
      200,
      async () => {
        const { id } = (await call('POST', '/discussions', { externalId: 'a' })).json
        const response = await fetch(`${service.url}/api/v1/stream/${id}`, { headers: asTenant() })
        await response.body?.cancel()
        return response
      },
    ],
    ['a stream by token', 404, () => fetch(`${service.url}/api/v1/stream/${newId()}?token=${tenant.apiKey}`)],
    [
      'a subscription',
      200,
      async () => {
        const response = await fetch(`${service.url}/graphql`, {
          method: 'POST',
          headers: asTenant({ 'content-type': 'application/json', accept: 'text/event-stream' }),
          body: JSON.stringify({ query: `subscription { discussionEvents(discussionId: "${newId()}") { seq } }` }),
        })
        await response.body?.cancel()
        return response
      },
    ],
  ]

  test.each(cases)('are on %s', async (_name, status, send) => {
    const answer = await send()
    expect(answer.status).toBe(status)
    const { limit, remaining, reset } = limitsOf(answer)
    expect(limit).toBe(1000)
    expect(remaining).toBeLessThan(1000)
    expect(remaining).toBeGreaterThan(980)
    expect(reset).toBe(1)
  })

  test('are on 503', async () => {
    await call('GET', '/discussions')
    const query = vi.spyOn(service.app.db, 'query').mockRejectedValue(new Error('Connection terminated'))
    const answer = await call('GET', '/discussions')
    query.mockRestore()
    expect(answer.status).toBe(503)
    expect(limitsOf(answer).limit).toBe(1000)
  })

  test('are not on answers to unauthenticated callers', async () => {
    const { headers } = await service.call('GET', '/discussions', { headers: { 'x-api-key': '', ...from() } })
    expect([...headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([])
  })
})

describe('an address without valid credentials', () => {
  const { burst } = RATE_PER_ADDRESS
  const guess = { 'x-api-key': `ek_${'0'.repeat(64)}` }
  const send = (headers: Record<string, string>) => service.call('GET', '/discussions', { headers })

  test.each([
    ['without credentials', { 'x-api-key': '' }, 401],
    ['with a made-up key', guess, 401],
    ['with a made-up token', { authorization: 'Bearer x' }, 401],
    ['with both', { ...guess, authorization: 'Bearer x' }, 400],
  ] as [string, Record<string, string>, number][])('%s is answered, then 429', async (_name, headers, status) => {
    const at = { ...headers, ...from() }
    const answers = await Promise.all(Array.from({ length: burst * 2 }, () => send(at)))
    const limited = answers.filter((answer) => answer.status === 429)
    expect(answers.filter((answer) => answer.status === status).length).toBeGreaterThanOrEqual(burst)
    expect(limited.length).toBeGreaterThan(0)
    limited.forEach(expectLimited)
  })

  test('does not block valid keys from the same address', async () => {
    const at = from()
    await send(asTenant(at))
    await Promise.all(Array.from({ length: burst * 2 }, () => send({ ...guess, ...at })))
    expectLimited(await send({ ...guess, ...at }))
    expect((await send(asTenant(at))).status).toBe(200)
  })

  test('is one for a whole /64 of IPv6, and another for the next', async () => {
    const network = `2001:db8:ffff:${(count++).toString(16)}`
    const at = (host: number) => ({ ...guess, 'x-forwarded-for': `${network}::${host.toString(16)}` })
    await Promise.all(Array.from({ length: burst * 2 }, (_, host) => send(at(host))))
    expectLimited(await send(at(999)))
    expect((await send({ ...guess, ...from() })).status).toBe(401)
  })

  test('is counted for bad tickets, preflights and logins too', async () => {
    const tries: ((headers: Record<string, string>) => Promise<number>)[] = [
      (headers) => service.call('GET', `/stream/${newId()}?ticket=x`, { headers }).then(({ status }) => status),
      (headers) => fetch(`${service.url}/graphql`, { method: 'OPTIONS', headers }).then(({ status }) => status),
      (headers) => service.call('POST', '/admin/auth/login', { headers, body: {} }).then(({ status }) => status),
    ]
    for (const attempt of tries) {
      const headers = { 'x-api-key': '', origin: 'https://nobody.example', ...from() }
      const statuses = await Promise.all(Array.from({ length: burst * 2 }, () => attempt(headers)))
      expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0)
      // To look up whether a tenant allows the origin costs one more.
      expect(statuses.filter((status) => status !== 429).length).toBeGreaterThanOrEqual(burst - 1)
    }
  })

  test('is not counted for health checks', async () => {
    const headers = from()
    const statuses = await Promise.all(
      Array.from({ length: burst * 2 }, () =>
        fetch(`${service.url}/healthz`, { headers }).then(({ status }) => status),
      ),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
  })
})

describe('a ticket', () => {
  const { burst } = RATE_PER_ADDRESS

  async function newTicket(): Promise<{ path: string }> {
    const { ticket, discussionId } = (await call('POST', '/stream/ticket', { externalId: newId() })).json
    return { path: `${service.url}/api/v1/stream/${discussionId}?ticket=${ticket}` }
  }

  /** Opens a stream and leaves; whether it was let in. Its connection is over when this returns. */
  async function isLetIn({ path }: { path: string }, headers: Record<string, string>): Promise<boolean> {
    const { sessions } = hubOf(service.app)
    const others = sessions.size
    const client = await openStream(path, headers)
    await vi.waitFor(() => expect(client.all.length).toBeGreaterThan(0))
    const refusal = {
      retry: 30_000,
      event: 'connection-timeout',
      data: { lastEventId: headers['last-event-id'] ?? null },
    }
    if (client.connected === undefined) expect(client.all).toEqual([refusal])
    client.close()
    await vi.waitFor(() => expect(sessions.size).toBeLessThanOrEqual(others))
    return client.connected !== undefined
  }

  async function openings(times: number, open: () => Promise<boolean>): Promise<number> {
    let letIn = 0
    for (let n = 0; n < times; n++) if (await open()) letIn++
    return letIn
  }

  test('reconnects as often as an address may request, from any addresses; then it is told to wait', async () => {
    const ticket = await newTicket()
    const letIn = await openings(burst + 10, () => isLetIn(ticket, { 'last-event-id': '0', ...from() }))
    expect(letIn).toBeGreaterThanOrEqual(burst)
    expect(letIn).toBeLessThan(burst + 10)
    expect(await isLetIn(await newTicket(), from())).toBe(true)
  })

  test('counts together with all others of its address', async () => {
    const at = from()
    const letIn = await openings(burst + 10, async () => isLetIn(await newTicket(), at))
    expect(letIn).toBeGreaterThanOrEqual(burst)
    expect(letIn).toBeLessThan(burst + 10)
    expect(await isLetIn(await newTicket(), from())).toBe(true)
  })

  test('counts before the pages of its site are looked up', async () => {
    const origin = 'https://counted.example'
    const page = `externalId=${encodeURIComponent(`${origin}/page`)}`
    expect((await call('POST', '/discussions', { externalId: `${origin}/page` })).status).toBe(201)
    const { publicKey } = (await call('POST', '/sites', { name: 'Counted', origins: [origin] })).json
    const minted = await fetch(`${service.url}/engagement/${publicKey as string}/ticket?${page}`, {
      method: 'POST',
      headers: { origin, 'x-requested-with': 'engagement', ...from() },
    })
    const { streamUrl } = (await minted.json()) as { streamUrl: string }
    const again = () => isLetIn({ path: streamUrl }, { origin, 'last-event-id': '0', ...from() })
    const lookUps = vi.spyOn(service.app.prisma.discussion, 'findMany')
    expect(await again()).toBe(true)
    expect(lookUps).toHaveBeenCalled()
    await openings(burst + 10, again)
    lookUps.mockClear()
    expect(await again()).toBe(false)
    expect(lookUps).not.toHaveBeenCalled()
    lookUps.mockRestore()
  })

  test('pays for a long replay like for the pages with as many events', async () => {
    const ticket = await newTicket()
    const hub = hubOf(service.app)
    const join = hub.join.bind(hub)
    const replays = vi.spyOn(hub, 'join')
    replays.mockImplementationOnce(async (request) => ({ ...(await join(request)), replayed: burst * 100 }))
    expect(await isLetIn(ticket, { 'last-event-id': '0', ...from() })).toBe(true)
    expect(await isLetIn(ticket, { 'last-event-id': '0', ...from() })).toBe(false)
    replays.mockRestore()
  })

  test('pays for a replay of long comments by their bytes', async () => {
    const externalId = newId()
    const { ticket, discussionId } = (await service.call('POST', '/stream/ticket', { body: { externalId } })).json
    const ann = await service.as('ann of long comments')
    // Some 60 KB each as an event: fewer than 100 are more than the burst.
    for (let n = 0; n < burst + 4; n++) {
      const body = { body: `${'&'.repeat(9900)} ${n}` }
      const answer = await service.call('POST', `/discussions/by-external/${externalId}/comments`, {
        body,
        headers: ann,
      })
      expect([answer.status, answer.json.status]).toEqual([201, 'approved'])
    }
    const path = `${service.url}/api/v1/stream/${discussionId}?ticket=${ticket}`
    const client = await openStream(path, { 'last-event-id': '0', ...from() })
    await vi.waitFor(() => expect(client.seqs).toHaveLength(burst + 4))
    client.close()
    expect(await isLetIn({ path }, { 'last-event-id': '0', ...from() })).toBe(false)
  })
})

describe('past the budget of their address, made-up credentials cause no queries', () => {
  const { burst } = RATE_PER_ADDRESS

  /** Counts the look-ups that the service sends meanwhile; in the background it sends others. */
  async function lookUpsOf(run: () => Promise<unknown>): Promise<number> {
    const query = vi.spyOn(service.app.db, 'query')
    try {
      await run()
      return query.mock.calls.filter(([{ name }]) => name.startsWith('find_')).length
    } finally {
      query.mockRestore()
    }
  }

  const madeUp = () => ({ 'x-api-key': newRawKey() })
  const as = (headers: Record<string, string>, path: string, init: RequestInit = {}) =>
    fetch(service.url + path, { ...init, headers }).then(async (response) => {
      await response.body?.cancel()
      return response.status
    })
  const post = (path: string) => (headers: Record<string, string>) =>
    as({ 'content-type': 'application/json', ...madeUp(), ...headers }, path, {
      method: 'POST',
      body: '{"query":"{ __typename }"}',
    })

  const WAYS: [name: string, send: (headers: Record<string, string>) => Promise<number>][] = [
    ['a key on REST', (headers) => as({ ...madeUp(), ...headers }, '/api/v1/discussions')],
    ['a key on GraphQL', post('/graphql')],
    ['a key on graphql-sse', post('/graphql/stream')],
    ['a key on a stream', (headers) => as({ ...madeUp(), ...headers }, `/api/v1/stream/${newId()}`)],
    ['a key in the query', (headers) => as(headers, `/api/v1/stream/${newId()}?token=${newRawKey()}`)],
    ['an admin token', (headers) => as({ authorization: 'Bearer e30.e30.e30', ...headers }, '/api/v1/discussions')],
    ['a ticket', (headers) => as(headers, `/api/v1/stream/${newId()}?ticket=e30.e30.e30`)],
  ]

  test.each(WAYS)('%s', async (_name, send) => {
    const at = from()
    // All at once, so that none is refused before the others have come.
    const within = await lookUpsOf(() => Promise.all(Array.from({ length: burst * 3 }, () => send(at))))
    expect(within).toBeLessThanOrEqual(burst + 1)
    const past = await lookUpsOf(async () => {
      const statuses = await Promise.all(Array.from({ length: 10 }, () => send(at)))
      expect(new Set(statuses)).toEqual(new Set([429]))
    })
    expect(past).toBe(0)
  })

  test('a correctly signed token of a deleted member', async () => {
    const at = from()
    const expiresAt = new Date(Date.now() + 3_600_000)
    const signIn = { tenantId: tenant.tenant.id, memberId: newId(), id: newId(), expiresAt }
    const token = await tokenOf(service.app, signIn)
    const send = () => as({ authorization: `Bearer ${token}`, ...at }, '/api/v1/discussions')
    for (let n = 0; n < burst + 1; n++) await send()
    expect(await lookUpsOf(async () => expect(await send()).toBe(429))).toBe(0)
  })

  test('a key that was found before works, even after it left the cache; a new one waits for a token', async () => {
    const at = from()
    const unseen = (await call('POST', '/keys', { label: 'unseen', capabilities: [] })).json.key as string
    expect((await send({ 'x-api-key': tenant.apiKey, ...at })).status).toBe(200)
    await Promise.all(Array.from({ length: burst * 2 }, () => send({ ...madeUp(), ...at })))
    announceChange(service.app, { kind: 'key', keyId: newId(), digest: sha256(tenant.apiKey).toString('hex') })
    expect((await send({ 'x-api-key': tenant.apiKey, ...at })).status).toBe(200)
    expectLimited(await send({ 'x-api-key': unseen, ...at }))
    service.app.limits.giveBack('address', addressBucket(at['x-forwarded-for']), RATE_PER_ADDRESS, 1)
    expect((await send({ 'x-api-key': unseen, ...at })).status).toBe(200)
    // A valid key costs its address nothing: its token is returned right after the answer.
    await vi.waitFor(async () => expect((await send({ ...madeUp(), ...at })).status).toBe(401))
  })

  test('a valid key that comes many times at once, before it was found, is not refused', async () => {
    const { key } = (await call('POST', '/keys', { label: 'new', capabilities: [] })).json
    const at = from()
    const answers = await Promise.all(
      Array.from({ length: burst * 3 }, () => send({ 'x-api-key': key as string, ...at })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })

  const send = (headers: Record<string, string>) => service.call('GET', '/discussions', { headers })
})

test('a correct password clears the count of its e-mail address', async () => {
  const headers = { 'x-api-key': '' }
  const login = (password: string) =>
    service.call('POST', '/admin/auth/login', {
      headers: { ...headers, ...from() },
      body: { ...tenant.admin, password },
    })
  const guess = async (times: number) =>
    (await Promise.all(Array.from({ length: times }, () => login('guess')))).map(({ status }) => status)
  expect(await guess(9)).toEqual(Array.from({ length: 9 }, () => 401))
  expect((await login(tenant.admin.password)).status).toBe(200)
  expect(await guess(9)).toEqual(Array.from({ length: 9 }, () => 401))
})
