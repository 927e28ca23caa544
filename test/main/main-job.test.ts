import { execFile } from 'node:child_process'
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'
import { onServer } from '../harness/database.ts'
import { first, last, type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import type { TestResponse } from '../harness/service.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { type Received, type Receiver, startReceiver } from '../harness/receiver.ts'
import {
  type Listener,
  listen,
  type SourceListener,
  subscribe,
  subscribeByPost,
  withoutCounts,
} from '../harness/sse.ts'

// What the service is for, from end to end, in processes as they are deployed: two apis and a
// worker on PostgreSQL and Redis, or one process on the embedded defaults. One test continues where
// the one before ended.

let receiver: Receiver
let service: Processes
let proxy: Proxy
let here: ServiceProcess
let there: ServiceProcess
let secret: string
let kid: string
let endpointId: string
const open: Listener<unknown>[] = []
const secrets = {
  ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
}

beforeAll(async () => {
  receiver = await startReceiver()
  service = await startProcesses({ api: 2, worker: 1, env: { WEBHOOK_CA_FILE: receiver.caFile, ...secrets } })
  here = first(service.apis)
  there = last(service.apis)
  const { hostname, port } = new URL(there.url)
  proxy = await startProxy({ host: hostname, port: Number(port) })
  await putSettings({ suspectWords: ['suspect'] })
  const made = await service.call('POST', '/webhooks', { body: { url: `${receiver.url}/hook` } })
  expect(made.status, made.text).toBe(201)
  ;({ id: endpointId, secret, kid } = made.json)
  await vi.waitFor(async () => {
    const { json } = await service.call('GET', `/webhooks/${endpointId}`)
    expect(json).toMatchObject({ state: 'verified', lastVerification: { ok: true, error: null } })
  })
})

afterAll(async () => {
  open.forEach((listener) => listener.close())
  await proxy?.close()
  await service?.close()
  await receiver?.close()
})

async function putSettings(body: object): Promise<void> {
  await service.ok('PATCH', '/settings', body)
}

const keep = <T extends Listener<unknown>>(listener: T): T => {
  open.push(listener)
  return listener
}

const listenAt = async (url: string, headers: Record<string, string> = {}): Promise<SourceListener> =>
  keep(await listen(url, headers))

async function createDiscussion(externalId: string): Promise<string> {
  return (await service.ok('POST', '/discussions', { externalId, title: 'A page' })).id
}

/** Posts as a reader, and returns the comment. */
async function post(discussionId: string, reader: string, body: object, api = here): Promise<TestResponse['json']> {
  const headers = await service.as(reader)
  const { status, json, text } = await service.call('POST', `/discussions/${discussionId}/comments`, {
    api,
    body,
    headers,
  })
  expect(status, text).toBe(201)
  return json
}

const idsOf = ({ received }: SourceListener): string[] => received.map(({ id }) => id)

/** A receiver's check of a signature, written from docs/guides/webhook-signatures.md alone. */
function isSigned({ headers, raw }: Received): boolean {
  const parts = new Map(
    (headers['x-service-signature'] ?? '').split(',').map((part) => part.split('=') as [string, string]),
  )
  const timestamp = headers['x-service-timestamp'] ?? ''
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(raw).digest('hex')
  const given = parts.get('v1') ?? ''
  return (
    parts.get('kid') === kid &&
    Number(parts.get('t')) === Math.floor(Date.parse(timestamp) / 1000) &&
    given.length === expected.length &&
    timingSafeEqual(Buffer.from(given), Buffer.from(expected))
  )
}

test('a post, a reply, a reaction and a decision reach SSE, GraphQL and the webhook as the same JSON', async () => {
  const discussionId = await createDiscussion('page-1')
  const key = { 'x-api-key': service.apiKey }
  const ticket = await service.call('POST', '/stream/ticket', {
    api: there,
    body: { discussionId },
    headers: await service.as('ann'),
  })
  expect(ticket.status).toBe(201)
  const byKey = await Promise.all([here, there].map(({ url }) => listenAt(`${url}/api/v1/stream/${discussionId}`, key)))
  const byTicket = await listenAt(ticket.json.streamUrl as string)
  const subscriptions = [here, there].flatMap(({ url }) => {
    const target = { url, headers: key, variables: { discussionId, lastEventId: '0' } }
    return [keep(subscribe(target)), keep(subscribe(target, true)), keep(subscribeByPost(target))]
  })

  const root = await post(discussionId, 'ann', { body: 'Grüße **ü** 🙂' })
  await post(discussionId, 'bob', { body: 'An answer <b>', parentId: root.id }, there)
  const reaction = { api: here, body: { type: 'like' }, headers: await service.as('cyd') }
  expect((await service.call('POST', `/comments/${root.id}/reactions`, reaction)).status).toBe(200)
  // A comment that waits for a moderator is on no stream before it is approved.
  const held = await post(discussionId, 'dan', { body: 'suspect' }, there)
  expect(held.status).toBe('pending')
  expect((await service.call('POST', `/comments/${held.id}/approve`, { api: here })).status).toBe(200)

  const streams = [...byKey, byTicket]
  await vi.waitFor(() => streams.forEach((stream) => expect(idsOf(stream).at(-1)).toBe(idsOf(first(byKey)).at(-1))))
  await vi.waitFor(() => expect(last(first(byKey).received).type).toBe('comment_approved'))
  const events = first(byKey).received
  const visible = events.map(({ type }) => type)
  expect(visible).toEqual([
    'comment_created',
    'comment_created',
    'notification_reply',
    'reaction_toggled',
    'comment_created',
    'comment_approved',
  ])
  expect(idsOf(first(byKey))).toEqual(['1', '2', '3', '4', '5', '6'])
  await vi.waitFor(() => expect(last(byKey).received).toEqual(events))
  const parsed = events.map(({ data }) => JSON.parse(data) as Record<string, unknown>)
  expect(parsed[0]).toMatchObject({ seq: 1, discussionId, data: { comment: root } })
  // The reader's stream has all but the event of the comment that was not public yet.
  await vi.waitFor(() => expect(byTicket.received).toEqual(events.filter(({ id }) => id !== '5')))

  await vi.waitFor(() =>
    subscriptions.forEach(({ received }) =>
      expect(received.map(withoutCounts)).toMatchObject(parsed.map(withoutCounts)),
    ),
  )
  expect(subscriptions.map(({ failure }) => failure)).toEqual(subscriptions.map(() => null))

  const subscribable = events.filter(({ type }) => type !== 'notification_reply')
  await vi.waitFor(() => expect(receiver.deliveries('/hook')).toHaveLength(subscribable.length))
  const deliveries = receiver.deliveries('/hook').toSorted((a, b) => Number(a.body.seq) - Number(b.body.seq))
  expect(deliveries.map(({ raw }) => raw.toString('utf8'))).toEqual(subscribable.map(({ data }) => data))
  for (const delivery of deliveries) {
    expect(isSigned(delivery)).toBe(true)
    expect(isSigned({ ...delivery, raw: Buffer.concat([delivery.raw, Buffer.from(' ')]) })).toBe(false)
    expect(delivery.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': delivery.body.type,
      'x-service-idempotency-key': `${delivery.body.type}:${delivery.body.id}`,
    })
  }
  expect(receiver.handshakes('/hook').every(isSigned)).toBe(true)
  await vi.waitFor(async () => {
    const { json } = await service.call('GET', `/webhooks/${endpointId}/deliveries?status=delivered`)
    expect(json.data).toHaveLength(subscribable.length)
  })
})

