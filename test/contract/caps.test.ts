import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { hubOf } from '../../src/live/hub.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const PER_PROCESS = 8

const service = useService({
  env: { STREAM_MAX_PER_PROCESS: String(PER_PROCESS), TRUSTED_PROXIES: '127.0.0.0/8' },
})
let tenant: TestTenant
let discussionId: string
let count = 0
const clients = new Set<StreamClient>()

beforeEach(async () => {
  tenant = await service.addTenant(`caps-${count++}`)
  discussionId = (await call('POST', '/discussions', { externalId: newId() })).json.id
})
afterEach(async () => {
  vi.restoreAllMocks()
  clients.forEach((client) => client.close())
  clients.clear()
  await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0))
})

const call = (method: string, path: string, body?: unknown) =>
  service.call(method, path, { headers: { 'x-api-key': tenant.apiKey }, body })

const setCaps = async (stream: object): Promise<void> =>
  expect((await call('PATCH', '/settings', { stream })).status).toBe(200)

const ticket = async (): Promise<string> =>
  `?ticket=${(await call('POST', '/stream/ticket', { discussionId })).json.ticket}`

async function open(query = '', key = tenant.apiKey, id = discussionId): Promise<StreamClient> {
  const headers: Record<string, string> = query === '' ? { 'x-api-key': key } : {}
  const client = await openStream(`${service.url}/api/v1/stream/${id}${query}`, headers)
  clients.add(client)
  return client
}

async function openFrom(address: string, query: string): Promise<StreamClient> {
  const headers = { 'x-forwarded-for': address }
  const client = await openStream(`${service.url}/api/v1/stream/${discussionId}${query}`, headers)
  clients.add(client)
  return client
}

async function expectOpen(client: StreamClient): Promise<void> {
  await vi.waitFor(() => expect(client.connected).toBeDefined())
  expect(client.closed).toBe(false)
}

async function expectRefused(client: StreamClient): Promise<void> {
  await vi.waitFor(() => expect(client.closed).toBe(true))
  expect(JSON.parse(client.text)).toMatchObject({ status: 429, code: 'too_many_streams' })
  expect(client.status).toBe(429)
  expect(client.headers['retry-after']).toMatch(/^[1-9]\d*$/)
}

async function expectSentOff(client: StreamClient): Promise<void> {
  await vi.waitFor(() => expect(client.closed).toBe(true))
  expect(client.status).toBe(200)
  expect(client.all).toEqual([{ retry: 30_000, event: 'connection-timeout', data: { lastEventId: null } }])
}

const QUERY = 'subscription ($id: ID!) { discussionEvents(discussionId: $id) { seq } }'

interface Subscribe {
  key?: string
  id?: string
  signal?: AbortSignal
}

const subscribe = (
  path: string,
  { key = tenant.apiKey, id = discussionId, signal }: Subscribe = {},
): Promise<Response> =>
  fetch(service.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-api-key': key },
    body: JSON.stringify({ query: QUERY, variables: { id } }),
    ...(signal === undefined ? {} : { signal }),
  })

async function openAs(what: string, key: string): Promise<Response> {
  if (what === 'a subscription') return subscribe('/graphql/stream', { key })
  if (what === 'a stream')
    return fetch(`${service.url}/api/v1/stream/${discussionId}`, { headers: { 'x-api-key': key } })
  const at = `${service.url}/graphql/stream`
  const token = await (await fetch(at, { method: 'PUT', headers: { 'x-api-key': key } })).text()
  const headers = { 'x-api-key': key, 'x-graphql-event-stream-token': token, accept: 'text/event-stream' }
  return fetch(at, { headers })
}

/** Delays every new place until it is released. */
function holdPlaces(): { isAsked: () => boolean; letGo: () => void } {
  const take = service.app.places.take.bind(service.app.places)
  let letGo = (): void => undefined
  const gate = new Promise<void>((resolve) => (letGo = resolve))
  const spy = vi.spyOn(service.app.places, 'take').mockImplementation(async (request) => {
    const place = await take(request)
    await gate
    return place
  })
  return { isAsked: () => spy.mock.calls.length > 0, letGo }
}

