import { connect as connectTo } from 'node:net'
import { connect as connectHttp2, constants } from 'node:http2'

import { createClient, type Client, NetworkError } from 'graphql-sse'
import { afterEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { hubOf } from '../../src/live/hub.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { subscriptionsOf } from '../../src/api/graphql-sse/subscriptions.ts'
import { makeTlsSettings } from '../harness/certificates.ts'
import { randomOf } from '../harness/random.ts'
import { SEED } from '../harness/seed.ts'
import { startOwn, startService, type TestService, useService } from '../harness/service.ts'

const service = useService()
const clients: Client<boolean>[] = []

afterEach(async () => {
  clients.splice(0).forEach((client) => client.dispose())
  vi.restoreAllMocks()
  await vi.waitFor(() => expect([hubOf(service.app).sessions.size, subscriptionsOf(service.app).size]).toEqual([0, 0]))
})

async function comment(discussionId: string, more: object = {}): Promise<{ id: string }> {
  const body = { body: 'Hello', ...more }
  const headers = await service.as('ada')
  return service.ok('POST', `/discussions/${discussionId}/comments`, body, headers)
}

interface Payload {
  data?: { discussionEvents?: { seq: number; [name: string]: unknown } | null } | null
  errors?: { message: string; extensions?: { code?: string } }[]
}

interface Seen {
  payloads: Payload[]
  seqs: number[]
  done: boolean
  failure: unknown
  stop: () => void
}

interface Asked {
  variables?: Record<string, unknown>
  headers?: Record<string, string>
  path?: string
  single?: boolean
  of?: TestService
}

const EVENTS = `subscription ($discussionId: ID!, $lastEventId: String) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) { seq type }
}`
/** Its answers need a query, except for reactions. */
const THREADS = `subscription ($discussionId: ID!, $lastEventId: String) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
    seq data { ... on CommentEventData { comment { id replies { edges { node { id } } } } } }
  }
}`

const withoutEmpty = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''))

function subscribe(query: string, { variables, headers, path = '/graphql/stream', single, of = service }: Asked): Seen {
  const client = createClient<boolean>({
    url: of.url + path,
    singleConnection: single ?? false,
    headers: withoutEmpty({ 'x-api-key': of.apiKey, ...headers }),
    retryAttempts: 0,
  })
  clients.push(client)
  const seen: Seen = { payloads: [], seqs: [], done: false, failure: undefined, stop: () => undefined }
  seen.stop = client.subscribe(
    { query, ...(variables === undefined ? {} : { variables }) },
    {
      next: (payload) => {
        seen.payloads.push(payload as unknown as Payload)
        const seq = (payload as unknown as Payload).data?.discussionEvents?.seq
        if (seq !== undefined) seen.seqs.push(seq)
      },
      error: (error) => (seen.failure = error),
      complete: () => (seen.done = true),
    },
  )
  return seen
}

const upTo = (n: number, from = 1): number[] => Array.from({ length: n - from + 1 }, (_, index) => from + index)

/** Counts how often the root field is resolved for an event. */
const countExecutions = (): (() => number) => {
  const field = schema.getSubscriptionType()?.getFields().discussionEvents
  if (field?.resolve === undefined) throw new Error('discussionEvents has no resolver')
  const resolving = vi.spyOn(field as { resolve: NonNullable<typeof field.resolve> }, 'resolve')
  return () => resolving.mock.calls.length
}

/** From then on each gets all events: a session is there before it has its place among them. */
const subscribed = async (n: number, { app } = service): Promise<void> =>
  vi.waitFor(() => expect(subscriptionsOf(app).subscribers).toBe(n))

