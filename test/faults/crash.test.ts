import { afterEach, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, last, type ServiceProcess } from '../harness/processes.ts'
import { hang } from '../harness/receiver.ts'
import { useReceiverOfProcesses } from '../harness/service-processes.ts'
import { type Listener, listen } from '../harness/sse.ts'

/** A dead worker's deliveries are taken up once its lease of 15 s is over. */
const WAIT = { timeout: 60_000, interval: 50 }

const { receiver, service } = useReceiverOfProcesses({
  api: 2,
  worker: 2,
  // A hanging attempt gets most of the grace period; the rest is for giving its lease back.
  env: { SHUTDOWN_GRACE_SECONDS: '8' },
})
const open: Listener<unknown>[] = []

afterEach(() => open.splice(0).forEach((listener) => listener.close()))

async function verifiedEndpoint(path: string): Promise<string> {
  const { json } = await service.call('POST', '/webhooks', { body: { url: receiver.url + path } })
  await vi.waitFor(async () => {
    expect((await service.call('GET', `/webhooks/${json.id}`)).json.state).toBe('verified')
  }, WAIT)
  return json.id as string
}

async function createDiscussion(externalId: string): Promise<string> {
  const { json } = await service.call('POST', '/discussions', { body: { externalId } })
  return json.id as string
}

const keyOf = () => ({ 'x-api-key': service.apiKey })

/** Everything that has happened in a discussion after a position, on a stream that begins now. */
async function streamAfter(api: ServiceProcess, discussionId: string, lastEventId: string) {
  const stream = await listen(`${api.url}/api/v1/stream/${discussionId}`, { ...keyOf(), 'last-event-id': lastEventId })
  open.push(stream)
  return stream
}

const statuses = async (endpointId: string, status: string): Promise<{ id: string; attempts: { n: number }[] }[]> =>
  (await service.call('GET', `/webhooks/${endpointId}/deliveries?status=${status}&limit=100`)).json.data

test('kill -9 of the api right after its 201s: every acknowledged comment, its event and its webhook exist', async () => {
  const api = first(service.apis)
  const other = last(service.apis)
  const endpointId = await verifiedEndpoint('/survivor')
  const discussionId = await createDiscussion('crash')
  const before = await streamAfter(api, discussionId, '0')
  const elsewhere = onServer ? await streamAfter(other, discussionId, '0') : null

  const acknowledged: string[] = []
  const post = async (n: number): Promise<void> => {
    const headers = await service.as(`reader-${n}`)
    // A request under way when the process dies ends in an error: nothing was acknowledged.
    const answer = await service
      .call('POST', `/discussions/${discussionId}/comments`, { api, body: { body: `comment ${n}` }, headers })
      .catch(() => null)
    if (answer?.status === 201) acknowledged.push(answer.json.id as string)
    if (acknowledged.length === 30) api.run.signal('SIGKILL')
  }
  await Promise.all(Array.from({ length: 100 }, (_, n) => post(n)))
  await api.kill()
  expect(acknowledged.length).toBeGreaterThanOrEqual(30)
  before.close()
  const seen = before.received
  await api.start()

  for (const id of acknowledged) {
    const { status, json } = await service.call('GET', `/comments/${id}`, { api })
    expect(status).toBe(200)
    expect(json).toMatchObject({ id, discussionId, status: 'approved' })
  }
  const { json: discussion } = await service.call('GET', `/discussions/${discussionId}`, { api })
  const total = Number(discussion.lastEventId)
  expect(discussion.commentCount).toBe(total)
  const numbers = Array.from({ length: total }, (_, index) => String(index + 1))

  const resumed = await streamAfter(api, discussionId, last([{ id: '0' }, ...seen]).id)
  await vi.waitFor(() => expect([...seen, ...resumed.received].map(({ id }) => id)).toEqual(numbers), WAIT)
  if (elsewhere !== null) {
    await vi.waitFor(() => expect(elsewhere.received.map(({ id }) => id)).toEqual(numbers), WAIT)
    expect(elsewhere.losses).toBe(0)
  }
  const events = [...seen, ...resumed.received].map(
    ({ data }) => JSON.parse(data) as { id: string; type: string; data: { comment: { id: string } } },
  )
  const commented = events.map(({ data }) => data.comment.id)
  expect(new Set(commented).size).toBe(total)
  expect(commented).toEqual(expect.arrayContaining(acknowledged))

  const keys = () => receiver.deliveries('/survivor').map(({ headers }) => String(headers['x-service-idempotency-key']))
  await vi.waitFor(() => {
    expect([...new Set(keys())].toSorted()).toEqual(events.map(({ id, type }) => `${type}:${id}`).toSorted())
  }, WAIT)
  await vi.waitFor(async () => {
    expect(await statuses(endpointId, 'delivered')).toHaveLength(total)
    expect(await statuses(endpointId, 'delivering')).toHaveLength(0)
  }, WAIT)
})

