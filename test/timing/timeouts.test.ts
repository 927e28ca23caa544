import { connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { hubOf } from '../../src/live/hub.ts'
import { makeTlsSettings } from '../harness/certificates.ts'
import { type Drip, drip } from '../harness/drips.ts'
import { type TestService, useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'

const TIMES = {
  HEADERS_TIMEOUT_SECONDS: '0.5',
  REQUEST_TIMEOUT_SECONDS: '1',
  RESPONSE_TIMEOUT_SECONDS: '1',
  STREAM_HEARTBEAT_SECONDS: '0.2',
}
const WAIT = { timeout: 20_000, interval: 20 }
const NORMAL = 50

/** A request that waits for slow clients takes as long as the shortest of the times above. */
const SLOW_MS = 500

/** The frames with which HTTP/2 begins: the preface, and empty settings. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1')
const frame = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
const HEADERS = 1
const PING = 6
/** `:method POST`, `:scheme https`, `:path /` and `:authority a` as HPACK has them. */
const POST = Buffer.from([0x83, 0x87, 0x84, 0x41, 0x01, 0x61])

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

/** The times of normal requests, one after the other; each must succeed. */
async function normalMs(service: TestService): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < NORMAL; n++) {
    const begunAt = performance.now()
    expect((await service.call('GET', '/discussions')).status).toBe(200)
    times.push(performance.now() - begunAt)
  }
  return times
}

const portOf = (service: TestService): number => service.app.settings.PORT

describe('over HTTP/1.1', () => {
  const service = useService({ env: TIMES })
  let discussionId: string
  const drips: Drip[] = []

  beforeAll(async () => {
    discussionId = (await service.call('POST', '/discussions', { body: { externalId: 'a' } })).json.id
  })
  afterEach(() => {
    vi.restoreAllMocks()
    drips.splice(0).forEach((one) => one.close())
  })

  const start = (options: Omit<Parameters<typeof drip>[0], 'port'>): Drip => {
    const one = drip({ port: portOf(service), ...options })
    drips.push(one)
    return one
  }
  const postHead = (headers = ''): string =>
    `POST /api/v1/discussions HTTP/1.1\r\nHost: a\r\nX-API-Key: ${service.apiKey}\r\nContent-Type: application/json\r\n${headers}`

  test('300 slow connections all end, and other requests are as fast as before', async () => {
    const before = await normalMs(service)
    const kinds = [
      { head: 'GET /healthz HTTP/1.1\r\nX-Drip: ', drop: 'a' },
      { head: `${postHead('Content-Length: 100000\r\n\r\n')}{"externalId":"`, drop: 'a' },
      { head: postHead('Transfer-Encoding: chunked\r\nX-Drip: a\r\n\r\n'), drop: '1\r\n \r\n' },
    ]
    const all = Array.from({ length: 300 }, (_, n) => start({ ...kinds[n % 3], everyMs: 200 }))
    const meanwhile = await normalMs(service)
    await Promise.all(all.map(({ closed }) => closed))
    await vi.waitFor(() => expect(all.filter(({ localPort }) => service.peers().has(localPort))).toEqual([]), WAIT)
    expect(median(meanwhile)).toBeLessThan(Math.max(10 * median(before), SLOW_MS / 2))
  })

  test.each([
    ['headers', 'GET /healthz HTTP/1.1\r\nX-Drip: '],
    ['a body', () => `${postHead('Content-Length: 100000\r\n\r\n')}{"externalId":"`],
  ])('slow %s are answered with 408 as a problem document, and not logged', async (_what, head) => {
    const told = ['warn', 'error'].map((level) => vi.spyOn(service.app.log, level as 'warn' | 'error'))
    const one = start({ head: typeof head === 'string' ? head : head(), drop: 'a' })
    await one.closed
    const [first = '', body = ''] = one.text.split('\r\n\r\n')
    expect(first).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/)
    expect(first).toContain('Content-Type: application/problem+json')
    expect(JSON.parse(body)).toMatchObject({ status: 408, code: 'request_timeout' })
    for (const spy of told) expect(spy).not.toHaveBeenCalled()
  })

  test('a connection that never sends anything is closed without an answer', async () => {
    const one = start({})
    await one.closed
    await vi.waitFor(() => expect(service.peers()).not.toContain(one.localPort), WAIT)
    expect(one.text).toBe('')
  })

  test('a client that never reads a long answer is cut off', async () => {
    const get = 'GET /docs/reference/graphql HTTP/1.1\r\nHost: a\r\n\r\n'
    const socket = connect(portOf(service), '127.0.0.1', () => socket.write(get.repeat(20)))
    socket.on('error', () => undefined).pause()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await vi.waitFor(() => expect(service.peers()).toContain(socket.localPort), WAIT)
    // A paused socket hears of its end only when it reads.
    await vi.waitFor(() => expect(service.peers()).not.toContain(socket.localPort), WAIT)
    socket.resume()
    await closed
  })

  test('a slow upload of the largest body succeeds if it is complete in time', async () => {
    const body = JSON.stringify({ externalId: 'slow', title: 'a', pad: 'x'.repeat(250 * 1024) })
    const socket = connect(portOf(service), '127.0.0.1')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.write(postHead(`Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`))
    for (let n = 0; n < 5; n++) {
      socket.write(body.slice((n * body.length) / 5, ((n + 1) * body.length) / 5))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await closed
    // It is read to its end: only then it shows that there is a field too many.
    expect(text).toMatch(/^HTTP\/1.1 422 /)
  })

  test('a client that disconnects within its body leaves nothing behind, and no error in the log', async () => {
    const told = ['warn', 'error'].map((level) => vi.spyOn(service.app.log, level as 'warn' | 'error'))
    const body = '{"externalId":"half"}'
    const gone = Array.from({ length: 5 }, () => start({ head: `${postHead('Content-Length: 500\r\n\r\n')}${body}` }))
    await vi.waitFor(() => gone.forEach(({ localPort }) => expect(service.peers()).toContain(localPort)), WAIT)
    await service.call('GET', '/discussions')
    const ports = gone.map(({ localPort }) => localPort)
    gone.forEach((one) => one.close())
    await vi.waitFor(() => expect(ports.filter((port) => service.peers().has(port))).toEqual([]), WAIT)
    expect((await service.call('GET', '/discussions/by-external/half')).status).toBe(404)
    for (const spy of told) expect(spy).not.toHaveBeenCalled()
  })

  test('streams outlast all deadlines, and their clients may disconnect without an error in the log', async () => {
    const told = ['warn', 'error'].map((level) => vi.spyOn(service.app.log, level as 'warn' | 'error'))
    const stream = await openStream(`${service.url}/api/v1/stream/${discussionId}`, { 'x-api-key': service.apiKey })
    const abort = new AbortController()
    const subscription = await fetch(`${service.url}/graphql/stream`, {
      method: 'POST',
      signal: abort.signal,
      headers: { 'x-api-key': service.apiKey, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ query: `subscription { discussionEvents(discussionId: "${discussionId}") { seq } }` }),
    })
    const reserved = await fetch(`${service.url}/graphql/stream`, {
      method: 'PUT',
      headers: { 'x-api-key': service.apiKey },
    })
    const single = await openStream(`${service.url}/graphql/stream?token=${await reserved.text()}`, {
      'x-api-key': service.apiKey,
      accept: 'text/event-stream',
    })
    // Longer than any of the times.
    await vi.waitFor(() => expect(stream.comments).toBeGreaterThanOrEqual(8), WAIT)
    expect([stream.closed, single.closed, subscription.bodyUsed]).toEqual([false, false, false])
    stream.close()
    single.close()
    abort.abort()
    await vi.waitFor(() => expect(hubOf(service.app).sessions.size).toBe(0), WAIT)
    for (const spy of told) expect(spy).not.toHaveBeenCalled()
  })
})

