import { createClient, type Client, type ExecutionResult } from 'graphql-sse'
import { afterAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { refusalIn } from '../harness/refusal.ts'
import { useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'

const QUERY = `subscription ($discussionId: ID!, $lastEventId: String) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
    id type discussionId seq occurredAt
    actor { kind readerId externalId }
    data {
      __typename
      ... on CommentEventData { comment { id body author { externalId } } }
      ... on ReactionEventData { commentId reactionType: type previousType reactionCounts reader { externalId } }
      ... on ReplyNotificationData { parentCommentId recipient { externalId } }
    }
  }
}`

interface Event {
  seq: number
  type: string
  data: Record<string, unknown>
}

const service = useService()
const clients: Client<boolean>[] = []

afterAll(() => clients.forEach((client) => client.dispose()))

function connect(singleConnection: boolean, headers: Record<string, string> = {}): Client<boolean> {
  const client = createClient({
    url: `${service.url}/graphql/stream`,
    singleConnection,
    headers: { 'x-api-key': service.apiKey, ...headers },
    retryAttempts: 0,
  })
  clients.push(client)
  return client
}

interface Subscription {
  events: Event[]
  errors: { message: string; extensions?: { code?: string } }[]
  failure: unknown
  done: boolean
  stop: () => void
}

function subscribe(client: Client<boolean>, variables: Record<string, unknown>, query = QUERY): Subscription {
  const seen: Subscription = { events: [], errors: [], failure: undefined, done: false, stop: () => undefined }
  seen.stop = client.subscribe<{ discussionEvents: Event }>(
    { query, variables },
    {
      next: ({ data, errors }: ExecutionResult<{ discussionEvents: Event }>) => {
        if (data?.discussionEvents != null) seen.events.push(data.discussionEvents)
        if (errors !== undefined) seen.errors.push(...(errors as unknown as Subscription['errors']))
      },
      error: (error) => (seen.failure = error),
      complete: () => (seen.done = true),
    },
  )
  return seen
}

/** Reads a stream; fails where that ends before a pattern has come. */
function readerOf({ body }: Response): { until: (pattern: RegExp) => Promise<string>; cancel: () => Promise<void> } {
  if (body === null) throw new Error('the answer has no body')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    cancel: () => reader.cancel(),
    until: async (pattern) => {
      while (!pattern.test(text)) {
        const { done, value } = await reader.read()
        if (done) throw new Error(`the stream ended before ${pattern}: ${text}`)
        text += value
      }
      return text
    },
  }
}

async function comment(discussionId: string, reader = 'ada', more: object = {}): Promise<{ id: string }> {
  const body = { body: 'Hello', ...more }
  return service.ok('POST', `/discussions/${discussionId}/comments`, body, await service.as(reader))
}

describe.each([
  ['distinct connections', false],
  ['a single connection', true],
])('subscription discussionEvents over graphql-sse, %s', (_name, single) => {
  test('yields the same events as the SSE route, replayed and live', async () => {
    const discussionId = await service.newDiscussion()
    const root = await comment(discussionId)
    const sse = await openStream(`${service.url}/api/v1/stream/${discussionId}?lastEventId=0`, {
      'x-api-key': service.apiKey,
    })
    const seen = subscribe(connect(single), { discussionId, lastEventId: '0' })
    await comment(discussionId, 'bob', { parentId: root.id })
    await service.ok('POST', `/comments/${root.id}/reactions`, { type: 'love' }, await service.as('bob'))
    await vi.waitFor(() => expect(seen.events).toHaveLength(4))
    await vi.waitFor(() => expect(sse.seqs).toEqual([1, 2, 3, 4]))
    sse.close()
    expect(seen.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
    expect(seen.events.map(({ type }) => type)).toEqual(sse.events.map(({ event }) => event))
    seen.events.forEach(({ data: _data, ...event }, index) => {
      const { data: _other, ...own } = sse.events[index]?.data ?? {}
      expect(event).toEqual({ ...own, actor: { readerId: null, externalId: null, ...own.actor } })
    })
    expect(seen.events[0]?.data).toMatchObject({
      __typename: 'CommentEventData',
      comment: { id: root.id, body: 'Hello', author: { externalId: 'ada' } },
    })
    const reply = seen.events.find(({ type }) => type === 'notification_reply')
    expect(reply?.data).toMatchObject({ parentCommentId: root.id, recipient: { externalId: 'ada' } })
    expect(seen.events[3]?.data).toMatchObject({
      commentId: root.id,
      reactionType: 'love',
      reader: { externalId: 'bob' },
    })
    seen.stop()
  })

  test('of an unknown discussion, a malformed id and an unknown position ends with the code of the error', async () => {
    const client = connect(single)
    const unknown = subscribe(client, { discussionId: newId() })
    const malformed = subscribe(client, { discussionId: 'x' })
    const position = subscribe(client, { discussionId: await service.newDiscussion(), lastEventId: '7' })
    await vi.waitFor(() => expect([unknown, malformed, position].every(({ done }) => done)).toBe(true))
    expect(unknown.errors[0]?.extensions).toMatchObject({ code: 'not_found', status: 404 })
    expect(malformed.errors[0]?.extensions).toMatchObject({ code: 'not_found' })
    expect(position.errors[0]?.extensions).toMatchObject({
      code: 'validation_failed',
      errors: [{ code: 'not_replayable' }],
    })
  })

  test('only moderators see who reacted, in an event of a comment that has left the view since', async () => {
    const { key } = await service.newKey()
    const discussionId = await service.newDiscussion()
    const { id } = await comment(discussionId)
    const reaction = { body: { type: 'like' }, headers: await service.as('bob') }
    expect((await service.call('PUT', `/comments/${id}/reaction`, reaction)).status).toBe(200)
    const query = `subscription ($discussionId: ID!) { discussionEvents(discussionId: $discussionId, lastEventId: "0") {
      type data { ... on CommentEventData { comment { reactions { edges { node { reader { externalId } } } } } } }
    } }`
    const reactors = async (apiKey: string): Promise<unknown> => {
      const seen = subscribe(connect(single, { 'x-api-key': apiKey }), { discussionId }, query)
      await vi.waitFor(() => expect(seen.events[0]?.type).toBe('comment_created'))
      seen.stop()
      return seen.events[0]?.data
    }
    const bob = { comment: { reactions: { edges: [{ node: { reader: { externalId: 'bob' } } }] } } }
    expect(await reactors(key)).toEqual(bob)
    expect((await service.call('POST', `/comments/${id}/reject`)).status).toBe(200)
    expect(await reactors(key)).toEqual({ comment: { reactions: { edges: [] } } })
    expect(await reactors(service.apiKey)).toEqual(bob)
  })
})

describe('/graphql/stream', () => {
  const put = (headers: Record<string, string>) => fetch(`${service.url}/graphql/stream`, { method: 'PUT', headers })

  test('without credentials answers 401 missing_credentials', async () => {
    const response = await put({})
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ code: 'missing_credentials' })
  })

  test('of a reserved stream without credentials answers 401 missing_credentials', async () => {
    const token = await (await put({ 'x-api-key': service.apiKey })).text()
    for (const accept of ['text/event-stream', 'application/json']) {
      const response = await fetch(`${service.url}/graphql/stream`, {
        headers: { 'x-graphql-event-stream-token': token, accept },
      })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ code: 'missing_credentials' })
    }
  })

  test('a reserved stream that is not opened in time is gone; an open one goes on', async () => {
    const client = connect(true)
    const discussionId = await service.newDiscussion()
    const before = subscribe(client, { discussionId, lastEventId: '0' })
    await comment(discussionId)
    await vi.waitFor(() => expect(before.events).toHaveLength(1))
    const key = { 'x-api-key': service.apiKey }
    const [early, late] = [await (await put(key)).text(), await (await put(key)).text()]
    const open = (token: string) =>
      fetch(`${service.url}/graphql/stream`, {
        headers: { ...key, 'x-graphql-event-stream-token': token, accept: 'text/event-stream' },
      })
    const opened = await open(early)
    expect(opened.status).toBe(200)
    expect((await open(early)).status).toBe(409)
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 31_000)
    try {
      expect((await open(late)).status).toBe(404)
      expect((await open(early)).status).toBe(409)
    } finally {
      now.mockRestore()
    }
    await opened.body?.cancel()
    const after = subscribe(client, { discussionId, lastEventId: '0' })
    await Promise.all(Array.from({ length: 40 }, () => comment(discussionId)))
    await vi.waitFor(() => expect([before.events.length, after.events.length]).toEqual([41, 41]))
  })

  test('a separate query gets its errors with a code', async () => {
    const seen = subscribe(connect(false), {}, '{ nothing }')
    await vi.waitFor(() => expect(seen.done).toBe(true))
    expect(seen.errors[0]?.extensions).toMatchObject({ code: 'validation_failed' })
  })
})