test('kill -9 of the api with reactions under way: every acknowledged one is stored, counted and sent once', async () => {
  const api = first(service.apis)
  const endpointId = await verifiedEndpoint('/reactions')
  const discussionId = await createDiscussion('reactions')
  const author = await service.as('author')
  const path = `/discussions/${discussionId}/comments`
  const comments: string[] = []
  for (let n = 0; n < 4; n++) {
    const { json } = await service.call('POST', path, { api, body: { body: `comment ${n}` }, headers: author })
    comments.push(json.id as string)
  }
  const acknowledged = new Set<string>()
  let toggles = 0
  const toggle = async (commentId: string, reader: string): Promise<void> => {
    const headers = await service.as(reader)
    const body = { type: 'like' }
    const answer = await service
      .call('POST', `/comments/${commentId}/reactions`, { api, body, headers })
      .catch(() => null)
    if (answer?.status === 200) acknowledged.add(`${commentId} ${reader}`)
    if (++toggles === 60) api.run.signal('SIGKILL')
  }
  await Promise.all(Array.from({ length: 240 }, (_, n) => toggle(comments[n % comments.length] ?? '', `reader-${n}`)))
  await api.kill()
  expect(acknowledged.size).toBeGreaterThan(0)
  await api.start()

  const { json: discussion } = await service.call('GET', `/discussions/${discussionId}`, { api })
  const total = Number(discussion.lastEventId)
  const stream = await streamAfter(api, discussionId, '0')
  const numbers = Array.from({ length: total }, (_, index) => String(index + 1))
  await vi.waitFor(() => expect(stream.received.map(({ id }) => id)).toEqual(numbers), WAIT)
  const events = stream.received.map(
    ({ data }) =>
      JSON.parse(data) as {
        id: string
        type: string
        data: { commentId: string; reader: { externalId: string }; reactionCounts: { like: number } }
      },
  )
  const told = events.filter(({ type }) => type === 'reaction_toggled').map(({ data }) => data)
  expect(told).toHaveLength(total - comments.length)
  const toggled = told.map(({ commentId, reader }) => `${commentId} ${reader.externalId}`)
  expect(new Set(toggled).size).toBe(told.length)
  expect(toggled).toEqual(expect.arrayContaining([...acknowledged]))
  for (const id of comments) {
    // Each event has one reaction more than the one before.
    const counts = told.filter(({ commentId }) => commentId === id).map(({ reactionCounts }) => reactionCounts.like)
    expect(counts).toEqual(counts.map((_, index) => index + 1))
    const { json } = await service.call('GET', `/comments/${id}/reactions?limit=100`, { api })
    expect(json.reactionCounts).toEqual(counts.length === 0 ? {} : { like: counts.length })
    expect(json.data).toHaveLength(counts.length)
  }
  await vi.waitFor(() => {
    const keys = receiver.deliveries('/reactions').map(({ headers }) => String(headers['x-service-idempotency-key']))
    expect([...new Set(keys)].toSorted()).toEqual(events.map(({ id, type }) => `${type}:${id}`).toSorted())
  }, WAIT)
  await service.call('DELETE', `/webhooks/${endpointId}`, { api })
})

