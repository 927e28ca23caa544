import { afterEach, describe, expect, test, vi } from 'vitest'

import { hubOf } from '../../src/live/hub.ts'
import { newId } from '../../src/core/ids.ts'
import { subscriptionsOf } from '../../src/api/graphql-sse/subscriptions.ts'
import { startOwn, useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService({ env: { STREAM_REPAIR_SECONDS: '1' } })
const clients: StreamClient[] = []

afterEach(async () => {
  clients.splice(0).forEach((client) => client.close())
  vi.restoreAllMocks()
  // Each test begins without streams.
  await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0))
})

async function open(path: string, apiKey = service.apiKey, headers = {}): Promise<StreamClient> {
  const client = await openStream(`${service.url}/api/v1/stream/${path}`, { 'x-api-key': apiKey, ...headers })
  clients.push(client)
  await vi.waitFor(() => expect(client.connected).toBeDefined())
  return client
}

async function comment(discussionId: string, body = 'Hello'): Promise<void> {
  const headers = await service.as('ada')
  expect(
    (await service.call('POST', `/discussions/${discussionId}/comments`, { body: { body }, headers })).status,
  ).toBe(201)
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1)

describe('a bus that is down', () => {
  test('costs time, not events: each arrives within 5 s, in order', async () => {
    const discussionId = await service.newDiscussion()
    const stream = await open(discussionId)
    vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
    for (let n = 0; n < 5; n++) await comment(discussionId)
    await vi.waitFor(() => expect(stream.seqs).toEqual(upTo(5)), { timeout: 5000 })
  })

  test('that loses some messages delays only their events', async () => {
    const discussionId = await service.newDiscussion()
    const stream = await open(discussionId)
    const publish = service.app.bus.publish.bind(service.app.bus)
    let n = 0
    vi.spyOn(service.app.bus, 'publish').mockImplementation((...news) => {
      if (n++ % 3 === 0) publish(...news)
    })
    for (let sent = 0; sent < 20; sent++) await comment(discussionId)
    await vi.waitFor(() => expect(stream.seqs).toEqual(upTo(20)), { timeout: 5000 })
  })

  test('leaves no stream of a revoked key open longer than 5 s', async () => {
    const { id, key } = await service.newKey()
    const stream = await open(await service.newDiscussion(), key)
    const other = await open(await service.newDiscussion())
    // As by another process whose message is lost.
    await service.app.db.query(unnamed('UPDATE api_keys SET revoked_at = now() WHERE id = $1'), [id])
    await vi.waitFor(() => expect(stream.closed).toBe(true), { timeout: 5000 })
    expect(stream.goodbye).toBeDefined()
    expect(other.closed).toBe(false)
  })
})

describe('a database that fails', () => {
  /** Fails every statement of the stream until it is restored. */
  const failStream = () => {
    const query = service.app.db.query.bind(service.app.db)
    return vi.spyOn(service.app.db, 'query').mockImplementation((asked, params) => {
      if (asked.name.startsWith('stream_')) return Promise.reject(new Error('the database is away'))
      return query(asked, params)
    })
  }

  test('during a repair: nothing is lost once it is back', async () => {
    const discussionId = await service.newDiscussion()
    const stream = await open(discussionId)
    const failing = failStream()
    vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
    for (let n = 0; n < 3; n++) await comment(discussionId)
    await vi.waitFor(() => expect(failing.mock.calls.some(([{ name }]) => name === 'stream_read_heads')).toBe(true), {
      timeout: 3000,
    })
    expect(stream.seqs).toEqual([])
    failing.mockRestore()
    await vi.waitFor(() => expect(stream.seqs).toEqual(upTo(3)), { timeout: 5000 })
  })

  test('within a replay: the replay continues once it is back', async () => {
    const discussionId = await service.newDiscussion()
    await insertEvents(discussionId, 1000, 100)
    const query = service.app.db.query.bind(service.app.db)
    let reads = 0
    vi.spyOn(service.app.db, 'query').mockImplementation((asked, params) => {
      if (asked.name === 'stream_read_events' && ++reads % 2 === 0)
        return Promise.reject(new Error('the database is away'))
      return query(asked, params)
    })
    const stream = await open(`${discussionId}?lastEventId=0`)
    await vi.waitFor(() => expect(stream.seqs).toEqual(upTo(1000)), { timeout: 10_000 })
    expect(reads).toBeGreaterThan(2)
  })

  test('when a stream is opened: a problem document, and the next one opens', async () => {
    const discussionId = await service.newDiscussion()
    const failing = failStream()
    const refused = await openStream(`${service.url}/api/v1/stream/${discussionId}`, { 'x-api-key': service.apiKey })
    expect(refused.status).toBe(500)
    failing.mockRestore()
    await open(discussionId)
  })
})