test('the page and the stream that continues it join without a gap', async () => {
  const discussionId = await createDiscussion('page-2')
  await post(discussionId, 'ann', { body: 'one' })
  await post(discussionId, 'ann', { body: 'two' })
  const page = await service.call('GET', `/discussions/${discussionId}`)
  await post(discussionId, 'ann', { body: 'three' })
  const ticket = await service.call('POST', '/stream/ticket', { body: { discussionId } })
  const stream = await listenAt(`${ticket.json.streamUrl}&lastEventId=${page.json.lastEventId}`)
  await post(discussionId, 'ann', { body: 'four' }, there)
  await vi.waitFor(() => expect(idsOf(stream)).toEqual(['3', '4']))
})

test('a stream that is cut resumes by itself, with what was posted meanwhile, once and in order', async () => {
  const discussionId = await createDiscussion('page-3')
  const { json } = await service.call('POST', '/stream/ticket', { body: { discussionId } })
  const { pathname, search } = new URL(json.streamUrl)
  const stream = await listenAt(`http://127.0.0.1:${proxy.port}${pathname}${search}`)
  await post(discussionId, 'ann', { body: 'before' })
  await vi.waitFor(() => expect(idsOf(stream)).toEqual(['1']))
  for (const round of [1, 2]) {
    await proxy.down()
    await vi.waitFor(() => expect(stream.losses).toBeGreaterThanOrEqual(round))
    await post(discussionId, 'ann', { body: `meanwhile ${round}` }, here)
    await post(discussionId, 'ann', { body: `meanwhile ${round}, elsewhere` }, there)
    await proxy.up()
    await vi.waitFor(() =>
      expect(idsOf(stream), JSON.stringify([stream.framing, stream.losses, stream.refusal])).toHaveLength(
        1 + 2 * round,
      ),
    )
  }
  await post(discussionId, 'ann', { body: 'after' })
  await vi.waitFor(() => expect(idsOf(stream)).toEqual(['1', '2', '3', '4', '5', '6']))
})

