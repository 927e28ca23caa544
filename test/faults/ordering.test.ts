import { afterAll, expect, test, vi } from 'vitest'

import { first, last, type ServiceProcess } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'
import { type Listener, listen, subscribe, subscribeByPost, withoutCounts } from '../harness/sse.ts'
import { openStream, type Received } from '../harness/stream-client.ts'

const WRITERS = 200
const WANDERERS = 8
const WAIT = { timeout: 30_000, interval: 50 }

// Repairs are rare here: the test is about the bus and the replay alone.
const service = useProcesses({ api: 2, worker: 0, env: { STREAM_REPAIR_SECONDS: '5' } })
const open: Listener<unknown>[] = []

afterAll(() => open.forEach((listener) => listener.close()))

const keep = <T extends Listener<unknown>>(listener: T): T => {
  open.push(listener)
  return listener
}

const key = () => ({ 'x-api-key': service.apiKey })
const randomApi = (): ServiceProcess =>
  service.apis[Math.floor(Math.random() * service.apis.length)] ?? first(service.apis)

/**
 * A client that joins anywhere, leaves after a few events, and resumes after the last that it has
 * read.
 */
async function wander(discussionId: string, read: Received[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const lastEventId = last([{ id: '0' }, ...read]).id ?? '0'
    const stream = await openStream(`${randomApi().url}/api/v1/stream/${discussionId}`, {
      ...key(),
      'last-event-id': lastEventId,
    })
    expect(stream.status).toBe(200)
    const enough = Math.floor(Math.random() * 40)
    await vi.waitFor(() => {
      if (!isOver() && stream.events.length < enough) throw new Error('more to come')
    }, WAIT)
    // Whatever has arrived by now counts as read: the client resumes after it.
    stream.close()
    read.push(...stream.events)
    expect(stream.connected?.data).toMatchObject({ lastEventId, complete: true })
  }
}

interface Write {
  path: string
  body: object
}

/** Comments, replies and reactions of one reader, each after the other. */
async function write(discussionId: string, n: number, rootId: string): Promise<void> {
  const path = `/discussions/${discussionId}/comments`
  const headers = await service.as(`reader-${n}`)
  const writes: Write[] = [
    { path, body: { body: `comment of ${n}` } },
    { path, body: { body: `reply of ${n}`, parentId: rootId } },
    { path: `/comments/${rootId}/reactions`, body: { type: n % 2 === 0 ? 'like' : 'love' } },
  ]
  for (const { path: to, body } of writes) {
    const { status, text } = await service.call('POST', to, { api: randomApi(), body, headers })
    expect(status, text).toBeLessThan(300)
  }
}

test(`${WRITERS} concurrent writers: every stream sees seq 1..n in order, without gaps or duplicates, however it joins`, async () => {
  const { json: discussion } = await service.call('POST', '/discussions', { body: { externalId: 'hot' } })
  const discussionId = discussion.id as string
  const root = await service.call('POST', `/discussions/${discussionId}/comments`, {
    body: { body: 'the first' },
    headers: await service.as('author'),
  })
  const ticket = async (reader: string) => {
    const json = await service.ok('POST', '/stream/ticket', { discussionId }, await service.as(reader))
    return `/api/v1/stream/${discussionId}?ticket=${json.ticket}&lastEventId=0`
  }
  const [forAuthor, forOther] = [await ticket('author'), await ticket('somebody else')]
  const streams = await Promise.all(
    [first(service.apis), last(service.apis)].flatMap(({ url }) => [
      listen(`${url}/api/v1/stream/${discussionId}?lastEventId=0`, key()),
      listen(url + forAuthor),
      listen(url + forOther),
    ]),
  )
  streams.forEach(keep)
  const variables = { discussionId, lastEventId: '0' }
  const subscriptions = [first(service.apis), last(service.apis)].flatMap(({ url }) => [
    keep(subscribe({ url, headers: key(), variables })),
    keep(subscribe({ url, headers: key(), variables }, true)),
    keep(subscribeByPost({ url, headers: key(), variables })),
  ])

  let over = false
  const reads = Array.from({ length: WANDERERS }, (): Received[] => [])
  const wanderers = reads.map((read) => wander(discussionId, read, () => over))
  try {
    await Promise.all(Array.from({ length: WRITERS }, (_, n) => write(discussionId, n, root.json.id as string)))
  } finally {
    over = true
    await Promise.all(wanderers)
  }

  // Each reader: two comments, one notification of the author, one reaction.
  const total = 1 + WRITERS * 4
  const { json: now } = await service.call('GET', `/discussions/${discussionId}`)
  expect(now).toMatchObject({ lastEventId: String(total), commentCount: 1 + WRITERS * 2 })
  const record = keep(await listen(`${first(service.apis).url}/api/v1/stream/${discussionId}?lastEventId=0`, key()))
  const all = record.received
  await vi.waitFor(() => expect(all).toHaveLength(total), WAIT)
  expect(all.map(({ id }) => Number(id))).toEqual(Array.from({ length: total }, (_, index) => index + 1))
  const events = all.map(({ data }) => JSON.parse(data) as { seq: number; type: string })
  expect(events.map(({ seq, type }) => ({ id: String(seq), type }))).toEqual(all.map(({ id, type }) => ({ id, type })))

  const forPublic = all.filter(({ type }) => type !== 'notification_reply')
  for (const [index, stream] of streams.entries()) {
    // The author has its notifications; a stranger has everything but these.
    const expected = index % 3 === 2 ? forPublic : all
    await vi.waitFor(() => expect(stream.received).toHaveLength(expected.length), WAIT)
    expect(stream.received).toEqual(expected)
    expect(stream.losses).toBe(0)
  }
  for (const { received, failure } of subscriptions) {
    await vi.waitFor(() => expect(received).toHaveLength(total), WAIT)
    expect(received.map(withoutCounts)).toEqual(events.map(withoutCounts))
    expect(failure).toBeNull()
  }
  for (const read of reads) {
    expect(read.length).toBeGreaterThan(0)
    expect(read.map(({ data }) => data as unknown)).toEqual(events.slice(0, read.length))
  }
})