test('kill -9 of the worker within a delivery: the delivery is repeated, with the same idempotency key', async () => {
  const endpointId = await verifiedEndpoint('/held')
  const discussionId = await createDiscussion('held')
  receiver.on('/held', hang)
  await service.ok('POST', `/discussions/${discussionId}/comments`, { body: 'on its way' }, await service.as('reader'))
  await vi.waitFor(() => expect(receiver.deliveries('/held')).toHaveLength(1), WAIT)
  expect(await statuses(endpointId, 'delivering')).toHaveLength(1)

  // It is unknown which of them has it.
  await Promise.all(service.workers.map((worker) => worker.kill()))
  receiver.on('/held', null)
  await first(service.workers).start()

  await vi.waitFor(() => expect(receiver.deliveries('/held')).toHaveLength(2), WAIT)
  const [once, again] = receiver.deliveries('/held')
  for (const name of ['x-service-idempotency-key', 'x-service-delivery-id', 'x-service-event']) {
    expect(again?.headers[name]).toBe(once?.headers[name])
  }
  expect(again?.raw).toEqual(once?.raw)
  await vi.waitFor(async () => {
    const [delivery] = await statuses(endpointId, 'delivered')
    // An attempt with an unknown end does not count.
    expect(delivery?.attempts.map(({ n }) => n)).toEqual([1])
    expect(await statuses(endpointId, 'delivering')).toHaveLength(0)
  }, WAIT)
  expect(receiver.deliveries('/held')).toHaveLength(2)
})

test('SIGTERM of the worker within a delivery: the delivery is given back, and leased again at once', async () => {
  const endpointId = await verifiedEndpoint('/given-back')
  const discussionId = await createDiscussion('given-back')
  receiver.on('/given-back', hang)
  await service.ok('POST', `/discussions/${discussionId}/comments`, { body: 'on its way' }, await service.as('reader'))
  await vi.waitFor(() => expect(receiver.deliveries('/given-back')).toHaveLength(1), WAIT)
  await Promise.all(service.workers.map((worker) => worker.stop()))
  // In the embedded form there is no other process to ask.
  if (onServer) expect(await statuses(endpointId, 'pending')).toHaveLength(1)
  receiver.on('/given-back', null)
  await first(service.workers).start()
  const startedAt = Date.now()
  await vi.waitFor(() => expect(receiver.deliveries('/given-back')).toHaveLength(2), WAIT)
  // Sooner than an abandoned lease would end.
  expect(last(receiver.deliveries('/given-back')).at - startedAt).toBeLessThan(8000)
  await vi.waitFor(async () => expect(await statuses(endpointId, 'delivered')).toHaveLength(1), WAIT)
})

test.runIf(onServer)('kill -9 of one of two workers (server form only): the other one continues', async () => {
  await Promise.all(service.workers.filter((worker) => !worker.isRunning).map((worker) => worker.start()))
  const endpointId = await verifiedEndpoint('/other')
  const discussionId = await createDiscussion('other')
  const [victim, other] = [first(service.workers), last(service.workers)]
  receiver.on('/other', hang)
  const post = async (body: string) =>
    service.call('POST', `/discussions/${discussionId}/comments`, {
      body: { body },
      headers: await service.as('reader'),
    })
  await Promise.all(Array.from({ length: 12 }, (_, n) => post(`comment ${n}`)))
  await vi.waitFor(() => expect(receiver.deliveries('/other').length).toBeGreaterThanOrEqual(8), WAIT)
  await victim.kill()
  receiver.on('/other', null)
  await vi.waitFor(async () => {
    expect(await statuses(endpointId, 'delivered')).toHaveLength(12)
    expect(await statuses(endpointId, 'delivering')).toHaveLength(0)
  }, WAIT)
  expect(other.isRunning).toBe(true)
  const keys = receiver.deliveries('/other').map(({ headers }) => String(headers['x-service-idempotency-key']))
  expect(new Set(keys).size).toBe(12)
})
