import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import fc from 'fast-check'
import { rolldown } from 'rolldown'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import {
  createGraphqlClient,
  type GraphqlClientOptions,
  type GraphqlRequest,
  type GraphqlResult,
} from '../../src/clients/graphql/client.ts'
import { ROOT } from '../../src/core/process/root.ts'
import { freePort } from '../harness/ports.ts'

const HOUR = 3_600_000

/** A request as the service gets it. */
interface Asked {
  path: string
  token: string | undefined
  headers: IncomingMessage['headers']
  body: GraphqlRequest
}

let server: ReturnType<typeof createServer>
let url: string
/** What the server answers, request by request; the last one also to all further ones. */
let answers: ((response: ServerResponse, asked: Asked) => void)[]
let asked: Asked[]
let tokens: number
const ended: (() => void)[] = []
const onError = vi.fn<(error: unknown) => unknown>()
/** How a function of the page fails. */
const FAILS = {
  throws: (words: string): unknown => {
    throw new Error(words)
  },
  rejects: (words: string): unknown => Promise.reject(new Error(words)),
}

beforeEach(async () => {
  asked = []
  tokens = 0
  onError.mockReset()
  // Back-offs are short, so that tests are.
  vi.spyOn(Math, 'random').mockReturnValue(0.01)
  server = createServer((request, response) => void answer(request, response))
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${port}/graphql`
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const end of ended.splice(0)) end()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const token = request.headers.authorization?.replace('Bearer ', '')
  const { url: path = '', headers } = request
  const each = { path, token, headers, body: JSON.parse(text) as GraphqlRequest }
  asked.push(each)
  const next = answers.length > 1 ? answers.shift() : answers[0]
  next?.(response, each)
}

const client = (options: Partial<GraphqlClientOptions> = {}) =>
  createGraphqlClient({
    url,
    onError,
    token: () => ({ token: `t${++tokens}`, expiresAt: new Date(Date.now() + HOUR).toISOString() }),
    ...options,
  })

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

const frame = (seq: number, text = 'Grüße 😀'): string =>
  `event: next\ndata: ${JSON.stringify({ data: { discussionEvents: { seq, text } } })}\n\n`
const COMPLETE = 'event: complete\n\n'
/** A stream of `text` in pieces of `size` bytes, which then breaks off unless it stays open. */
const stream =
  (text: string, { size = 1e6, stays = false } = {}) =>
  async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) {
      response.write(bytes.subarray(at, at + size))
      if (size < bytes.length) await pause(0)
    }
    if (!stays) setTimeout(() => response.destroy(), 20)
  }

const REQUEST = { query: 'subscription …', variables: { discussionId: 'd', lastEventId: '0' } }

/** Subscribes, and keeps what comes. */
function follow(options: Partial<GraphqlClientOptions> = {}, request: GraphqlRequest = REQUEST) {
  const got: { seqs: number[]; results: GraphqlResult[]; ends: unknown[] } = { seqs: [], results: [], ends: [] }
  const end = client(options).subscribe<{ discussionEvents: { seq: number } }>(request, {
    next: (result) => {
      got.results.push(result)
      if (result.data != null) got.seqs.push(result.data.discussionEvents.seq)
    },
    error: (error) => got.ends.push(error),
    complete: () => got.ends.push('complete'),
  })
  ended.push(end)
  return Object.assign(got, { end })
}

/**
 * The requests so far, once another subscription has tried again: what tries again after as long a
 * pause, and ended before, would have done so.
 */
async function askedAtLast(): Promise<Asked[]> {
  let tries = 0
  answers = [
    (response, { body }) =>
      body.query === 'marker' && ++tries > 1
        ? void stream(frame(1), { stays: true })(response)
        : json(503, {})(response),
  ]
  const marker = follow({ onError: vi.fn() }, { ...REQUEST, query: 'marker' })
  await vi.waitFor(() => expect(marker.seqs).toEqual([1]))
  marker.end()
  return asked.filter(({ body }) => body.query !== 'marker')
}

/** Lets the waits between tries pass at once, and returns how long they would have been. */
function quickWaits(): number[] {
  const waits: number[] = []
  const setTimer = globalThis.setTimeout
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((action: () => void, ms = 0, ...given: []) => {
    // Node's own timers give arguments.
    const isWait = ms >= 400 && ms < 20_000 && given.length === 0
    if (isWait) waits.push(ms)
    return setTimer(action, isWait ? 0 : ms, ...given)
  })
  return waits
}

const positions = () => asked.map(({ body }) => body.variables?.lastEventId)

describe('the shipped modules', () => {
  test.each(['client', 'apollo', 'urql', 'relay'])(
    '%s, with all that it imports of us, has at most 4.25 KB, and 2 KB more for tabs that share',
    async (name) => {
      const input = { client: 'src/clients/graphql/client.ts', adapter: `src/clients/graphql/${name}.ts` }
      const bundle = await rolldown({ input, cwd: ROOT, external: /^[^./]/ })
      const { output } = await bundle.generate({ format: 'esm', minify: true })
      const chunks = output.filter((each) => each.type === 'chunk')
      const sizeOf = (isLater: boolean): number =>
        gzipSync(chunks.map(({ code, isDynamicEntry }) => (isDynamicEntry === isLater ? code : '')).join('')).length
      expect(sizeOf(false)).toBeLessThanOrEqual(4.25 * 1024)
      expect(sizeOf(true)).toBeLessThanOrEqual(2 * 1024)
      await bundle.close()
    },
  )
})

describe('a token', () => {
  test('is got once for many requests', async () => {
    answers = [json(200, { data: {} })]
    const { query } = client()
    await Promise.all(Array.from({ length: 5 }, () => query({ query: '{a}' })))
    expect([tokens, new Set(asked.map(({ token }) => token))]).toEqual([1, new Set(['t1'])])
  })

  test('that is refused is replaced once, for all requests that it was refused to', async () => {
    answers = [(response, { token }) => json(token === 't1' ? 401 : 200, { data: { a: 1 } })(response)]
    const { query } = client()
    const results = await Promise.all(Array.from({ length: 5 }, () => query({ query: '{a}' })))
    expect([tokens, results.map(({ data }) => data)]).toEqual([2, Array.from({ length: 5 }, () => ({ a: 1 }))])
  })

  test('is renewed before it expires', async () => {
    answers = [json(200, { data: {} })]
    const token = vi.fn(() => ({ token: 't', expiresAt: new Date(Date.now() + HOUR).toISOString() }))
    const { query } = client({ token })
    await query({ query: '{a}' })
    const later = Date.now() + HOUR - 29_000
    vi.spyOn(Date, 'now').mockReturnValue(later)
    await query({ query: '{a}' })
    expect(token).toHaveBeenCalledTimes(2)
  })

  test('that looks expired when it comes, as by a fast clock, is used until it is refused', async () => {
    const expired = () => ({ token: `t${++tokens}`, expiresAt: new Date(Date.now() - HOUR).toISOString() })
    answers = [json(200, {}), json(200, {}), json(401, {}), json(200, {})]
    const { query } = client({ token: expired })
    for (let n = 0; n < 4; n++) await query({ query: '{ a }' })
    expect(asked.map(({ token }) => token)).toEqual(['t1', 't1', 't1', 't2', 't2'])
  })

  test('whose request fails rejects that query, and is asked for again by the next', async () => {
    answers = [json(200, { data: {} })]
    const token = vi.fn(() => ({ token: 't', expiresAt: new Date(Date.now() + HOUR).toISOString() }))
    token.mockRejectedValueOnce(new Error('no backend'))
    const { query } = client({ token })
    await expect(query({ query: '{a}' })).rejects.toThrow('the token route failed: Error: no backend')
    await expect(query({ query: '{a}' })).resolves.toEqual({ data: {} })
  })
})

test('a query with errors is answered with them, whatever the status; a page of a proxy rejects', async () => {
  quickWaits()
  const errors = [{ message: 'no', extensions: { code: 'not_found' } }]
  answers = [
    json(404, { errors, data: null }),
    (response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502</h1>'),
  ]
  const { query } = client()
  expect(await query({ query: '{a}' })).toEqual({ errors, data: null })
  await expect(query({ query: '{a}' })).rejects.toThrow('502')
  expect(asked).toHaveLength(1 + 5)
})

describe('while the service does not answer', () => {
  const lost = (response: ServerResponse): void => void response.destroy()
  const proxys = (status: number) => (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>busy</h1>')
  const FAILURES = [lost, proxys(502), json(503, { errors: [{ message: 'not yet' }] }), proxys(504)]
  const data = { a: 1 }
  const key = { 'Idempotency-Key': 'once' }
  const MUTATION: GraphqlRequest = { query: 'mutation { a }', headers: key }
  let waits: number[]
  beforeEach(() => void (waits = quickWaits()))

  test.each<[string, GraphqlRequest]>([
    ['a query', { query: '{a}' }],
    ['a query by its id', { documentId: 'a', kind: 'query' }],
    ['a mutation with an Idempotency-Key', MUTATION],
  ])('%s is sent again', async (_name, request) => {
    answers = [...FAILURES, json(200, { data })]
    expect(await client().query(request)).toEqual({ data })
    expect(asked).toHaveLength(5)
    for (const { body } of asked) expect(body).not.toHaveProperty('kind')
  })

  test.each<[string, GraphqlRequest]>([
    ['a mutation', { query: 'mutation { a }' }],
    ['a mutation among others', { query: 'query Q { a } mutation M { a }', operationName: 'M' }],
    ['a document that only its id names', { documentId: 'a' }],
    ['a mutation by its id', { documentId: 'a', kind: 'mutation' }],
  ])('%s is not', async (_name, request) => {
    answers = [lost, json(200, { data })]
    await expect(client().query(request)).rejects.toThrow(TypeError)
    expect(asked).toHaveLength(1)
  })

  test('other refusals are answered at once', async () => {
    for (const status of [400, 403, 404, 429, 500]) {
      asked = []
      answers = [json(status, { errors: [{ message: 'no' }] })]
      await client().query({ query: '{a}' })
      expect(asked).toHaveLength(1)
    }
  })

  test.each([0, 0.3, 0.999])('waits are at least half of each step, with a chance of %f', async (chance) => {
    vi.spyOn(Math, 'random').mockReturnValue(chance)
    answers = [lost]
    await expect(client().query({ query: '{a}' })).rejects.toThrow(TypeError)
    expect(waits).toEqual([500, 1000, 2000, 4000].map((least) => least * (1 + chance)))
  })

  test.each([0, 0.3, 0.999])('waits for as long as Retry-After says, with a chance of %f', async (chance) => {
    vi.spyOn(Math, 'random').mockReturnValue(chance)
    const after = (value: string) => json(503, {}, { 'retry-after': value })
    answers = [after('3'), after('1.5'), after('600'), after('Wed, 21 Oct 2026 07:28:00 GMT'), json(200, { data })]
    expect(await client().query({ query: '{a}' })).toEqual({ data })
    const steps = [500, 1000, 2000, 4000].map((least) => least * (1 + chance))
    expect(waits).toEqual([3000, 1500, 8000, 0].map((ms, index) => ms + (steps[index] ?? 0)))
  })

  test.each([
    ['as a problem document', { code: 'idempotency_in_progress' }],
    ['as an error of GraphQL', { errors: [{ message: 'busy', extensions: { code: 'idempotency_in_progress' } }] }],
  ])('a mutation whose first try is still at work, told %s, is sent until that has an answer', async (_name, busy) => {
    answers = [lost, json(409, busy, { 'retry-after': '1' }), json(409, busy), json(200, { data })]
    expect(await client().query(MUTATION)).toEqual({ data })
    expect(waits).toEqual([505, 1000 + 1010, 2020])
    // To the last try.
    answers = [json(409, busy)]
    expect(await client().query(MUTATION)).toEqual(busy)
  })

  test('a conflict of another kind is answered at once', async () => {
    const conflict = { errors: [{ message: 'no', extensions: { code: 'idempotency_conflict' } }] }
    answers = [json(409, conflict), json(200, { data })]
    expect(await client().query(MUTATION)).toEqual(conflict)
  })

  test('an answer that breaks off is asked for again', async () => {
    const partly = (response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"data"')
      setImmediate(() => response.destroy())
    }
    answers = [partly, json(200, { data })]
    expect(await client().query({ query: '{a}' })).toEqual({ data })
  })

  test('events do not wait for a query that waits for its next try, but for that try', async () => {
    vi.restoreAllMocks()
    let goOn: (() => void) | undefined
    const setTimer = globalThis.setTimeout
    vi.spyOn(globalThis, 'setTimeout').mockImplementation((action: () => void, ms = 0, ...given: []) => {
      if (ms < 400 || ms > 1000 || given.length > 0) return setTimer(action, ms, ...given)
      goOn = action
      return setTimer(() => undefined, 0)
    })
    const order: string[] = []
    let tell: (text: string) => unknown = () => undefined
    let refuseQuery: () => void = () => undefined
    let answerQuery: () => void = () => undefined
    answers = [
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
        tell = (text) => response.write(text)
      },
      (response) => (refuseQuery = () => json(503, {})(response)),
      (response) => (answerQuery = () => json(200, { data })(response)),
    ]
    const own = client()
    const end = own.subscribe<{ discussionEvents: { seq: number } }>(REQUEST, {
      next: (event) => order.push(`event ${event.data?.discussionEvents.seq}`),
      error: onError,
      complete: () => undefined,
    })
    ended.push(end)
    await vi.waitFor(() => expect(asked).toHaveLength(1))
    own.query({ query: '{a}' }).then(() => order.push('answer'), onError)
    await vi.waitFor(() => expect(asked).toHaveLength(2))
    // It comes during the first try, which then fails.
    tell(frame(1))
    await pause(20)
    expect(order).toEqual([])
    refuseQuery()
    await vi.waitFor(() => expect(order).toEqual(['event 1']))
    tell(frame(2))
    await vi.waitFor(() => expect(order).toEqual(['event 1', 'event 2']))
    goOn?.()
    await vi.waitFor(() => expect(asked).toHaveLength(3))
    tell(frame(3))
    await pause(20)
    expect(order).toEqual(['event 1', 'event 2'])
    answerQuery()
    await vi.waitFor(() => expect(order).toEqual(['event 1', 'event 2', 'answer', 'event 3']))
  })

  test('a query that was given up during its try is not sent again; no listener is left at its signal', async () => {
    const busy = () => new Response(null, { status: 503 })
    const control = new AbortController()
    const [adds, removes] = (['addEventListener', 'removeEventListener'] as const).map((name) =>
      vi.spyOn(control.signal, name),
    )
    const send = vi.fn<typeof fetch>(() => Promise.resolve(busy()))
    const { query } = client({ fetch: send })
    await expect(query({ query: '{a}' }, control.signal)).rejects.toThrow('503')
    expect([adds?.mock.calls.length, removes?.mock.calls]).toEqual([4, adds?.mock.calls])
    send.mockClear()
    send.mockImplementation(() => (control.abort(new Error('left')), Promise.resolve(busy())))
    await expect(query({ query: '{a}' }, control.signal)).rejects.toThrow('left')
    expect([send.mock.calls.length, removes?.mock.calls]).toEqual([1, adds?.mock.calls])
  })

  test('a query that is given up is not sent again', async () => {
    vi.restoreAllMocks()
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const control = new AbortController()
    answers = [
      (response) => (lost(response), setImmediate(() => control.abort(new Error('left')))),
      json(200, { data }),
    ]
    await expect(client().query({ query: '{a}' }, control.signal)).rejects.toThrow(/left|abort/)
    expect(asked).toHaveLength(1)
  })
})

test('a request may have headers of its own, which are no part of its body', async () => {
  answers = [json(200, { data: {} })]
  await client().query({ query: '{a}', headers: { 'Idempotency-Key': 'once' } })
  expect(asked.map(({ headers, body }) => [headers['idempotency-key'], body])).toEqual([['once', { query: '{a}' }]])
})

describe('a subscription', () => {
  test('whose token is about to expire connects again with a new one, without an error', async () => {
    let beat: () => unknown = () => undefined
    answers = [
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frame(1))
        beat = () => response.write(':\n\n')
      },
      stream(frame(2), { stays: true }),
    ]
    const got = follow()
    await vi.waitFor(() => expect(got.seqs).toEqual([1]))
    const later = Date.now() + HOUR - 29_000
    vi.spyOn(Date, 'now').mockReturnValue(later)
    beat()
    await vi.waitFor(() => expect(got.seqs).toEqual([1, 2]))
    expect(asked.map(({ token }) => token)).toEqual(['t1', 't2'])
    expect(onError).not.toHaveBeenCalled()
  })

  test('goes on after its last event, and drops what it has had', async () => {
    answers = [
      stream(frame(1) + frame(2)),
      stream(frame(2) + frame(3)),
      json(503, {}, { 'retry-after': '0' }),
      stream(`:\n\n${frame(4)}`, { stays: true }),
    ]
    const got = follow()
    await vi.waitFor(() => expect(got.seqs).toEqual([1, 2, 3, 4]))
    expect(positions()).toEqual(['0', '2', '3', '3'])
    expect([got.ends, onError.mock.calls.length]).toEqual([[], 3])
  })

  test('goes on after a position that a comment tells', async () => {
    answers = [stream(`${frame(5)}:\n\n:seq: 9\n\n`), stream(`:seq: 8\n\n${frame(10)}`, { stays: true })]
    const followed = follow()
    await vi.waitFor(() => expect(followed.seqs).toEqual([5, 10]))
    expect(positions()).toEqual(['0', '9'])
  })

  test('gets each event once and in order, wherever its connections break', async () => {
    const at = fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 50 })), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(at, async (breaks) => {
        asked = []
        const all = [1, 2, 3, 4, 5]
        const from = ({ body }: Asked) => all.filter((seq) => seq > Number(body.variables?.lastEventId))
        const rest = (request: Asked): string =>
          from(request)
            .map((seq) => frame(seq))
            .join('')
        answers = [
          ...breaks.map(([length, size]) => (response: ServerResponse, request: Asked) => {
            const cut = Buffer.from(rest(request)).subarray(0, length)
            response.writeHead(200)
            for (let n = 0; n < cut.length; n += size) response.write(cut.subarray(n, n + size))
            setTimeout(() => response.destroy(), 1)
          }),
          (response, request) => void stream(rest(request), { stays: true })(response),
        ]
        vi.spyOn(Math, 'random').mockReturnValue(0)
        const got = follow()
        await vi.waitFor(() => expect(got.seqs).toEqual(all))
        got.end()
      }),
      { numRuns: 30 },
    )
  })

  test('gets texts with any character, also those that end a line in JavaScript', async () => {
    const text = 'a\u2028event: complete\u2029data: b\u0085\\n\r\n\n'
    answers = [stream(frame(6, text), { stays: true })]
    const followed = client().iterate(REQUEST)
    const { value } = await followed.next()
    expect(value).toEqual({ data: { discussionEvents: { seq: 6, text } } })
    await followed.return()
    expect(onError).not.toHaveBeenCalled()
  })

  test('waits ever longer, 10 s at most, for a service that breaks off before its first event', async () => {
    const waits: number[] = []
    vi.spyOn(Math, 'random').mockImplementation(() => 0.001)
    const setTimer = globalThis.setTimeout
    vi.spyOn(globalThis, 'setTimeout').mockImplementation((action: () => void, ms?: number) => {
      if (ms !== undefined && ms > 0 && ms < 20) waits.push(ms)
      return setTimer(action, ms)
    })
    answers = [stream(':\n\n')]
    const stop = client().subscribe(REQUEST, { next: vi.fn(), error: vi.fn(), complete: vi.fn() })
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(6))
    stop()
    expect(waits.slice(0, 6)).toEqual([1, 2, 4, 8, 10, 10])
  })

  test('ends with `complete`, after the result that says why', async () => {
    const result = { errors: [{ message: 'gone', extensions: { code: 'not_found' } }] }
    answers = [stream(`event: next\ndata: ${JSON.stringify(result)}\n\n${COMPLETE}`)]
    const got = follow()
    await vi.waitFor(() => expect(got.ends).toEqual(['complete']))
    expect(got.results).toEqual([result])
    expect(await askedAtLast()).toHaveLength(1)
  })

  test.each([400, 403, 404, 422])('that is refused with %i ends with that error', async (status) => {
    answers = [json(status, { code: 'no' })]
    const got = follow()
    await vi.waitFor(() =>
      expect(got.ends).toEqual([expect.objectContaining({ message: `status ${status}: {"code":"no"}` })]),
    )
    expect(await askedAtLast()).toHaveLength(1)
  })

  test.each([401, 429, 500, 502])('that is refused with %i tries again', async (status) => {
    answers = [json(status, {}), json(status, {}), stream(frame(1), { stays: true })]
    const got = follow()
    await vi.waitFor(() => expect(got.seqs).toEqual([1]))
    expect(got.ends).toEqual([])
  })

  test('waits as long as Retry-After says', async () => {
    answers = [json(429, {}, { 'retry-after': '1' }), stream(frame(1), { stays: true })]
    const waits: number[] = []
    const setTimer = globalThis.setTimeout
    vi.spyOn(globalThis, 'setTimeout').mockImplementation((action: () => void, ms = 0) => {
      const isWait = ms >= 1000 && ms < 2000
      if (isWait) waits.push(ms)
      return setTimer(action, isWait ? 0 : ms)
    })
    const got = follow()
    await vi.waitFor(() => expect(got.seqs).toEqual([1]))
    // With the back-off.
    expect(waits).toEqual([1010])
  })

  test('whose position is too old goes on from what the page has loaded again', async () => {
    const errors = [{ message: 'old', extensions: { code: 'validation_failed', errors: [{ code: 'not_replayable' }] } }]
    const tooOld = `event: next\ndata: ${JSON.stringify({ errors })}\n\n${COMPLETE}`
    answers = [stream(tooOld), stream(frame(8), { stays: true })]
    const reload = vi.fn(() => Promise.resolve('7'))
    const got = follow({ reload })
    await vi.waitFor(() => expect(got.seqs).toEqual([8]))
    expect([positions(), reload.mock.calls, got.ends]).toEqual([['0', '7'], [[REQUEST]], []])
  })

  test('whose position is too old ends with that error where nothing can load the page again', async () => {
    const errors = [{ message: 'old', extensions: { errors: [{ code: 'not_replayable' }] } }]
    answers = [stream(`event: next\ndata: ${JSON.stringify({ errors })}\n\n${COMPLETE}`)]
    const got = follow()
    await vi.waitFor(() => expect(got.ends).toEqual(['complete']))
    expect(got.results).toEqual([{ errors }])
  })

  test.each([
    ['a silence in which a heartbeat was due', 0, 74_000, 6000],
    ['the sleep of a machine, whose timers stood still', HOUR, 0, 5000],
  ])('connects again after %s', async (_what, sleepMs, patienceMs, restMs) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
    try {
      answers = [stream(frame(1), { stays: true }), stream(frame(2), { stays: true })]
      const got = follow()
      await vi.waitFor(() => expect(got.seqs).toEqual([1]))
      await vi.advanceTimersByTimeAsync(patienceMs)
      expect(asked).toHaveLength(1)
      vi.setSystemTime(Date.now() + sleepMs)
      await vi.advanceTimersByTimeAsync(restMs)
      await vi.waitFor(() => expect(got.seqs).toEqual([1, 2]))
    } finally {
      vi.useRealTimers()
    }
  })

  test('connects again where the page has a network again, until it is ended', async () => {
    const page = new EventTarget()
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    try {
      answers = [stream(frame(1), { stays: true }), stream(frame(2), { stays: true })]
      const got = follow()
      await vi.waitFor(() => expect(got.seqs).toEqual([1]))
      page.dispatchEvent(new Event('online'))
      await vi.waitFor(() => expect(got.seqs).toEqual([1, 2]))
      expect(positions()).toEqual(['0', '1'])
      got.end()
      page.dispatchEvent(new Event('online'))
      expect([(await askedAtLast()).length, got.ends]).toEqual([2, []])
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test.each(['throws', 'rejects'] as const)('goes on after a callback that %s, which is reported', async (how) => {
    const fail = FAILS[how]
    answers = [stream(frame(1) + frame(2), { stays: true })]
    const seqs: number[] = []
    const end = client().subscribe<{ discussionEvents: { seq: number } }>(REQUEST, {
      next: ({ data }) => {
        seqs.push(data?.discussionEvents.seq ?? 0)
        return fail('the page failed')
      },
      error: () => undefined,
      complete: () => undefined,
    })
    ended.push(end)
    await vi.waitFor(() => expect(seqs).toEqual([1, 2]))
    await vi.waitFor(() => expect(onError).toHaveBeenCalledTimes(2))
    expect(onError.mock.calls.map(([error]) => String(error))).toEqual(Array(2).fill('Error: the page failed'))
  })

  test('gives an event after the answers that were awaited when it came', async () => {
    const order: string[] = []
    let answerQuery: () => void = () => undefined
    answers = [
      (response) => (answerQuery = () => json(200, { data: null })(response)),
      stream(frame(1), { stays: true }),
    ]
    const own = client()
    own.query({ query: '{ viewer { id } }' }).then(() => order.push('answer'), onError)
    await vi.waitFor(() => expect(asked).toHaveLength(1))
    const end = own.subscribe(REQUEST, { next: () => order.push('event'), error: onError, complete: () => undefined })
    ended.push(end)
    await vi.waitFor(() => expect(asked).toHaveLength(2))
    await pause(20)
    answerQuery()
    await vi.waitFor(() => expect(order).toEqual(['answer', 'event']))
  })

  test('gives an event after an answer that comes at the same time', async () => {
    // So many turns of the microtask queue apart.
    for (const [turns, isEventFirst] of Array.from({ length: 40 }, (_, n) => [n >> 1, n % 2 === 1] as const)) {
      const order: string[] = []
      let give: (body: object) => void = () => undefined
      let events: ReadableStreamDefaultController<Uint8Array> | undefined
      const fake = async (input: unknown): Promise<Response> => {
        const isStream = String(input).endsWith('/stream')
        const body = new ReadableStream<Uint8Array>({ start: (made) => void (isStream && (events = made)) })
        const response = new Response(body, { headers: { 'content-type': 'application/json' } })
        return isStream ? response : Object.assign(response, { json: () => new Promise((settle) => (give = settle)) })
      }
      const own = client({ fetch: fake })
      const end = own.subscribe(REQUEST, { next: () => order.push('event'), error: onError, complete: vi.fn() })
      // As a page does that awaits it in a function of its own.
      const load = async (): Promise<unknown> => own.query({ query: '{ viewer { id } }' })
      void load().then(() => order.push('answer'))
      await pause(0)
      const deliver = [() => give({ data: null }), () => events?.enqueue(Buffer.from(frame(1)))]
      if (isEventFirst) deliver.reverse()
      deliver[0]?.()
      for (let n = 0; n < turns; n++) await Promise.resolve()
      deliver[1]?.()
      await vi.waitFor(
        () => expect([turns, isEventFirst, ...order]).toEqual([turns, isEventFirst, 'answer', 'event']),
        {
          interval: 1,
        },
      )
      end()
      events?.close()
    }
  })

  test('that is ended tells nothing more, and closes its connection', async () => {
    let isClosed = false
    answers = [
      (response) => {
        response.on('close', () => (isClosed = true))
        void stream(frame(1), { stays: true })(response)
      },
    ]
    const got = follow()
    await vi.waitFor(() => expect(got.seqs).toEqual([1]))
    got.end()
    await vi.waitFor(() => expect(isClosed).toBe(true))
    expect([(await askedAtLast()).length, got.ends, onError.mock.calls]).toEqual([1, [], []])
  })
})

test('an iteration gives each result, and ends its subscription when it is left', async () => {
  answers = [stream(frame(1) + frame(2)), stream(frame(3), { stays: true })]
  const seqs: number[] = []
  for await (const { data } of client().iterate<{ discussionEvents: { seq: number } }>(REQUEST)) {
    if (seqs.push(data?.discussionEvents.seq ?? 0) === 3) break
  }
  expect(seqs).toEqual([1, 2, 3])
  answers = [json(403, {})]
  await expect(client().iterate(REQUEST).next()).rejects.toThrow('status 403')
})

describe('tabs that share', () => {
  const names: string[] = []
  let hear: ((message: { data: object }) => void) | undefined
  class Channel {
    constructor(name: string) {
      names.push(name)
    }
    addEventListener(_name: string, listener: typeof hear) {
      hear = listener
    }
    postMessage() {}
    close() {}
  }
  beforeEach(() => {
    names.splice(0)
    hear = undefined
    vi.stubGlobal('BroadcastChannel', Channel)
    vi.stubGlobal('navigator', { locks: { request: () => new Promise(() => undefined) } })
  })
  afterEach(() => vi.unstubAllGlobals())

  test('are those of one reader', async () => {
    answers = [stream(frame(6), { stays: true })]
    const expiresAt = new Date(Date.now() + HOUR).toISOString()
    const tabs: Partial<GraphqlClientOptions>[] = [
      ...['a', 'a', 'b'].map((token) => ({ token: undefined, headers: { authorization: `Bearer ${token}` } })),
      ...['c', 'c', null].map((readerId) => ({ token: () => ({ token: 't', expiresAt, readerId }) })),
    ]
    for (const tab of tabs) follow({ share: true, ...tab })
    await vi.waitFor(() => expect(names).toHaveLength(6))
    expect(new Set(names).size).toBe(4)
    // Who the reader is, is not known.
    const alone = follow({ share: true })
    await vi.waitFor(() => expect(alone.seqs).toEqual([6]))
    expect(names).toHaveLength(6)
  })

  test.each(['throws', 'rejects'] as const)(
    'give later events after a callback and an `onError` that %s',
    async (how) => {
      const expiresAt = new Date(Date.now() + HOUR).toISOString()
      const token = () => ({ token: 't', expiresAt, readerId: null })
      const next = vi.fn(() => FAILS[how]('the page failed'))
      const fails = vi.fn(() => FAILS[how]('the handler failed'))
      const page = client({ share: true, token, onError: fails })
      ended.push(page.subscribe(REQUEST, { next, error: vi.fn(), complete: vi.fn() }))
      await vi.waitFor(() => expect(hear).toBeDefined())
      for (const [before, seq] of [
        [0, 6],
        [6, 7],
      ])
        hear?.({ data: { state: 'open', before, event: { data: { discussionEvents: { seq } } } } })
      await vi.waitFor(() => expect(next).toHaveBeenCalledTimes(2))
      expect(fails).toHaveBeenCalledTimes(2)
    },
  )

  test('give an event of another tab after the answers that the page awaits', async () => {
    let answerQuery: () => void = () => undefined
    answers = [(response) => (answerQuery = () => json(200, { data: {} })(response))]
    const told: string[] = []
    const expiresAt = new Date(Date.now() + HOUR).toISOString()
    const page = client({ share: true, token: () => ({ token: 't', expiresAt, readerId: null }) })
    const next = vi.fn(() => told.push('event'))
    ended.push(page.subscribe(REQUEST, { next, error: vi.fn(), complete: vi.fn() }))
    await vi.waitFor(() => expect(hear).toBeDefined())
    const isAnswered = page.query({ query: '{ a }' }).then(() => told.push('answer'))
    hear?.({ data: { state: 'open', before: 0, event: { data: { discussionEvents: { seq: 6 } } } } })
    await vi.waitFor(() => expect(asked).toHaveLength(1))
    answerQuery()
    await isAnswered
    await vi.waitFor(() => expect(next).toHaveBeenCalled())
    expect(told).toEqual(['answer', 'event'])
  })
})
