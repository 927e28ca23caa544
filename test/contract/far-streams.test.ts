import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { type Asked, openMessage, type Reply, sealMessage } from '../../src/api/graphql-sse/far-messages.ts'
import { FarStreams, farStreamsOf } from '../../src/api/graphql-sse/far-streams.ts'
import { createServer } from '../../src/api/http/server.ts'
import type { Ctx } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import { hubOf } from '../../src/live/hub.ts'
import { useService } from '../harness/service.ts'

const EVENTS = 'text/event-stream'
const QUICK = { againMs: 20 }

const service = useService()
/** Another process, as far as the bus knows. */
let other: FarStreams
let ctx: Ctx
let key: Record<string, string>
let discussionId: string
/** The address of another process, on the same database, bus and places. */
let otherUrl: string
let closeOther: () => Promise<void>
const open = new Set<AbortController>()

beforeAll(async () => {
  other = new FarStreams(service.app, QUICK)
  const app = { ...service.app }
  const server = await createServer(app)
  otherUrl = await server.listen({ host: '127.0.0.1', port: 0 })
  closeOther = async () => {
    await Promise.all([server.close(), hubOf(app).close({ graceMs: 0 })])
  }
  const made = await service.newKey()
  key = made.headers
  discussionId = await service.newDiscussion()
  const tenant = await admitTenant(service.app, service.tenant.id)
  const actor = { kind: 'key' as const, id: made.id, capabilities: new Set<never>(), expiresAt: null }
  ctx = { app: service.app, requestId: 'far', address: null, caller: { tenant, actor, identity: null } }
})
afterAll(() => closeOther())
afterEach(() => {
  vi.restoreAllMocks()
  for (const each of open) each.abort()
  open.clear()
})

const at = (path = ''): string => `${service.url}/graphql/stream${path}`
const reserve = async (): Promise<string> => (await fetch(at(), { method: 'PUT', headers: key })).text()
const named = (token: string) => ({ ...key, 'x-graphql-event-stream-token': token })

/** Asks for a reserved stream, at one of the processes. */
function askToOpen(token: string, url = at()): Promise<Response> {
  const control = new AbortController()
  open.add(control)
  return fetch(url, { headers: { ...named(token), accept: EVENTS }, signal: control.signal })
}

/** Opens a reserved stream, and collects what comes on it. */
async function openShared(token: string): Promise<{ text: string }> {
  const answer = await askToOpen(token)
  expect(answer.status).toBe(200)
  const seen = { text: '' }
  const read = async (): Promise<void> => {
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) seen.text += chunk
  }
  read().catch(() => undefined)
  return seen
}

const operation = (query: string, operationId: string) => ({
  method: 'POST',
  url: '/graphql/stream',
  accept: 'application/json',
  body: { query, extensions: { operationId } },
})
const events = () => `subscription { discussionEvents(discussionId: "${discussionId}", lastEventId: "0") { seq } }`
const creation = (externalId: string) =>
  `mutation { createDiscussion(input: { externalId: "${externalId}" }) { discussion { externalId } } }`

/** What processes ask each other from now on. */
function watchOperations(): Asked[] {
  const asked: Asked[] = []
  const publish = service.app.bus.publish.bind(service.app.bus)
  vi.spyOn(service.app.bus, 'publish').mockImplementation((channel, message) => {
    if (channel.startsWith('operations:')) asked.push(openMessage(service.app, channel, message) as Asked)
    publish(channel, message)
  })
  return asked
}

test('a process runs the operations that another one got for its stream', async () => {
  const token = await reserve()
  const seen = await openShared(token)
  expect(await other.ask(token, ctx, operation(events(), 'one'))).toMatchObject({ status: 202 })
  const body = { body: 'Hello' }
  const headers = await service.as('ada')
  expect((await service.call('POST', `/discussions/${discussionId}/comments`, { body, headers })).status).toBe(201)
  await vi.waitFor(() => expect(seen.text).toContain('"seq":1'))
  expect(seen.text).toContain('"id":"one"')
  const end = { method: 'DELETE', url: '/graphql/stream?operationId=one', accept: null, body: null }
  expect(await other.ask(token, ctx, end)).toMatchObject({ status: 200 })
})

test('what the process with the stream refuses is refused', async () => {
  const token = await reserve()
  await openShared(token)
  const twice = operation(events(), 'two')
  expect(await other.ask(token, ctx, twice)).toMatchObject({ status: 202 })
  await expect(other.ask(token, ctx, twice)).rejects.toMatchObject({ code: 'invalid_transition' })
  const nameless = operation(events(), '')
  await expect(other.ask(token, ctx, nameless)).rejects.toMatchObject({ code: 'validation_failed' })
})