describe('over the cap', () => {
  test('of the process: 429 with Retry-After for a server, a closing event for a ticket', async () => {
    const query = await ticket()
    await Promise.all(Array.from({ length: PER_PROCESS }, () => open()))
    await expectRefused(await open())
    await expectSentOff(await open(query))
  })

  test('of the tenant: the same for all clients; another tenant has its own cap', async () => {
    await setCaps({ maxStreams: 2 })
    const query = await ticket()
    expect((await open()).status).toBe(200)
    await vi.waitFor(async () => expect((await open(query)).connected).toBeDefined())
    await expectRefused(await open())
    await expectSentOff(await open(query))
    const other = await service.addTenant(`caps-${count++}`)
    const made = await service.call('POST', '/discussions', {
      headers: { 'x-api-key': other.apiKey },
      body: { externalId: newId() },
    })
    expect((await open('', other.apiKey, made.json.id)).status).toBe(200)
  })

  test('of a ticket without a reader: five at once, then a closing event; another ticket has its own cap', async () => {
    const query = await ticket()
    const five = await Promise.all(Array.from({ length: 5 }, () => open(query)))
    for (const client of five) await expectOpen(client)
    await expectSentOff(await open(query))
    await expectOpen(await open(await ticket()))
    five[0]?.close()
    await expectOpen(await open(query))
  })

  test('of a ticket, however its text is encoded', async () => {
    await setCaps({ maxStreamsPerTicket: 1 })
    const query = await ticket()
    await expectOpen(await open(query))
    // The last of 43 characters has two bits that mean nothing.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(query.at(-1) ?? '')
    for (const other of [0, 1, 2, 3].map((bits) => alphabet[(last & ~3) | bits])) {
      const client = await open(`${query.slice(0, -1)}${other}`)
      if (client.status === 200) await expectSentOff(client)
      else expect(client.status).toBe(401)
    }
  })

  test('of tickets from one address, with a /64 of IPv6 as one; keys and other addresses are not affected', async () => {
    await setCaps({ maxStreamsPerAddress: 2 })
    for (const host of ['1', '2']) await expectOpen(await openFrom(`2001:db8:1::${host}`, await ticket()))
    await expectSentOff(await openFrom('2001:db8:1::3', await ticket()))
    await expectOpen(await openFrom('2001:db8:1:1::1', await ticket()))
    const key = await openStream(`${service.url}/api/v1/stream/${discussionId}`, {
      'x-api-key': tenant.apiKey,
      'x-forwarded-for': '2001:db8:1::4',
    })
    clients.add(key)
    expect(key.status).toBe(200)
  })

  test('a client at the address of a trusted proxy is not logged as an unknown proxy', async () => {
    const warn = vi.spyOn(service.app.log, 'warn')
    await expectOpen(await openFrom('127.0.0.1', await ticket()))
    expect(warn).not.toHaveBeenCalled()
  })

  test.each([
    [1, 1],
    [5, 4],
    [7, 6],
  ])('of a tenant with %i: tickets get %i, the rest is for its keys', async (maxStreams, forTickets) => {
    await setCaps({ maxStreams, maxStreamsPerTicket: 100 })
    const query = await ticket()
    for (let n = 0; n < forTickets; n++) await expectOpen(await open(query))
    await expectSentOff(await open(query))
    for (let n = forTickets; n < maxStreams; n++) expect((await open()).status).toBe(200)
    await expectRefused(await open())
  })

  test.each(['/graphql', '/graphql/stream'])(
    'a subscription at %s: 429, after which its client retries',
    async (path) => {
      await setCaps({ maxStreams: 1 })
      const stream = await open()
      const refused = await subscribe(path)
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await refused.text()).toContain('too_many_streams')
      expect(stream.closed).toBe(false)
    },
  )
})

describe('a place is given back', () => {
  test('at once: a client that closes and reconnects is admitted, time after time', async () => {
    await setCaps({ maxStreams: 1 })
    let stream = await open()
    for (let n = 0; n < 30; n++) {
      stream.close()
      stream = await open()
      expect(stream.status).toBe(200)
    }
    await expectRefused(await open())
  })

  test('by a subscription that ends', async () => {
    await setCaps({ maxStreams: 1 })
    for (let n = 0; n < 5; n++) {
      const response = await subscribe(n % 2 === 0 ? '/graphql' : '/graphql/stream')
      await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(1))
      await response.body?.cancel()
      await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0))
    }
    expect((await open()).status).toBe(200)
  })

  test('by a stream that fails after it was counted', async () => {
    await setCaps({ maxStreams: 1 })
    for (let n = 0; n < 3; n++) {
      expect((await open('', tenant.apiKey, newId())).status).toBe(404)
      expect(await (await subscribe('/graphql/stream', { id: newId() })).text()).toContain('not_found')
    }
    await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0))
    expect((await open()).status).toBe(200)
  })

  test.each(['a stream', 'a subscription'])('by %s whose client has gone before it had its place', async (what) => {
    await setCaps({ maxStreams: 1 })
    const held = holdPlaces()
    const abort = new AbortController()
    const { signal } = abort
    const opening =
      what === 'a stream'
        ? fetch(`${service.url}/api/v1/stream/${discussionId}`, { headers: { 'x-api-key': tenant.apiKey }, signal })
        : subscribe('/graphql/stream', { signal })
    const gone = opening.then((response) => response.text())
    await vi.waitFor(() => expect(held.isAsked()).toBe(true))
    abort.abort()
    await expect(gone).rejects.toThrow('aborted')
    held.letGo()
    await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0))
    vi.restoreAllMocks()
    expect((await open()).status).toBe(200)
  })

  test.each(['a stream', 'a subscription', 'a shared connection'])(
    'by %s whose key is revoked before it had its place',
    async (what) => {
      await setCaps({ maxStreams: 1 })
      const { id, key } = (await call('POST', '/keys', { label: 'short', capabilities: [] })).json
      const held = holdPlaces()
      const opening = openAs(what, key)
      await vi.waitFor(() => expect(held.isAsked()).toBe(true))
      expect((await call('DELETE', `/keys/${id}`)).status).toBe(204)
      held.letGo()
      expect(await (await opening).text()).toMatch(/revoked_api_key|unavailable/)
      await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0))
      vi.restoreAllMocks()
      expect((await open()).status).toBe(200)
    },
  )

  test.each(['a stream', 'a subscription'])('by %s whose key is revoked while it finds its beginning', async (what) => {
    await setCaps({ maxStreams: 1 })
    const { id, key } = (await call('POST', '/keys', { label: 'short', capabilities: [] })).json
    const hub = hubOf(service.app)
    const join = hub.join.bind(hub)
    const revoke = async (): Promise<void> => {
      expect((await call('DELETE', `/keys/${id}`)).status).toBe(204)
      await vi.waitFor(() => expect(hub.sessions.size).toBe(0))
    }
    vi.spyOn(hub, 'join').mockImplementation(async (request) => {
      const beginning = await join(request)
      await revoke()
      return beginning
    })
    expect(await (await openAs(what, key)).text()).toMatch(/revoked_api_key|unavailable/)
    expect(hub.streamsOf({ tenantId: tenant.tenant.id, discussionId })).toBe(0)
    vi.restoreAllMocks()
    expect((await open()).status).toBe(200)
  })
})
