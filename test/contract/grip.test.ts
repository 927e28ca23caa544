import { type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, type MockInstance, onTestFinished, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { inOneTransaction } from '../../src/core/scope.ts'
import { Grip } from '../../src/live/grip.ts'
import { hubOf } from '../../src/live/hub.ts'
import { announce, appendEvent } from '../../src/domains/discussions/append-events.ts'
import { figuresOf } from '../harness/figures.ts'
import { startService, type TestService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'

const GRIP_KEY = 'a-key-of-the-tests-which-has-32-bytes'
const ORIGIN = 'https://news.example'
let service: TestService
let discussionId: string
let warn: MockInstance<TestService['app']['log']['warn']>

beforeAll(async () => {
  // No proxy takes the published items, which must not delay anything.
  const rate = { UNAUTHENTICATED_RATE_PER_SECOND: '1000', UNAUTHENTICATED_RATE_BURST: '1000' }
  service = await startService({ env: { ...rate, GRIP_URL: 'http://127.0.0.1:9', GRIP_KEY }, worker: false })
  warn = vi.spyOn(service.app.log, 'warn')
  await service.call('PATCH', '/settings', { body: { allowedOrigins: [ORIGIN] } })
  discussionId = (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id
  for (const status of ['approved', 'approved', 'approved']) {
    const headers = await service.as('ada')
    const body = { body: status }
    expect((await service.call('POST', `/discussions/${discussionId}/comments`, { body, headers })).status).toBe(201)
  }
})
afterAll(() => service.close())

const sign = (key: string, seconds = 3600, claims: JWTPayload = { iss: 'pushpin' }): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
    .sign(Buffer.from(key))

const fromProxy = async (): Promise<Record<string, string>> => ({ 'grip-sig': await sign(GRIP_KEY) })

async function pathWith(headers: Record<string, string> = {}): Promise<string> {
  const { json } = await service.call('POST', '/stream/ticket', { body: { discussionId }, headers })
  return `/api/v1/stream/${discussionId}?ticket=${json.ticket}`
}

const ask = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(service.url + path, { headers: { ...(await fromProxy()), ...headers } })

const linkOf = (response: Response): string => /^<([^>]+)>/.exec(response.headers.get('grip-link') ?? '')?.[1] ?? ''
const channel = (): string => `discussion:${service.tenant.id}:${discussionId}`
const seqsOf = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq))
const frame = (text: string, event: string): unknown =>
  JSON.parse(new RegExp(`^event: ${event}\\ndata: (.*)$`, 'm').exec(text)?.[1] ?? 'null')

/** Long events that nobody is told of, every fifth of them for the tenant alone. */
async function writeEvents(id: string, count: number): Promise<void> {
  const insert = unnamed(`WITH made AS (
       INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
       SELECT tenant_id, id, n, gen_random_uuid(), 'comment_created', CASE n % 5 WHEN 0 THEN 'tenant' ELSE 'public' END,
         now(), '{"kind":"system"}', json_build_object('comment', json_build_object('body', repeat('x', 40000)))
       FROM discussions, generate_series(1, $2::int) AS n WHERE id = $1
     )
     UPDATE discussions SET seq = $2 WHERE id = $1`)
  await service.app.db.query(insert, [id, count])
}

describe('a stream with a ticket that comes through a proxy', () => {
  test('is answered with its replay, and held after its last event', async () => {
    const response = await ask(await pathWith(), { 'last-event-id': '1', origin: ORIGIN })
    expect(response.status).toBe(200)
    const text = await response.text()
    expect(frame(text, 'connected')).toEqual({ lastEventId: '1', replayed: 2, complete: true })
    expect(text).toMatch(/^retry: \d+\n/)
    expect(seqsOf(text)).toEqual([2, 3])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'access-control-allow-origin': ORIGIN,
      'grip-hold': 'stream',
      'grip-channel': `${channel()}; prev-id=3, streams`,
      'grip-keep-alive': ':\\n\\n; format=cstring; timeout=15; mode=interval',
    })
    expect(response.headers.get('grip-link')).toMatch(/^<\/api\/v1\/stream\/[^>]+>; rel=next; timeout=30$/)
    // Nothing stays open here.
    expect(hubOf(service.app).sessions.size).toBe(0)
  })

  test('without Last-Event-ID begins with the next event; beyond the window it must reload', async () => {
    const fresh = await ask(await pathWith())
    expect(seqsOf(await fresh.text())).toEqual([])
    expect(fresh.headers.get('grip-channel')).toBe(`${channel()}; prev-id=3, streams`)
    const text = await (await ask(await pathWith(), { 'last-event-id': '99' })).text()
    expect(frame(text, 'connected')).toEqual({ lastEventId: '3', replayed: 0, complete: false })
  })

  test('is refused like any other', async () => {
    expect((await ask(await pathWith(), { origin: 'https://other.example' })).status).toBe(403)
    expect((await ask(`/api/v1/stream/${discussionId}?ticket=none`)).status).toBe(401)
  })
})