describe('over TLS', () => {
  const { ca, env, remove } = makeTlsSettings()
  const service = useService({ env: { ...TIMES, ...env } })
  let discussionId: string
  const drips: Drip[] = []

  beforeAll(async () => {
    discussionId = await newDiscussion('a')
  })
  afterAll(async () => {
    remove()
  })
  afterEach(() => {
    vi.restoreAllMocks()
    drips.splice(0).forEach((one) => one.close())
  })

  const CREATE = { ':method': 'POST', ':path': '/api/v1/discussions', 'content-type': 'application/json' }
  const open = () => connectHttp2(`https://127.0.0.1:${portOf(service)}`, { ca })
  const beginPost = (session: ReturnType<typeof open>) => session.request({ ...CREATE, 'x-api-key': service.apiKey })

  interface Answer {
    status: number
    text: string
  }

  function ask(session: ReturnType<typeof open>, headers: Record<string, string>, body = ''): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = session.request({ 'x-api-key': service.apiKey, ...headers }, { endStream: body === '' })
      let [status, text] = [0, '']
      request.on('response', (given) => (status = Number(given[':status'])))
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      request.on('close', () => resolve({ status, text })).on('error', reject)
      if (body !== '') request.end(body)
    })
  }

  async function newDiscussion(externalId: string): Promise<string> {
    const session = open()
    const { text } = await ask(session, CREATE, JSON.stringify({ externalId }))
    session.close()
    return JSON.parse(text).id as string
  }

  async function normalHttp2Ms(): Promise<number[]> {
    const session = open()
    const times: number[] = []
    for (let n = 0; n < NORMAL; n++) {
      const begunAt = performance.now()
      expect((await ask(session, { ':path': '/api/v1/discussions' })).status).toBe(200)
      times.push(performance.now() - begunAt)
    }
    session.close()
    return times
  }

  test('slow handshakes, prefaces, headers, pings and bodies all end, and other requests are as fast', async () => {
    const before = await normalHttp2Ms()
    const ping = frame(PING, 0, 0, Buffer.alloc(8))
    const kinds: Omit<Parameters<typeof drip>[0], 'port'>[] = [
      // The first bytes of a ClientHello of 512.
      { head: Buffer.from([22, 3, 1, 2, 0]), drop: 'a' },
      { alpn: 'h2', head: PREFACE.subarray(0, 10) },
      { alpn: 'h2', head: PREFACE, drop: ping },
      // Headers without END_HEADERS, and a continuation that comes byte by byte.
      {
        alpn: 'h2',
        head: Buffer.concat([PREFACE, frame(HEADERS, 0, 1, POST), Buffer.from([0, 0x40, 0, 9, 0, 0, 0, 0, 1])]),
        drop: '@',
      },
      // A request whose body comes byte by byte.
      {
        alpn: 'h2',
        head: Buffer.concat([PREFACE, frame(HEADERS, 4, 1, POST)]),
        drop: frame(0, 0, 1, Buffer.from(' ')),
      },
      { alpn: 'http/1.1', head: 'GET / HTTP/1.1\r\nX-Drip: ', drop: 'a' },
    ]
    const all = Array.from({ length: 60 }, (_, n) => {
      const one = drip({ port: portOf(service), everyMs: 200, ...kinds[n % kinds.length] })
      drips.push(one)
      return one
    })
    const meanwhile = await normalHttp2Ms()
    const waiting = () => all.flatMap(({ localPort }, n) => (service.peers().has(localPort) ? [n % kinds.length] : []))
    await vi.waitFor(() => expect(waiting()).toEqual([]), WAIT)
    expect(median(meanwhile)).toBeLessThan(Math.max(10 * median(before), SLOW_MS / 2))
  })

  test('a slow body is answered with 408 as a problem document, and is not taken for complete', async () => {
    const session = open()
    const request = beginPost(session)
    request.write('{"externalId":"dripped"}')
    const dripping = setInterval(() => request.write(' '), 100)
    let [status, text] = [0, '']
    request.on('response', (given) => (status = Number(given[':status'])))
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    await new Promise((resolve) => request.once('close', resolve).once('error', resolve))
    clearInterval(dripping)
    expect(status).toBe(408)
    expect(JSON.parse(text)).toMatchObject({ code: 'request_timeout' })
    expect((await ask(session, { ':path': '/api/v1/discussions/by-external/dripped' })).status).toBe(404)
    session.close()
  })

  test('a client that resets its request leaves nothing behind, and no error in the log', async () => {
    const told = ['warn', 'error'].map((level) => vi.spyOn(service.app.log, level as 'warn' | 'error'))
    const session = open()
    const request = beginPost(session)
    request.on('error', () => undefined)
    await new Promise((resolve) => request.write('{"externalId":"reset"}', resolve))
    // The server has read it once it has answered what came after.
    await ask(session, { ':path': '/healthz' })
    request.close(constants.NGHTTP2_CANCEL)
    await ask(session, { ':path': '/healthz' })
    expect((await ask(session, { ':path': '/api/v1/discussions/by-external/reset' })).status).toBe(404)
    for (const spy of told) expect(spy).not.toHaveBeenCalled()
    session.close()
  })

  test('a client that never reads a long answer is cut off, and its connection stays', async () => {
    const session = open()
    const request = session.request({ ':path': '/docs/reference/graphql' })
    request.pause()
    request.on('error', () => undefined)
    const closed = new Promise((resolve) => request.once('aborted', resolve).once('close', resolve))
    await closed
    expect(request.rstCode).toBe(constants.NGHTTP2_CANCEL)
    expect((await ask(session, { ':path': '/healthz' })).status).toBe(200)
    session.close()
  })

  test('a stream outlasts all deadlines', async () => {
    const session = open()
    const request = session.request({ ':path': `/api/v1/stream/${discussionId}`, 'x-api-key': service.apiKey })
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    await vi.waitFor(() => expect(text.split('\n:').length).toBeGreaterThanOrEqual(8), WAIT)
    expect(request.closed).toBe(false)
    request.close()
    session.close()
  })

  test('a connection has at most 100 requests under way', async () => {
    const session = open()
    await new Promise((resolve) => session.once('remoteSettings', resolve))
    expect(session.remoteSettings.maxConcurrentStreams).toBe(100)
    session.close()
  })
})
