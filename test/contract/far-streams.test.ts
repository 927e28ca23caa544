import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { FarStreams } from '../../src/api/graphql-sse/far-streams.ts'
import type { Ctx } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import { admitTenant } from '../../src/domains/tenants/tenants.ts'
import { startService, type TestService } from '../harness/service.ts'

const EVENTS = 'text/event-stream'

let service: TestService
/** Another process, as far as the bus knows. */
let other: FarStreams
let ctx: Ctx
let key: Record<string, string>
let discussionId: string
const open = new Set<AbortController>()

beforeAll(async () => {
  service = await startService({ worker: false })
  other = new FarStreams(service.app)
  const made = (await service.call('POST', '/keys', { body: { label: 'far', capabilities: [] } })).json
  key = { 'x-api-key': made.key }
  discussionId = (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id
  const tenant = await admitTenant(service.app, service.tenant.id)
  const actor = { kind: 'key' as const, id: made.id, capabilities: new Set<never>(), expiresAt: null }
  ctx = { app: service.app, requestId: 'far', address: null, caller: { tenant, actor, identity: null } }
})
afterAll(() => service.close())
afterEach(() => {
  vi.restoreAllMocks()
  for (const each of open) each.abort()
  open.clear()
})

const at = (path = ''): string => `${service.url}/graphql/stream${path}`
const reserve = async (): Promise<string> => (await fetch(at(), { method: 'PUT', headers: key })).text()
const named = (token: string) => ({ ...key, 'x-graphql-event-stream-token': token })

/** Opens a reserved stream, and collects what comes on it. */
async function openShared(token: string): Promise<{ text: string }> {
  const control = new AbortController()
  open.add(control)
  const answer = await fetch(at(), { headers: { ...named(token), accept: EVENTS }, signal: control.signal })
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

test('an operation that comes just before its stream is opened waits for it', async () => {
  const token = await reserve()
  const { method, body } = operation(events(), 'five')
  const headers = { ...named(token), 'content-type': 'application/json' }
  const early = fetch(at(), { method, headers, body: JSON.stringify(body) })
  await openShared(token)
  expect((await early).status).toBe(202)
})

test('an operation of a stream that no process has is 404', async () => {
  const { method, body } = operation(events(), 'six')
  const headers = { ...named(await reserve()), 'content-type': 'application/json' }
  expect((await fetch(at(), { method, headers, body: JSON.stringify(body) })).status).toBe(404)
  expect((await fetch(at('?operationId=six'), { method: 'DELETE', headers: named(await reserve()) })).status).toBe(404)
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