test('a message that the bus doubles runs once', async () => {
  const token = await reserve()
  const seen = await openShared(token)
  const publish = service.app.bus.publish.bind(service.app.bus)
  vi.spyOn(service.app.bus, 'publish').mockImplementation((channel, message) => {
    publish(channel, message)
    publish(channel, message)
  })
  const externalId = newId()
  expect(await other.ask(token, ctx, operation(creation(externalId), 'three'))).toMatchObject({ status: 202 })
  await vi.waitFor(() => expect(seen.text).toContain('event: complete'))
  expect(await other.ask(token, ctx, operation(creation(newId()), 'four'))).toMatchObject({ status: 202 })
  await vi.waitFor(() => expect(seen.text.match(/event: complete/g)).toHaveLength(2))
  expect(seen.text.match(/event: next/g)).toHaveLength(2)
  expect(seen.text).toContain(externalId)
})

test.each(['question', 'wish', 'operation', 'acknowledgement', 'answer'])(
  'an operation runs once and is answered where the bus loses the %s',
  async (lost) => {
    const token = await reserve()
    const seen = await openShared(token)
    const publish = service.app.bus.publish.bind(service.app.bus)
    let isLost = false
    vi.spyOn(service.app.bus, 'publish').mockImplementation((channel, message) => {
      if (isLost || !channel.startsWith('operation') || kindOf(channel, message) !== lost) publish(channel, message)
      else isLost = true
    })
    expect(await other.ask(token, ctx, operation(creation(newId()), 'lost'))).toMatchObject({ status: 202 })
    expect(isLost).toBe(true)
    expect(await other.ask(token, ctx, operation('{ __typename }', 'next'))).toMatchObject({ status: 202 })
    await vi.waitFor(() => expect(seen.text.match(/event: complete/g)).toHaveLength(2))
    expect(seen.text.match(/event: next/g)).toHaveLength(2)
    expect(seen.text.match(/"createDiscussion"/g)).toHaveLength(1)
  },
)

/** What a message between processes is. */
function kindOf(channel: string, message: string): string {
  const opened = openMessage(service.app, channel, message) as Partial<Asked & Reply> | null
  if (channel.startsWith('operations:')) return opened?.sent === undefined ? 'question' : 'operation'
  if (opened?.isWanted === true) return 'wish'
  return opened?.answer === undefined ? 'acknowledgement' : 'answer'
}

test('an operation runs once while it is asked for again and again', async () => {
  const token = await reserve()
  const perform = vi.fn(async () => {
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(4))
    return { status: 202, headers: {}, body: null }
  })
  const asked = watchOperations()
  const leave = await new FarStreams(service.app).serve(token, perform)
  const calm = new FarStreams(service.app, { againMs: 100 })
  expect(await calm.ask(token, ctx, operation(events(), 'slow'))).toMatchObject({ status: 202 })
  expect(perform).toHaveBeenCalledTimes(1)
  // The document goes over the bus once.
  expect(asked.filter(({ sent }) => sent !== undefined)).toHaveLength(1)
  leave()
})

test('an operation is refused as unavailable where its process falls silent', async () => {
  const token = await reserve()
  const leave = await new FarStreams(service.app).serve(token, async () => {
    leave()
    return new Promise(() => undefined)
  })
  const impatient = new FarStreams(service.app, { ...QUICK, silentMs: 50 })
  await expect(impatient.ask(token, ctx, operation(events(), 'silent'))).rejects.toMatchObject({ code: 'unavailable' })
})

test("an operation runs with the caller and the tenant's app, as a request does", async () => {
  const token = await reserve()
  const identity = {
    externalId: 'ada',
    issuedAt: new Date(),
    name: 'Ada',
    avatarUrl: null,
    profileUrl: null,
    badges: ['staff'],
  }
  const capabilities = new Set(['moderate_content'] as const)
  const actor = { kind: 'key' as const, id: newId(), capabilities, expiresAt: new Date(Date.now() + 60_000) }
  const tenant = await admitTenant(service.app, service.tenant.id)
  const perform = vi.fn(async (_ctx: Ctx) => ({ status: 202, headers: {}, body: null }))
  const leave = await new FarStreams(service.app).serve(token, perform)
  await other.ask(token, { ...ctx, caller: { tenant, actor, identity } }, operation(events(), 'caller'))
  leave()
  const ran = perform.mock.calls[0]?.[0]
  expect(ran?.caller).toEqual({ tenant, actor, identity })
  expect(ran?.app.root).toBe(service.app)
  expect(ran?.app.db).not.toBe(service.app.db)
  expect(ran?.app.isGone?.()).toBe(false)
})

test('a message counts on its own channel alone, and for a short time', () => {
  const { app } = service
  const sealed = sealMessage(app, 'one', { id: '1' })
  expect(openMessage(app, 'one', sealed)).toEqual({ id: '1' })
  expect(openMessage(app, 'two', sealed)).toBeNull()
  expect(openMessage(app, 'one', 'x'.repeat(200))).toBeNull()
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 31_000)
  expect(openMessage(app, 'one', sealed)).toBeNull()
})

