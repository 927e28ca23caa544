import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectHttp2, constants } from 'node:http2'

import { type Client, createClient, NetworkError, type ExecutionResult } from 'graphql-sse'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { ServiceError } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import { hubOf } from '../../src/live/hub.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { makeTlsSettings } from '../harness/certificates.ts'
import { startOwn, startService, type TestService, type TestTenant, useService } from '../harness/service.ts'

const QUERY = `subscription ($discussionId: ID!, $lastEventId: String) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) { seq }
}`
/** The ways of the protocol: where a client connects, and whether by a single connection. */
const WAYS = [
  ['distinct connections at /graphql/stream', '/graphql/stream', false],
  ['a single connection', '/graphql/stream', true],
  ['distinct connections at /graphql', '/graphql', false],
] as const

const service = useService()
let tenant: TestTenant
let discussionId: string
let count = 0
const clients: Client<boolean>[] = []

beforeEach(async () => {
  clients.splice(0).forEach((client) => client.dispose())
  vi.restoreAllMocks()
  tenant = await service.addTenant(`ends-${count++}`)
  discussionId = (await call('POST', '/discussions', { externalId: newId() })).json.id
})
afterAll(() => clients.forEach((client) => client.dispose()))

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, at = service) =>
  at.call(method, path, { headers: { 'x-api-key': tenant.apiKey, ...headers }, body })

async function comment(at = service, to = discussionId): Promise<void> {
  const response = await call('POST', `/discussions/${to}/comments`, { body: 'Hello' }, await tenant.as('ada'), at)
  expect(response.status).toBe(201)
}

const newKey = async (more: object = {}): Promise<{ id: string; key: string }> =>
  (await call('POST', '/keys', { label: 'ends', capabilities: [], ...more })).json

interface Seen {
  /** How often the client has tried again. */
  retries: number
  seqs: (number | undefined)[]
  errors: unknown[]
  failure: unknown
  isDone: boolean
}

interface Follow {
  path: string
  single: boolean
  key?: string
  retryAttempts?: number
  at?: TestService
  to?: string
}

/** Follows the discussion as the guide says: the client resumes after its last event. */
function follow({ path, single, key = tenant.apiKey, retryAttempts = 5000, at = service, to = discussionId }: Follow) {
  const seen: Seen = { retries: 0, seqs: [], errors: [], failure: undefined, isDone: false }
  const client = createClient({
    url: at.url + path,
    singleConnection: single,
    headers: { 'x-api-key': key },
    retryAttempts,
    retry: () => {
      seen.retries++
      return pause(20)
    },
  })
  clients.push(client)
  const variables = { discussionId: to, lastEventId: '0' }
  client.subscribe<{ discussionEvents: { seq: number } }>(
    { query: QUERY, variables },
    {
      next: ({ data, errors }: ExecutionResult<{ discussionEvents: { seq: number } }>) => {
        if (errors !== undefined) seen.errors.push(...errors)
        if (data == null) return
        variables.lastEventId = String(data.discussionEvents.seq)
        seen.seqs.push(data.discussionEvents.seq)
      },
      error: (error) => (seen.failure = error),
      complete: () => (seen.isDone = true),
    },
  )
  return seen
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

describe.each(WAYS)('a subscription by %s', (_name, path, single) => {
  test('whose key is revoked fails with 401 once it has tried again', async () => {
    const { id, key } = await newKey()
    const seen = follow({ path, single, key, retryAttempts: 1 })
    await comment()
    await vi.waitFor(() => expect(seen.seqs).toEqual([1]))
    await call('DELETE', `/keys/${id}`)
    await vi.waitFor(() => expect(seen.failure).toBeInstanceOf(NetworkError))
    expect((seen.failure as NetworkError<Response>).response?.status).toBe(401)
    expect(seen.isDone).toBe(false)
  })

  test('over a cap begins once there is room', async () => {
    expect((await call('PATCH', '/settings', { stream: { maxStreams: 2 } })).status).toBe(200)
    const taken = [follow({ path, single: false }), follow({ path, single: false })]
    await comment()
    await vi.waitFor(() => expect(taken.map(({ seqs }) => seqs)).toEqual([[1], [1]]))
    const seen = follow({ path, single })
    await vi.waitFor(() => expect(seen.retries).toBeGreaterThan(3))
    expect(seen).toMatchObject({ seqs: [], errors: [], failure: undefined, isDone: false })
    clients[0]?.dispose()
    if (single) clients[1]?.dispose()
    await vi.waitFor(() => expect(seen.seqs).toEqual([1]))
  })

  test('misses no event that the service could not answer at first', async () => {
    const seen = follow({ path, single })
    await comment()
    await vi.waitFor(() => expect(seen.seqs).toEqual([1]))
    const field = schema.getSubscriptionType()?.getFields().discussionEvents
    if (field === undefined) throw new Error('the schema has no discussionEvents')
    const isAway = vi.spyOn(field, 'resolve').mockImplementation(() => {
      throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    })
    await comment()
    await vi.waitFor(() => expect(isAway).toHaveBeenCalled())
    // It has tried again by then, and failed again.
    await vi.waitFor(() => expect(seen.retries).toBeGreaterThan(1))
    isAway.mockRestore()
    await comment()
    await vi.waitFor(() => expect(seen.seqs).toEqual(upTo(3)))
    expect(seen).toMatchObject({ errors: [], failure: undefined, isDone: false })
  })

  test('completes with an error where trying again is useless', async () => {
    const unknown = follow({ path, single, to: newId() })
    await vi.waitFor(() => expect(unknown.isDone).toBe(true))
    expect(unknown.errors).toMatchObject([{ extensions: { code: 'not_found' } }])
  })
})

test('all end at a stop without complete, after every event before it', async () => {
  const own = await startOwn()
  const key = { 'x-api-key': own.apiKey }
  const to = await own.newDiscussion()
  const follows = WAYS.map(([name, path, single]) => {
    const events: string[] = []
    const failure = new Promise((resolve) => {
      const client = createClient({
        url: own.url + path,
        singleConnection: single,
        headers: key,
        retryAttempts: 0,
        onMessage: ({ event }) => events.push(event),
      })
      clients.push(client)
      const request = { query: QUERY, variables: { discussionId: to, lastEventId: '0' } }
      client.subscribe(request, { next: () => undefined, error: resolve, complete: () => resolve('complete') })
    })
    return { name, events, failure }
  })
  const post = async (): Promise<void> => {
    const headers = await own.as('ada')
    await own.call('POST', `/discussions/${to}/comments`, { body: { body: 'Hello' }, headers })
  }
  await post()
  for (const { name, events } of follows) await vi.waitFor(() => expect(events, name).toEqual(['next']))
  await post()
  await hubOf(own.app).sessions.endAll(0)
  for (const { name, events, failure } of follows) {
    expect(await failure, name).toBeInstanceOf(NetworkError)
    expect(events.slice(1).every((event) => event === 'next')).toBe(true)
  }
})

// Node's fetch takes the end of a connection that was to close for that of a whole answer.
test('while a process stops, subscriptions that begin break off for fetch', async () => {
  const own = await startOwn()
  const key = { 'x-api-key': own.apiKey }
  /** What came of an answer, and how it ended. */
  const readingOf = (answer: Response) => {
    const seen = { text: '' }
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    const read = async (): Promise<void> => {
      for (let got = await reader.read(); !got.done; got = await reader.read()) {
        seen.text += String(Buffer.from(got.value))
      }
    }
    const end = read().then(
      () => 'whole',
      () => 'broken',
    )
    return { seen, end }
  }
  own.retire()
  const begin = async (path: string) => {
    const answer = await fetch(own.url + path, {
      method: 'POST',
      headers: { ...key, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { moderationQueueChanged { pending } }' }),
    })
    return readingOf(answer)
  }
  const distinct = [await begin('/graphql/stream'), await begin('/graphql')]
  for (const { seen } of distinct) await vi.waitFor(() => expect(seen.text).toContain('event: next'))

  const reserved = await fetch(`${own.url}/graphql/stream`, { method: 'PUT', headers: key })
  const headers = { 'x-graphql-event-stream-token': await reserved.text(), accept: 'text/event-stream' }
  const answer = await fetch(`${own.url}/graphql/stream`, { headers: { ...key, ...headers } })
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'keep-alive'])
  const single = readingOf(answer)

  await hubOf(own.app).sessions.endAll(0)
  for (const { seen, end } of [...distinct, single]) {
    expect(await end).toBe('broken')
    expect(seen.text).not.toContain('complete')
  }
})

