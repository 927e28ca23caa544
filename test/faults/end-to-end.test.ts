import { createHmac, timingSafeEqual } from 'node:crypto'

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, last, type Processes, startProcesses } from '../harness/processes.ts'
import { type Received, type Receiver, startReceiver } from '../harness/receiver.ts'
import {
  type Listener,
  listen,
  type SourceListener,
  subscribe,
  subscribeByPost,
  withoutCounts,
} from '../harness/sse.ts'

const WAIT = { timeout: 20_000, interval: 20 }

let receiver: Receiver
let service: Processes
let secret: string
let kid: string
const open: Listener<unknown>[] = []

beforeAll(async () => {
  receiver = await startReceiver()
  service = await startProcesses({ api: 2, worker: 1, env: { WEBHOOK_CA_FILE: receiver.caFile } })
})

afterAll(async () => {
  open.forEach((listener) => listener.close())
  await service?.close()
  await receiver?.close()
})

const keep = <T extends Listener<unknown>>(listener: T): T => {
  open.push(listener)
  return listener
}

const listenAt = async (url: string, headers: Record<string, string> = {}): Promise<SourceListener> =>
  keep(await listen(url, headers))

async function verifiedEndpoint(path: string): Promise<string> {
  const made = await service.call('POST', '/webhooks', { body: { url: receiver.url + path } })
  expect(made.status).toBe(201)
  ;({ secret, kid } = made.json as { secret: string; kid: string })
  const id = made.json.id as string
  await vi.waitFor(async () => {
    const { json } = await service.call('GET', `/webhooks/${id}`)
    expect(json).toMatchObject({ state: 'verified', lastVerification: { ok: true, error: null } })
  }, WAIT)
  return id
}

async function createDiscussion(externalId: string): Promise<string> {
  const { status, json } = await service.call('POST', '/discussions', { body: { externalId, title: 'A page' } })
  expect(status).toBe(201)
  return json.id as string
}

/** The receiver's check of a signature, written from docs/guides/webhooks.md alone. */
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
    Math.abs(Date.now() - Date.parse(timestamp)) < 180_000 &&
    given.length === expected.length &&
    timingSafeEqual(Buffer.from(given), Buffer.from(expected))
  )
}

test('a comment, a reply and a reaction reach SSE, both GraphQL streams and the webhook as the same JSON', async () => {
  const [here, there] = [first(service.apis), last(service.apis)]
  const endpointId = await verifiedEndpoint('/hook')
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

  const path = `/discussions/${discussionId}/comments`
  const root = await service.call('POST', path, {
    api: here,
    body: { body: 'Grüße **ü** 🙂' },
    headers: await service.as('ann'),
  })
  expect(root.status).toBe(201)
  const reply = { body: 'An answer <b>', parentId: root.json.id as string }
  expect((await service.call('POST', path, { api: there, body: reply, headers: await service.as('bob') })).status).toBe(
    201,
  )
  const reaction = `/comments/${root.json.id}/reactions`
  const toggled = await service.call('POST', reaction, {
    api: here,
    body: { type: 'like' },
    headers: await service.as('cyd'),
  })
  expect(toggled.status).toBe(200)

  const streams = [...byKey, byTicket]
  await vi.waitFor(() => streams.forEach(({ received }) => expect(received).toHaveLength(4)), WAIT)
  const events = first(streams).received
  expect(events.map(({ id, type }) => [id, type])).toEqual([
    ['1', 'comment_created'],
    ['2', 'comment_created'],
    ['3', 'notification_reply'],
    ['4', 'reaction_toggled'],
  ])
  for (const { received } of streams) expect(received).toEqual(events)
  const parsed = events.map(({ data }) => JSON.parse(data) as Record<string, unknown>)
  expect(parsed[0]).toMatchObject({ seq: 1, discussionId, data: { comment: root.json } })

  await vi.waitFor(
    () =>
      subscriptions.forEach(({ received }) => expect(received.map(withoutCounts)).toEqual(parsed.map(withoutCounts))),
    WAIT,
  )
  expect(subscriptions.map(({ failure }) => failure)).toEqual(subscriptions.map(() => null))

  const subscribable = events.filter(({ type }) => type !== 'notification_reply')
  await vi.waitFor(() => expect(receiver.deliveries('/hook')).toHaveLength(3), WAIT)
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
  await vi.waitFor(async () => {
    const { json } = await service.call('GET', `/webhooks/${endpointId}/deliveries?status=delivered`)
    expect(json.data).toHaveLength(3)
  }, WAIT)
  expect(receiver.handshakes('/hook').every(isSigned)).toBe(true)
})

test('the page and the stream that follows it join without a gap', async () => {
  const discussionId = await createDiscussion('page-2')
  const path = `/discussions/${discussionId}/comments`
  const post = async (body: string) => service.call('POST', path, { body: { body }, headers: await service.as('ann') })
  await post('one')
  await post('two')
  const page = await service.call('GET', `/discussions/${discussionId}`)
  await post('three')
  const ticket = await service.call('POST', '/stream/ticket', { body: { discussionId } })
  const stream = await listenAt(`${ticket.json.streamUrl}&lastEventId=${page.json.lastEventId}`)
  await post('four')
  await vi.waitFor(() => expect(stream.received.map(({ id }) => id)).toEqual(['3', '4']), WAIT)
})

test('an EventSource whose connection is cut resumes by itself, without loss', async () => {
  const discussionId = await createDiscussion('page-3')
  const path = `/discussions/${discussionId}/comments`
  const post = async (body: string) => service.call('POST', path, { body: { body }, headers: await service.as('ann') })
  const ticket = await service.call('POST', '/stream/ticket', { body: { discussionId } })
  const api = last(service.apis)
  const stream = await listenAt(
    `${api.url}${new URL(ticket.json.streamUrl as string).pathname}?ticket=${ticket.json.ticket}`,
  )
  await post('before')
  await vi.waitFor(() => expect(stream.received).toHaveLength(1), WAIT)
  await api.stop()
  await vi.waitFor(() => expect(stream.losses).toBeGreaterThan(0), WAIT)
  expect(stream.framing.map(({ type }) => type)).toEqual(['connected', 'connection-timeout'])
  expect(JSON.parse(last(stream.framing).data)).toEqual({ lastEventId: '1' })
  // On the server form others go on meanwhile.
  if (onServer) await post('meanwhile')
  await api.start()
  await post('after')
  const expected = onServer ? ['1', '2', '3'] : ['1', '2']
  await vi.waitFor(() => {
    const { received, framing, refusal } = stream
    // The outcome, for the message if it did not come back.
    const told = JSON.stringify({ framing, refusal })
    expect(
      received.map(({ id }) => id),
      told,
    ).toEqual(expected)
  }, WAIT)
})