test('metrics count the items that wait for a proxy that is down', async () => {
  await vi.waitFor(
    async () => {
      const { grip_items_waiting: waiting, grip_items_total: taken } = await figuresOf(service.app)
      expect({ waiting, taken }).toEqual({ waiting: 3, taken: 0 })
    },
    { timeout: 5000 },
  )
})

describe('the service serves a stream itself', () => {
  const expectOwn = async (path: string, headers: Record<string, string>): Promise<void> => {
    const stream = await openStream(service.url + path, headers)
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
    expect(stream.headers['grip-hold']).toBeUndefined()
    expect(stream.closed).toBe(false)
    stream.close()
  }

  test('if its ticket names a reader', async () =>
    expectOwn(await pathWith(await service.as('ada')), await fromProxy()))
  test('if it is opened with a key', async () =>
    expectOwn(`/api/v1/stream/${discussionId}`, { ...(await fromProxy()), 'x-api-key': service.apiKey }))
  test('if it came through no proxy', async () => expectOwn(await pathWith(), {}))
  test.each([
    ['signed by another key', () => sign('another-key-of-the-tests-of-32-bytes')],
    ['whose signature is over', () => sign(GRIP_KEY, -10)],
    ['whose signature is none', () => Promise.resolve('x.y.z')],
    ['that is not signed', () => Promise.resolve('eyJhbGciOiJub25lIn0.eyJleHAiOjk5OTk5OTk5OTl9.')],
  ])('%s', async (_name, signature) => expectOwn(await pathWith(), { 'grip-sig': await signature() }))
  test('and logs, once an hour, an invalid signature', async () => {
    const line = [{ reason: expect.any(String) as string }, expect.stringContaining('GRIP_KEY') as string]
    const lines = (): unknown[] => warn.mock.calls.filter((call) => String(call[1]).includes('Grip-Sig'))
    const signature = await sign('a-key-of-nobody-of-the-tests-here', 10_000)
    for (let n = 0; n < 2; n++) await expectOwn(await pathWith(), { 'grip-sig': signature })
    expect(lines()).toEqual([line])
    vi.useFakeTimers({ now: Date.now() + 3_601_000, toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    await expectOwn(await pathWith(), { 'grip-sig': signature })
    expect(lines()).toEqual([line, line])
  })
})

describe('the link of a held stream', () => {
  const hold = async (): Promise<string> => linkOf(await ask(await pathWith()))

  test('answers with the events after the last one that the proxy has sent', async () => {
    const response = await ask(await hold(), { 'grip-last': `${channel()}; last-id=1` })
    const text = await response.text()
    expect(seqsOf(text)).toEqual([2, 3])
    expect(text).not.toMatch(/connected|retry/)
    expect(response.headers.get('grip-channel')).toBe(`${channel()}; prev-id=3, streams`)
  })

  test('answers with events that the bus has lost', async () => {
    const { json } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
    const { json: ticket } = await service.call('POST', '/stream/ticket', { body: { discussionId: json.id } })
    const held = await ask(`/api/v1/stream/${json.id}?ticket=${ticket.ticket}`)
    await writeEvents(json.id, 1)
    const headers = { 'grip-last': `discussion:${service.tenant.id}:${json.id}; last-id=0` }
    expect(seqsOf(await (await ask(linkOf(held), headers)).text())).toEqual([1])
  })

  test('is the same for streams that end in the same minute', async () => {
    const links = new Set(await Promise.all(Array.from({ length: 40 }, hold)))
    // 15 min ± 20 %
    expect(links.size).toBeLessThanOrEqual(8)
  })

  test('ends the stream if its position is unknown', async () => {
    const response = await ask(await hold(), { 'grip-last': `${channel()}; last-id=99` })
    expect(frame(await response.text(), 'connection-timeout')).toEqual({ lastEventId: '99' })
    expect(response.headers.get('grip-hold')).toBeNull()
  })

  test('ends the stream when its time is up', async () => {
    const link = await hold()
    vi.useFakeTimers({ now: Date.now() + 19 * 60_000, toFake: ['Date'] })
    const response = await ask(link, { 'grip-last': `${channel()}; last-id=3` }).finally(() => vi.useRealTimers())
    expect(frame(await response.text(), 'connection-timeout')).toEqual({ lastEventId: '3' })
    expect(response.headers.get('grip-hold')).toBeNull()
    expect(response.headers.get('grip-link')).toBeNull()
  })

  test.each([
    ['of another discussion', (link: string) => link.replace(discussionId, newId())],
    ['of another tenant', (link: string) => link.replace(service.tenant.id, newId())],
    ['with another end', (link: string) => link.replace(/next\/\d+/, 'next/9999999999999')],
    ['without its seal', (link: string) => link.replace(/&mac=.*/, '')],
    ['with half its seal', (link: string) => link.slice(0, -20)],
  ])('%s is 404', async (_name, change) => {
    expect((await ask(change(await hold()))).status).toBe(404)
  })

  test('is 404 for a request that did not come through a proxy', async () => {
    expect((await fetch(service.url + (await hold()))).status).toBe(404)
  })
})

test('an event is published after the commit of its request, and never after a rollback', async () => {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
  const published = vi.spyOn(Grip.prototype, 'publish')
  onTestFinished(() => published.mockRestore())
  const data = JSON.stringify({ discussion: json })
  const actor = { kind: 'system' } as const
  const common = { tenantId: service.tenant.id, discussionId: json.id, audience: 'public', actor, data } as const
  const write = (end: () => void): Promise<void> =>
    inOneTransaction(service.app, (_sql, attempt) =>
      attempt(async (app) => {
        const event = { ...common, type: 'discussion_locked' } as const
        announce(app, await app.db.transaction((sql) => appendEvent(sql, event)))
        expect(published).not.toHaveBeenCalled()
        end()
      }),
    )
  const fail = (): never => {
    throw new Error('of the request')
  }
  await expect(write(fail)).rejects.toThrow('of the request')
  expect(published).not.toHaveBeenCalled()
  await write(() => undefined)
  expect(published).toHaveBeenCalledOnce()
})

test('a long replay comes in parts, of which the last one is held', async () => {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: newId() } })
  const count = 150
  await writeEvents(json.id, count)
  const { json: ticket } = await service.call('POST', '/stream/ticket', { body: { discussionId: json.id } })
  const charge = vi.spyOn(service.app.limits, 'charge')
  onTestFinished(() => charge.mockRestore())
  let response = await ask(`/api/v1/stream/${json.id}?ticket=${ticket.ticket}`, { 'last-event-id': '0' })
  const [ofTicket] = charge.mock.calls.map(([, name]) => name)
  const tokens = charge.mock.calls.reduce((sum, [, name, , each]) => sum + (name === ofTicket ? each : 0), 0)
  // One for each 64 KiB of all that is to come: 120 events of 40 000 characters.
  expect(tokens).toBeGreaterThan(70)
  const seqs: number[] = []
  let parts = 0
  for (; ; parts++) {
    seqs.push(...seqsOf(await response.text()))
    if (response.headers.get('grip-hold') !== null) break
    // Not in the query: Pushpin leaves it out where it puts equal questions as one.
    expect(new URL(linkOf(response), service.url).pathname.split('/').pop()).toBe(String(seqs.at(-1)))
    // Of a stream that was held before, Pushpin sends this with each part.
    response = await ask(linkOf(response), { 'grip-last': `discussion:${service.tenant.id}:${json.id}; last-id=0` })
    expect(parts, 'the same part again').toBeLessThan(count)
  }
  expect(seqs).toEqual(Array.from({ length: count }, (_, n) => n + 1).filter((n) => n % 5 !== 0))
  expect(parts).toBeGreaterThan(1)
  expect(response.headers.get('grip-channel')).toMatch(/prev-id=150/)
})

describe('with GRIP_ISSUER a stream is held', () => {
  let strict: TestService
  beforeAll(async () => {
    strict = await startService({
      env: { GRIP_URL: 'http://127.0.0.1:9', GRIP_KEY, GRIP_ISSUER: 'fastly:a-service' },
      worker: false,
    })
  })
  afterAll(() => strict.close())

  test.each([
    ['where that signed it', { iss: 'fastly:a-service' }, 'stream'],
    ['not where another one signed it', { iss: 'fastly:another-service' }, undefined],
    ['not where it names none', {}, undefined],
  ])('%s', async (_name, claims, hold) => {
    const { json: page } = await strict.call('POST', '/discussions', { body: { externalId: newId() } })
    const { json } = await strict.call('POST', '/stream/ticket', { body: { discussionId: page.id } })
    const stream = await openStream(`${strict.url}/api/v1/stream/${page.id}?ticket=${json.ticket}`, {
      'grip-sig': await sign(GRIP_KEY, 3600, claims),
    })
    await vi.waitFor(() => expect(stream.connected).toBeDefined())
    expect(stream.headers['grip-hold']).toBe(hold)
    stream.close()
  })
})