test.skipIf(!onServer)(
  `a tenant beside another sees nothing of it${onServer ? '' : ' (skipped: the command needs DATABASE_URL)'}`,
  async () => {
    const discussionId = await createDiscussion('page-4')
    const comment = await post(discussionId, 'ann', { body: 'Of the first tenant' })
    const { PATH, HOME } = process.env
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(ROOT, 'dist/cli/cli.js'), 'tenant', 'create', '--slug', 'other', '--admin-email', 'a@other.example'],
      { env: { PATH, HOME, DATABASE_URL: service.databaseUrl ?? undefined, ...secrets } },
    )
    const headers = { 'x-api-key': (JSON.parse(stdout) as { apiKey: string }).apiKey }
    const asOther = (method: string, path: string, body?: object, api = here) =>
      service.call(method, path, { headers, api, ...(body && { body }) })

    for (const api of [here, there]) {
      const refused = await Promise.all([
        asOther('GET', `/discussions/${discussionId}`, undefined, api),
        asOther('GET', `/discussions/by-external/page-4`, undefined, api),
        asOther('GET', `/comments/${comment.id}`, undefined, api),
        asOther('GET', `/stream/${discussionId}`, undefined, api),
        asOther('POST', '/stream/ticket', { discussionId }, api),
        asOther('POST', `/comments/${comment.id}/approve`, undefined, api),
        asOther('DELETE', `/comments/${comment.id}`, undefined, api),
        asOther('DELETE', `/webhooks/${endpointId}`, undefined, api),
      ])
      expect(refused.map(({ status, json }) => [status, json.code])).toEqual(refused.map(() => [404, 'not_found']))
      expect((await asOther('GET', '/discussions', undefined, api)).json.data).toEqual([])
      expect((await asOther('GET', '/webhooks', undefined, api)).json.data).toEqual([])
    }

    // The same external id is another page there, and its events reach no endpoint of the first
    // tenant.
    const own = await asOther('POST', '/discussions', { externalId: 'page-4' }, there)
    expect(own.status, own.text).toBe(201)
    expect(own.json.id).not.toBe(discussionId)
    const stream = await listenAt(`${here.url}/api/v1/stream/${own.json.id}`, headers)
    expect((await asOther('POST', `/discussions/${own.json.id}/lock`, undefined, there)).status).toBe(200)
    await vi.waitFor(() => expect(stream.received.map(({ type }) => type)).toEqual(['discussion_locked']))
    const after = await post(discussionId, 'ann', { body: 'Afterwards' }, there)
    const delivered = () => receiver.deliveries('/hook').map(({ body }) => body)
    await vi.waitFor(() => expect(delivered()).toContainEqual(expect.objectContaining({ data: { comment: after } })))
    expect(delivered().filter((body) => body.discussionId === own.json.id)).toEqual([])
  },
)