test('a single connection that ends brings the result of a mutation under way before', async () => {
  const own = await startOwn()
  const created: unknown[] = []
  const client = createClient({
    url: `${own.url}/graphql/stream`,
    singleConnection: true,
    headers: { 'x-api-key': own.apiKey },
    retryAttempts: 0,
  })
  clients.push(client)
  const field = schema.getMutationType()?.getFields().createDiscussion
  const resolve = field?.resolve
  if (field === undefined || resolve === undefined) throw new Error('the schema has no createDiscussion')
  let begun = false
  let release = (): void => undefined
  const released = new Promise<void>((done) => (release = done))
  vi.spyOn(field, 'resolve').mockImplementation(async (...args) => {
    begun = true
    await released
    return resolve(...args)
  })
  const query = 'mutation ($id: String!) { createDiscussion(input: { externalId: $id }) { discussion { id } } }'
  const over = new Promise((done) => {
    const sink = { next: (result: unknown) => created.push(result), error: done, complete: () => done('complete') }
    client.subscribe({ query, variables: { id: newId() } }, sink)
  })
  await vi.waitFor(() => expect(begun).toBe(true))
  await hubOf(own.app).sessions.endAll(0)
  release()
  expect(await over).toBe('complete')
  expect(created).toMatchObject([{ data: { createDiscussion: { discussion: {} } } }])
})

test('over HTTP/2 a subscription that the service ends is reset, which no client takes for its end', async () => {
  const { ca, env, remove } = makeTlsSettings()
  const own = await startService({ worker: false, env })
  const session = connectHttp2(own.url.replace('http:', 'https:'), { ca })
  try {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/graphql/stream',
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'x-api-key': own.apiKey,
    })
    stream.end(JSON.stringify({ query: 'subscription { moderationQueueChanged { pending } }' }))
    let text = ''
    let hasEnded = false
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    stream.on('end', () => (hasEnded = true))
    const error = new Promise((resolve) => stream.on('error', resolve))
    await vi.waitFor(() => expect(text).toContain('event: next'))
    await hubOf(own.app).sessions.endAll(0)
    expect(String(await error)).toContain('NGHTTP2_INTERNAL_ERROR')
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR)
    expect(hasEnded).toBe(false)
    expect(text).not.toContain('complete')
  } finally {
    session.destroy()
    await own.close()
    remove()
  }
})