describe('subscription discussionEvents at /graphql', () => {
  const post = (variables: object, headers: Record<string, string> = { 'x-api-key': service.apiKey }) =>
    fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify({ query: QUERY, variables }),
    })

  test('yields events as they arrive', async () => {
    const discussionId = await service.newDiscussion()
    await comment(discussionId)
    const response = await post({ discussionId, lastEventId: '0' })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const stream = readerOf(response)
    await stream.until(/"seq":1,/)
    await comment(discussionId)
    await stream.until(/"seq":2,/)
    await stream.cancel()
  })

  test('tells its position after a replay whose last events are not for the subscriber', async () => {
    const discussionId = await service.newDiscussion()
    const { id } = await comment(discussionId)
    await service.call('POST', `/comments/${id}/reject`)
    await service.call('DELETE', `/comments/${id}`)
    const { token } = (await service.call('POST', '/client-tokens', { body: {} })).json
    const response = await post({ discussionId, lastEventId: '1' }, { authorization: `Bearer ${token}` })
    const stream = readerOf(response)
    await stream.until(/:seq: 3\n\n/)
    await comment(discussionId)
    const text = await stream.until(/"seq":4,/)
    await stream.cancel()
    const told = text.match(/:seq: \d+|"seq":\d+/g)
    expect(told).toEqual(['"seq":2', ':seq: 3', '"seq":4'])
  })

  test('without credentials yields missing_credentials', async () => {
    const text = await (await post({ discussionId: await service.newDiscussion() }, {})).text()
    expect(text).toContain('"code":"missing_credentials"')
  })
})