describe('subscribers with the same operation, variables and audience', () => {
  test.each([
    ['/graphql/stream, each on a connection of its own', { path: '/graphql/stream' }, 3],
    ['/graphql', { path: '/graphql' }, 3],
    ['/graphql/stream, with reserved connections', { single: true }, 6],
  ])('share one execution per event over %s', async (_name, how, sessions) => {
    const discussionId = await service.newDiscussion()
    const seen = upTo(3).map(() => subscribe(EVENTS, { variables: { discussionId }, ...how }))
    await subscribed(3)
    expect(hubOf(service.app).sessions.size).toBe(sessions)
    const executions = countExecutions()
    for (const _ of upTo(4)) await comment(discussionId)
    await vi.waitFor(() => expect(seen.map(({ seqs }) => seqs)).toEqual([upTo(4), upTo(4), upTo(4)]))
    expect(executions()).toBe(4)
  })

  const TEXTS = EVENTS.replace('seq type', 'seq data { ... on CommentEventData { comment { id body } } }')
  const IDS = TEXTS.replace('id body', 'id parentId')
  const VIEWERS = IDS.replace('id parentId', 'id viewerReaction')

  test.each([
    ['share none with those of another reader, whose comments may be others,', TEXTS, [5, 5]],
    ['share none with those of another reader, for a field of the viewer,', VIEWERS, [5, 5]],
    ['share with every reader what is the same for all,', IDS, [3, 3]],
    ['share with every reader what says nothing of comments,', EVENTS, [3, 3]],
  ])('%s and none with those of other capabilities or another credential', async (_name, query, [size, executed]) => {
    const { key } = await service.newKey()
    const discussionId = await service.newDiscussion()
    const own = { variables: { discussionId } }
    const [ada, bob] = [await service.as('ada'), await service.as('bob')]
    const tokens = await Promise.all(
      [ada, bob].map(async (headers) => (await service.call('POST', '/client-tokens', { body: {}, headers })).json),
    )
    const readers = [
      { 'x-api-key': key, ...ada },
      { 'x-api-key': key, ...bob },
    ]
    const browsers = tokens.map(({ token }) => ({ authorization: `Bearer ${token}`, 'x-api-key': '' }))
    const seen = [
      subscribe(query, own),
      ...[...readers, ...browsers].map((headers) => subscribe(query, { ...own, headers })),
    ]
    await subscribed(5)
    expect(subscriptionsOf(service.app).size).toBe(size)
    const executions = countExecutions()
    await comment(discussionId)
    await vi.waitFor(() => expect(seen.every(({ seqs }) => seqs.length === 1)).toBe(true))
    expect(executions()).toBe(executed)
  })

  test('get each event once and in order, whenever they join, leave and return', async () => {
    const discussionId = await service.newDiscussion()
    const root = await comment(discussionId)
    let last = 1
    interface Reader {
      from: number
      seqs: number[]
      current: Seen | null
      how: Asked
      query: string
    }
    const readers = upTo(12).map((n): Reader => ({
      from: 0,
      seqs: [],
      current: null,
      how: n % 4 === 0 ? { single: true } : { path: n % 3 === 0 ? '/graphql' : '/graphql/stream' },
      query: n % 2 === 0 ? EVENTS : THREADS,
    }))
    const toggle = (reader: Reader): void => {
      if (reader.current !== null) {
        reader.current.stop()
        reader.seqs.push(...reader.current.seqs.splice(0))
        reader.current = null
        return
      }
      const lastEventId = String(reader.seqs.at(-1) ?? 0)
      reader.current = subscribe(reader.query, { ...reader.how, variables: { discussionId, lastEventId } })
    }
    const random = randomOf(SEED)
    for (let step = 0; step < 40; step++) {
      const reader = readers[Math.floor(random() * readers.length)]
      if (reader !== undefined) toggle(reader)
      await Promise.all([comment(discussionId), ...(step % 5 === 0 ? [comment(discussionId)] : [])])
      last += step % 5 === 0 ? 2 : 1
      if (step % 7 === 0) {
        const headers = await service.as(`reader-${step}`)
        const reaction = { body: { type: 'like' }, headers }
        expect((await service.call('PUT', `/comments/${root.id}/reaction`, reaction)).status).toBe(200)
        last++
      }
    }
    for (const reader of readers) if (reader.current === null) toggle(reader)
    await vi.waitFor(() => {
      for (const { seqs, current } of readers) expect([...seqs, ...(current?.seqs ?? [])]).toEqual(upTo(last))
    })
  })
})

test('fragments, aliases and @include by a variable', async () => {
  const query = `subscription Watch($id: ID!, $withType: Boolean!) { ...Root }
    fragment Root on Subscription { news: discussionEvents(discussionId: $id) { ...Parts kind: type @include(if: $withType) } }
    fragment Parts on DiscussionEvent { seq }`
  const id = await service.newDiscussion()
  const [without, including] = [false, true].map((withType) => subscribe(query, { variables: { id, withType } }))
  await subscribed(2)
  await comment(id)
  await vi.waitFor(() => expect([without?.payloads, including?.payloads].every((all) => all?.length === 1)).toBe(true))
  expect(without?.payloads).toEqual([{ data: { news: { seq: 1 } } }])
  expect(including?.payloads).toEqual([{ data: { news: { seq: 1, kind: 'comment_created' } } }])
})

test('a field that fails is an error in the payload of its event only', async () => {
  const query = `subscription ($discussionId: ID!) { discussionEvents(discussionId: $discussionId) {
    seq data { ... on CommentEventData { comment { replies(after: "nonsense") { edges { cursor } } } } }
  } }`
  const discussionId = await service.newDiscussion()
  const seen = subscribe(query, { variables: { discussionId } })
  await subscribed(1)
  await comment(discussionId)
  await comment(discussionId)
  await vi.waitFor(() => expect(seen.payloads).toHaveLength(2))
  for (const { errors } of seen.payloads)
    expect(errors).toMatchObject([
      { path: ['discussionEvents', 'data', 'comment', 'replies'], extensions: { code: 'validation_failed' } },
    ])
  expect(seen.done).toBe(false)
})