test('a stream is open at one process at a time', async () => {
  const token = await reserve()
  const urls = [at(), `${otherUrl}/graphql/stream`]
  const answers = await Promise.all(urls.map((url) => askToOpen(token, url)))
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409])
  const again = await Promise.all(urls.map((url) => askToOpen(token, url)))
  expect(again.map(({ status }) => status)).toEqual([409, 409])
  await answers.find(({ status }) => status === 200)?.body?.cancel()
  await vi.waitFor(async () => expect((await askToOpen(token, urls[1])).status).toBe(200))
})

test('an operation that comes just before its stream is opened waits for it', async () => {
  const token = await reserve()
  const asked = watchOperations()
  const patient = new FarStreams(service.app, { ...QUICK, nobodyMs: 60_000 })
  const early = patient.ask(token, ctx, operation(events(), 'five'))
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(1))
  await openShared(token)
  expect(await early).toMatchObject({ status: 202 })
})

test('an operation of a stream that no process has is 404', async () => {
  const hasty = new FarStreams(service.app, { ...QUICK, nobodyMs: 50 })
  vi.spyOn(farStreamsOf(service.app), 'ask').mockImplementation((...asked) => hasty.ask(...asked))
  const { method, body } = operation(events(), 'six')
  const headers = { ...named(await reserve()), 'content-type': 'application/json' }
  expect((await fetch(at(), { method, headers, body: JSON.stringify(body) })).status).toBe(404)
  expect((await fetch(at('?operationId=six'), { method: 'DELETE', headers: named(await reserve()) })).status).toBe(404)
})

test('a document that is too long or too deep is refused before another process is asked', async () => {
  const headers = { ...named(await reserve()), 'content-type': 'application/json' }
  const asked = watchOperations()
  const long = events().replace('{ seq }', `{ ${'seq '.repeat(5000)}}`)
  const deep = `{ a${' { a'.repeat(300)}${' }'.repeat(300)} }`
  const wide = `subscription ($lastEventId: String) { discussionEvents(discussionId: "${discussionId}", lastEventId: $lastEventId) { seq } }`
  for (const [query, variables] of [
    [long, {}],
    [deep, {}],
    [wide, { lastEventId: '1'.repeat(20_000) }],
  ] as const) {
    const body = JSON.stringify({ query, variables, extensions: { operationId: 'long' } })
    expect((await fetch(at(), { method: 'POST', headers, body })).status).toBe(422)
  }
  expect(asked).toEqual([])
})

test('the console runs no mutation on a shared connection, wherever that is open', async () => {
  const fromConsole = {
    'content-type': 'application/json',
    'x-requested-with': 'engagement-console',
    'sec-fetch-site': 'same-origin',
  }
  const send = async (token: string, url: string, query: string) => {
    const body = JSON.stringify({ query, extensions: { operationId: newId() } })
    return fetch(url, { method: 'POST', headers: { ...named(token), ...fromConsole }, body })
  }
  const token = await reserve()
  const seen = await openShared(token)
  for (const url of [at(), `${otherUrl}/graphql/stream`]) {
    const refused = await send(token, url, creation(newId()))
    expect(refused.status).toBe(422)
    expect(await refused.json()).toMatchObject({ errors: [{ pointer: '/query', code: 'not_here' }] })
    expect((await send(token, url, events())).status).toBe(202)
  }
  expect(seen.text).not.toContain('createDiscussion')
})

test('the bus shows neither the token nor what is asked', async () => {
  const token = await reserve()
  await openShared(token)
  const publish = vi.spyOn(service.app.bus, 'publish')
  await other.ask(token, ctx, operation(events(), 'seven'))
  const shown = JSON.stringify(publish.mock.calls)
  expect(publish.mock.calls.map(([channel]) => channel.split(':')[0])).toContain('operations')
  for (const secret of [token, 'discussionEvents', discussionId]) {
    expect(shown).not.toContain(secret)
    expect(shown).not.toContain(Buffer.from(secret).toString('base64').slice(2, -4))
  }
})

test('an operation that could not begin may be tried again by the same id; an id is a text', async () => {
  const token = await reserve()
  const seen = await openShared(token)
  const run = async (query: string, operationId: unknown): Promise<number> => {
    const headers = { ...named(token), 'content-type': 'application/json' }
    const body = JSON.stringify({ query, extensions: { operationId } })
    return (await fetch(at(), { method: 'POST', headers, body })).status
  }
  const tooLong = `subscription { discussionEvents(discussionId: "${'x'.repeat(20_000)}") { seq } }`
  expect(await run(tooLong, 'again')).toBe(422)
  expect(await run('{ __typename }', 'again')).toBe(202)
  await vi.waitFor(() => expect(seen.text).toContain('"id":"again"'))
  expect(await run('{ __typename }', { toString: 1, valueOf: 1 })).toBe(422)
})