describe('POST /graphql', () => {
  test('answers request errors with a code, and nothing of the library', async () => {
    const { json } = await service.graphql('{ nothing }')
    expect(json.errors[0].extensions).toMatchObject({ code: 'validation_failed', status: 422 })
    expect((await service.graphql('{')).json.errors[0].extensions).toMatchObject({ code: 'validation_failed' })
  })

  test('answers a refusal of a domain with its code', async () => {
    const { json } = await service.graphql('query ($id: ID!) { discussion(by: { id: $id }) { id } }', { id: newId() })
    expect(json).toMatchObject({
      data: { discussion: null },
      errors: [{ extensions: { code: 'not_found', status: 404 } }],
    })
  })

  test('refuses a batch', async () => {
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': service.apiKey },
      body: JSON.stringify([{ query: '{ __typename }' }, { query: '{ __typename }' }]),
    })
    expect(response.status).toBe(422)
    expect(refusalIn(await response.json())).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '' }] })
  })

  test('shows GraphiQL to a browser in development, and not to others', async () => {
    const headers = { accept: 'text/html,*/*;q=0.8', 'accept-encoding': 'gzip' }
    const page = await fetch(`${service.url}/graphql`, { headers })
    expect(page.headers.get('content-encoding')).toBe('gzip')
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect((await page.text()).slice(0, 500)).toContain('<title>Engagement Service</title>')
    const known = { ...headers, 'if-none-match': page.headers.get('etag') ?? '' }
    expect((await fetch(`${service.url}/graphql`, { headers: known })).status).toBe(304)
    expect((await fetch(`${service.url}/graphql`)).status).toBe(422)
  })

  test("sends CORS headers to the tenant's origins only", async () => {
    const origin = 'https://app.example.com'
    await service.call('PATCH', '/settings', { body: { allowedOrigins: [origin] } })
    const allowed = await service.graphql('{ __typename }', {}, { origin })
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin)
    const other = await service.graphql('{ __typename }', {}, { origin: 'https://evil.example' })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    const preflight = (from: string) =>
      fetch(`${service.url}/graphql`, { method: 'OPTIONS', headers: { origin: from } })
    expect((await preflight(origin)).status).toBe(204)
    expect((await preflight('https://evil.example')).status).toBe(403)
  })
})