test('at a shutdown a subscription ends without complete, and is forgotten', async () => {
  const own = await startOwn()
  const discussionId = await own.newDiscussion()
  const seen = subscribe(EVENTS, { of: own, variables: { discussionId } })
  await subscribed(1, own)
  await hubOf(own.app).close({ graceMs: 100 })
  await vi.waitFor(() => expect(seen.failure).toBeInstanceOf(NetworkError))
  expect(seen.done).toBe(false)
  expect(subscriptionsOf(own.app).size).toBe(0)
})

test('sends heartbeats during silence', async () => {
  const own = await startOwn({ env: { STREAM_HEARTBEAT_SECONDS: '1' } })
  const body = JSON.stringify({ query: EVENTS, variables: { discussionId: await own.newDiscussion() } })
  const headers = { 'x-api-key': own.apiKey, accept: 'text/event-stream', 'content-type': 'application/json' }
  const response = await fetch(`${own.url}/graphql/stream`, { method: 'POST', headers, body })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (text.length < 9) text += (await reader?.read())?.value ?? ''
  expect(text).toMatch(/^(:\n\n)+$/)
  await reader?.cancel()
})

describe('POST /graphql', () => {
  const post = (accept: string, query: string) =>
    fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': service.apiKey, accept, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })

  test.each(['application/json', 'multipart/mixed'])('refuses a subscription with Accept %s', async (accept) => {
    const response = await post(accept, `subscription { discussionEvents(discussionId: "${newId()}") { seq } }`)
    expect(response.status).toBe(406)
    expect(await response.text()).toContain('"not_acceptable"')
    expect(hubOf(service.app).sessions.size).toBe(0)
  })

  test('answers a query that only mentions a subscription like any other', async () => {
    const response = await post('*/*', '{ __typename subscription: __typename }')
    expect(await response.json()).toEqual({ data: { __typename: 'Query', subscription: 'Query' } })
  })
})

test('a client of HTTP/1.0 gets its events without chunks', async () => {
  const discussionId = await service.newDiscussion()
  const body = JSON.stringify({ query: EVENTS, variables: { discussionId } })
  const { hostname, port } = new URL(service.url)
  const socket = connectTo(Number(port), hostname)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const head = [
    'POST /graphql/stream HTTP/1.0',
    `x-api-key: ${service.apiKey}`,
    'accept: text/event-stream',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  await subscribed(1)
  await comment(discussionId)
  const payload = { data: { discussionEvents: { seq: 1, type: 'comment_created' } } }
  await vi.waitFor(() => expect(text).toContain(`\r\n\r\n:\n\nevent: next\ndata: ${JSON.stringify(payload)}\n\n`))
  socket.destroy()
})

test('a client of HTTP/2 gets its events', async () => {
  const { ca, env, remove } = makeTlsSettings()
  const own = await startService({ worker: false, env })
  const session = connectHttp2(own.url.replace('http:', 'https:'), { ca })
  const post = (path: string, headers: Record<string, string>, body: unknown) => {
    const sent = { 'x-api-key': own.apiKey, 'content-type': 'application/json', ...headers }
    const request = session.request({ [constants.HTTP2_HEADER_METHOD]: 'POST', ':path': path, ...sent })
    const answer = { text: '' }
    request.setEncoding('utf8').on('data', (chunk: string) => (answer.text += chunk))
    request.end(JSON.stringify(body))
    return answer
  }
  try {
    const made = post('/api/v1/discussions', {}, { externalId: 'x' })
    await vi.waitFor(() => expect(() => JSON.parse(made.text)).not.toThrow())
    const discussionId = (JSON.parse(made.text) as { id: string }).id
    const accept = { accept: 'text/event-stream' }
    const seen = post('/graphql/stream', accept, { query: EVENTS, variables: { discussionId } })
    await vi.waitFor(() => expect(seen.text).toBe(':\n\n'))
    post(`/api/v1/discussions/${discussionId}/comments`, await own.as('ada'), { body: 'Hello' })
    const payload = { data: { discussionEvents: { seq: 1, type: 'comment_created' } } }
    await vi.waitFor(() => expect(seen.text).toBe(`:\n\nevent: next\ndata: ${JSON.stringify(payload)}\n\n`))
  } finally {
    session.destroy()
    await own.close()
    remove()
  }
})