describe('a client that does not read', () => {
  test.each([
    ['is', {}],
    ['of a compressed stream is', { 'accept-encoding': 'gzip' }],
  ])('%s cut off within 10 s, resumes without loss, and affects no others', async (_name, headers) => {
    const discussionId = await service.newDiscussion()
    const slow = await open(discussionId, service.apiKey, headers)
    const quick = await open(discussionId)
    slow.pause()
    const sessions = hubOf(service.app).sessions
    const before = sessions.size
    // More than the kernel buffers on both sides and 1 MiB of ours.
    const count = 400
    await insertEvents(discussionId, count, 40_000)
    await vi.waitFor(() => expect(quick.seqs).toEqual(upTo(count)), { timeout: 60_000 })
    await vi.waitFor(() => expect(sessions.size).toBe(before - 1), { timeout: 10_000 })
    expect(quick.closed).toBe(false)
    slow.resume()
    await vi.waitFor(() => expect(slow.closed).toBe(true))
    const position = slow.seqs.at(-1) ?? 0
    expect(slow.seqs).toEqual(upTo(position))
    expect(position).toBeLessThan(count)
    const resumed = await open(`${discussionId}?lastEventId=${position}`, service.apiKey, headers)
    await vi.waitFor(() => expect([...slow.seqs, ...resumed.seqs]).toEqual(upTo(count)))
  })

  test('of a GraphQL subscription is cut off too, with all others on its connection', async () => {
    const discussionId = await service.newDiscussion()
    const commentId = await newLongComment(discussionId)
    const { sessions, metrics } = hubOf(service.app)
    const before = sessions.size
    const cut = vi.spyOn(metrics, 'cut')
    const query = `subscription { discussionEvents(discussionId: "${discussionId}", lastEventId: "0") { seq data { ... on CommentEventData { comment { body } } } } }`
    const headers = { 'content-type': 'application/json', 'x-api-key': service.apiKey }
    const send = (path: string, extensions: object, more: Record<string, string>) =>
      fetch(service.url + path, {
        method: 'POST',
        headers: { ...headers, ...more },
        body: JSON.stringify({ query, extensions }),
      })
    const accept = 'text/event-stream'
    const reserved = await fetch(`${service.url}/graphql/stream`, { method: 'PUT', headers })
    const token = { 'x-graphql-event-stream-token': await reserved.text() }
    const responses = await Promise.all([
      send('/graphql', {}, { accept }),
      send('/graphql/stream', {}, { accept }),
      fetch(`${service.url}/graphql/stream`, { headers: { ...headers, ...token, accept } }),
    ])
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    const operations = await Promise.all(
      upTo(3).map((operationId) => send('/graphql/stream', { operationId }, { ...token, accept: 'application/json' })),
    )
    expect(operations.map(({ status }) => status)).toEqual([202, 202, 202])
    await vi.waitFor(() => expect(sessions.size).toBe(before + 6))
    await insertEvents(discussionId, 600, 40_000, commentId)
    await vi.waitFor(() => expect(sessions.size).toBe(before), { timeout: 60_000 })
    expect(subscriptionsOf(service.app).size).toBe(0)
    // Each of the two by itself, and the connection of the three.
    expect(cut.mock.calls.length).toBeGreaterThanOrEqual(3)
    for (const [reason] of cut.mock.calls) expect(['unsent', 'stalled']).toContain(reason)
    for (const { body } of responses) await body?.cancel().catch(() => undefined)
  })
})

test('clients that come and go leave nothing behind', async () => {
  const discussionId = await service.newDiscussion()
  const hub = hubOf(service.app)
  await Promise.all(
    upTo(50).map(async (n) => {
      const client = await openStream(`${service.url}/api/v1/stream/${discussionId}?lastEventId=${n % 2}`, {
        'x-api-key': service.apiKey,
      })
      if (n % 3 === 0) await vi.waitFor(() => expect(client.connected).toBeDefined())
      client.close()
    }),
  )
  await vi.waitFor(() => expect(hub.sessions.size).toBe(0), { timeout: 5000 })
  await vi.waitFor(() => expect(hub.topicCount).toBe(0), { timeout: 5000 })
})

test('at a shutdown every stream gets its position, and is closed', async () => {
  const own = await startOwn()
  const { json } = await own.call('POST', '/discussions', { body: { externalId: 'last' } })
  const streams = await Promise.all(
    upTo(5).map(() => openStream(`${own.url}/api/v1/stream/${json.id}`, { 'x-api-key': own.apiKey })),
  )
  await vi.waitFor(() => expect(streams.every(({ connected }) => connected !== undefined)).toBe(true))
  await hubOf(own.app).close({ graceMs: 300 })
  await vi.waitFor(() => expect(streams.every(({ closed }) => closed)).toBe(true))
  for (const { goodbye } of streams) expect(goodbye?.data).toEqual({ lastEventId: '0' })
  const late = await openStream(`${own.url}/api/v1/stream/${json.id}`, { 'x-api-key': own.apiKey })
  expect(late.status).toBe(503)
})

/**
 * Events as the log would hold them, of about `bytes` each, of which no news is sent. Their texts
 * are random digits, of which compression makes half. GraphQL reads the comment itself.
 */
async function insertEvents(discussionId: string, count: number, bytes: number, commentId = newId()): Promise<void> {
  const insert = unnamed(`WITH made AS (
       INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
       SELECT tenant_id, id, n, gen_random_uuid(), 'comment_created', 'public', now(), '{"kind":"system"}',
         json_build_object('comment', json_build_object('id', $4::text, 'body', (SELECT string_agg(md5(random()::text), '') FROM generate_series(1, $3::int / 32) WHERE n > 0)))
       FROM discussions, generate_series(1, $2::int) AS n WHERE id = $1
     )
     UPDATE discussions SET seq = $2 WHERE id = $1`)
  await service.app.db.query(insert, [discussionId, count, bytes, commentId])
}

/** A comment of 40 000 characters, whose own event is gone. */
async function newLongComment(discussionId: string): Promise<string> {
  const json = await service.ok(
    'POST',
    `/discussions/${discussionId}/comments`,
    { body: 'Hello' },
    await service.as('ann'),
  )
  const lengthen = unnamed(`WITH gone AS (DELETE FROM events WHERE discussion_id = $1),
       fresh AS (UPDATE discussions SET seq = 0 WHERE id = $1)
     UPDATE comments SET body = repeat('long', 10000) WHERE discussion_id = $1`)
  await service.app.db.query(lengthen, [discussionId])
  hubOf(service.app).forgetEvents(service.tenant.id)
  return json.id as string
}
