import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { hubOf } from '../../src/live/hub.ts'
import { useService } from '../harness/service.ts'

const service = useService()
let discussionId: string
const sockets: Socket[] = []

beforeAll(async () => {
  discussionId = await service.newDiscussion()
})
afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()))

const port = (): number => Number(new URL(service.url).port)
const sessions = () => hubOf(service.app).sessions
const line = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.apiKey}\r\n`
const subscription = (): string => {
  const query = `subscription { discussionEvents(discussionId: "${discussionId}") { seq } }`
  return `${line(`/graphql/stream?query=${encodeURIComponent(query)}`)}Accept: text/event-stream\r\n\r\n`
}
const stream = (): string => `${line(`/api/v1/stream/${discussionId}`)}\r\n`

/** A bare connection, and all that came over it. */
async function open(requests: string): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect(port(), '127.0.0.1')
  sockets.push(socket)
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => (text += part))
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(requests)
  return { socket, text: () => text }
}

describe('requests sent before the answer to the previous one', () => {
  test.each([
    ['streams', stream],
    ['subscriptions', subscription],
  ])('%s behind an open one wait, and leave nothing behind when the connection dies', async (_name, one) => {
    const { socket, text } = await open(one().repeat(10))
    await vi.waitFor(() => expect(text()).toContain('200 OK'))
    await vi.waitFor(() => expect(sessions().size).toBe(1))
    socket.destroy()
    await vi.waitFor(() => expect(sessions().size).toBe(0))
    expect(hubOf(service.app).counts()).toEqual([])
  })

  test('a reserved stream waits too, and has no place', async () => {
    const reserve = await fetch(`${service.url}/graphql/stream`, {
      method: 'PUT',
      headers: { 'x-api-key': service.apiKey },
    })
    const token = await reserve.text()
    expect(sessions().size).toBe(0)
    const opening = `${line('/graphql/stream')}Accept: text/event-stream\r\nX-GraphQL-Event-Stream-Token: ${token}\r\n\r\n`
    const { socket, text } = await open(stream() + opening)
    await vi.waitFor(() => expect(text()).toContain('event: connected'))
    await vi.waitFor(() => expect(sessions().size).toBe(1))
    socket.destroy()
    await vi.waitFor(() => expect(sessions().size).toBe(0))
  })

  test('a write behind an open stream does not run', async () => {
    const body = JSON.stringify({ externalId: 'behind a stream' })
    const write = line('/api/v1/discussions').replace('GET', 'POST')
    const { text } = await open(
      `${stream()}${write}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await vi.waitFor(() => expect(text()).toContain('event: connected'))
    for (let n = 0; n < 5; n++) await service.newDiscussion()
    expect((await service.call('GET', '/discussions/by-external/behind%20a%20stream')).status).toBe(404)
  })

  test('of several at once each is answered, in their order', async () => {
    const paths = ['/healthz', '/api/v1/discussions', '/nothing', '/%', '/healthz']
    const { text } = await open(paths.map((path) => `${line(path)}\r\n`).join(''))
    const statuses = (): string[] => [...text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status)
    await vi.waitFor(() => expect(statuses()).toHaveLength(5))
    expect(statuses()).toEqual(['200', '200', '404', '404', '200'])
  })

  test.each([
    ['bytes that are not HTTP', 'no HTTP'],
    ['a head that is too long', `GET / HTTP/1.1\r\nX: ${'x'.repeat(60_000)}`],
  ])('behind a write, %s get no refusal: it would be taken for the answer to the write', async (_name, behind) => {
    const body = JSON.stringify({ externalId: newId() })
    const write = line('/api/v1/discussions').replace('GET', 'POST')
    const head = `${write}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const { socket, text } = await open(`${head}${body}${behind}\r\n\r\n`)
    await once(socket, 'close')
    expect(text()).not.toMatch(/^HTTP\/1\.1 4/)
  })

  test.each(['/healthz', '/%'])('more than 16 of %s behind an open stream close the connection', async (path) => {
    const { socket, text } = await open(stream() + `${line(path)}\r\n`.repeat(16))
    await vi.waitFor(() => expect(text()).toContain('event: connected'))
    const closed = once(socket, 'close')
    socket.write(`${line(path)}\r\n`)
    await closed
    await vi.waitFor(() => expect(sessions().size).toBe(0))
  })

  test('a stream behind a short answer is opened', async () => {
    const { text } = await open(`${line('/healthz')}\r\n${stream()}`)
    await vi.waitFor(() => expect(text()).toContain('event: connected'))
    expect(text().startsWith('HTTP/1.1 200')).toBe(true)
  })
})

test('bytes that are no request end a stream, and nothing is written into it', async () => {
  const { socket, text } = await open(stream())
  await vi.waitFor(() => expect(text()).toContain('event: connected'))
  const closed = once(socket, 'close')
  socket.write('this is not HTTP\r\n\r\n')
  await closed
  expect(text().match(/HTTP\/1\.1/g)).toHaveLength(1)
})

describe('a subscription', () => {
  const subscribe = (query: string, variables: object, headers: Record<string, string> = {}) =>
    fetch(`${service.url}/graphql/stream`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'x-api-key': service.apiKey,
        ...headers,
      },
      body: JSON.stringify({ query, variables }),
    })

  test('with more variables than allowed is refused', async () => {
    const query =
      'subscription ($id: ID!, $note: String) { discussionEvents(discussionId: $id, lastEventId: $note) { seq } }'
    const refused = await subscribe(query, { id: discussionId, note: 'x'.repeat(20_000) })
    expect(refused.status).toBe(422)
    expect(await refused.json()).toMatchObject({ errors: [{ pointer: '/variables', code: 'too_long' }] })
    expect(sessions().size).toBe(0)
  })

  test("gets its reader's own reaction on a comment", async () => {
    const ann = await service.as('ann')
    const post = (path: string, body: object) => service.call('POST', path, { body, headers: ann })
    const { json } = await post(`/discussions/${discussionId}/comments`, { body: 'mine' })
    await post(`/comments/${json.id}/reactions`, { type: 'like' })
    const query = `subscription ($id: ID!) { discussionEvents(discussionId: $id, lastEventId: "0") {
      data { ... on CommentEventData { comment { id viewerReaction } } } } }`
    const answers = async (headers: Record<string, string>): Promise<string> => {
      const { body } = await subscribe(query, { id: discussionId }, headers)
      let text = ''
      for await (const part of body ?? []) {
        text += Buffer.from(part as Uint8Array).toString()
        if (text.includes(json.id as string)) break
      }
      return text
    }
    expect(await answers(ann)).toContain('"viewerReaction":"like"')
    expect(await answers({})).toContain('"viewerReaction":null')
  })

  test('is refused an Idempotency-Key for a mutation, which this path does not support', async () => {
    const query = 'mutation { lockDiscussion(input: { id: "x" }) { discussion { id } } }'
    const refused = await subscribe(query, {}, { 'idempotency-key': 'once' })
    expect(refused.status).toBe(422)
    expect(await refused.json()).toMatchObject({ errors: [{ pointer: '/Idempotency-Key' }] })
  })
})
