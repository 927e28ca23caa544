import { createSocket, type Socket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import type { ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { startDeliveries } from '../../src/worker/deliveries.ts'
import { startHandshakes } from '../../src/worker/handshakes.ts'
import { openOutbound } from '../../src/outbound/outbound.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type Receiver, reply, startReceiver } from '../harness/receiver.ts'
import { startService, type TestService } from '../harness/service.ts'

let receiver: Receiver
let service: TestService
/** Without a worker. */
let quiet: TestService
let path: string
let counter = 0

const WAIT = { timeout: 30_000, interval: 20 }
/**
 * For an attempt that must time out: longer than the machine may stall, or no head would be read.
 */
const TIMEOUT_MS = 2500
/** For an attempt that its receiver ends. */
const LONG_MS = 30_000

beforeAll(async () => {
  receiver = await startReceiver()
  const env = { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_POLL_SECONDS: '0.05' }
  service = await startService({ env })
  quiet = await startService({ env, worker: false })
  for (const each of [service, quiet]) await each.call('PATCH', '/settings', { body: { webhookEndpoints: 1000 } })
})
afterAll(async () => {
  await service.close()
  await quiet.close()
  await receiver.close()
})
beforeEach(() => {
  path = `/hook-${++counter}`
})

async function registerVerified(policy: object): Promise<string> {
  const { json } = await service.call('POST', '/webhooks', { body: { url: receiver.url + path, policy } })
  const read = async () => (await service.call('GET', `/webhooks/${json.id}`)).json.state
  await vi.waitFor(async () => expect(await read()).toBe('verified'), WAIT)
  return json.id
}

/** How the one attempt at a receiver that behaves so went. */
async function attemptAt(behave: (response: ServerResponse) => unknown, timeoutMs = LONG_MS) {
  const id = await registerVerified({ maxAttempts: 1, timeoutMs })
  receiver.on(path, (_request, response) => {
    behave(response)
    return true
  })
  const { deliveryId } = await addDelivery(service.app, service.tenant.id, id)
  const read = async () => (await service.call('GET', `/webhooks/${id}/deliveries/${deliveryId}`)).json
  await vi.waitFor(async () => expect(['delivered', 'failed']).toContain((await read()).status), WAIT)
  const { status, attempts } = await read()
  return { status, ...attempts[0] }
}

/** Bytes as they are, past what Node would make of them. */
const raw = (response: ServerResponse, text: string): void => void response.socket?.write(text)

/** Writes as long as the client reads. */
function drip(response: ServerResponse, text: string, everyMs: number): void {
  const timer = setInterval(
    () => (response.socket?.writable === true ? raw(response, text) : clearInterval(timer)),
    everyMs,
  )
  response.socket?.on('close', () => clearInterval(timer))
  response.socket?.on('error', () => clearInterval(timer))
}

describe('a receiver that', () => {
  test.each<[string, (response: ServerResponse) => unknown, object]>([
    ['never answers', () => true, { statusCode: null }],
    [
      'sends one header byte by byte',
      (response) => {
        raw(response, 'HTTP/1.1 200 OK\r\nx: ')
        drip(response, 'y', 50)
      },
      { statusCode: null },
    ],
    [
      'sends headers without end',
      (response) => {
        raw(response, 'HTTP/1.1 200 OK\r\n')
        drip(response, 'x: y\r\n', 20)
      },
      { statusCode: null },
    ],
  ])('%s: the one deadline over all of it ends the attempt', async (_name, behave, expected) => {
    const attempt = await attemptAt(behave, TIMEOUT_MS)
    expect(attempt).toMatchObject({ status: 'failed', error: 'timeout', ...expected })
    expect(attempt.durationMs).toBeLessThan(TIMEOUT_MS + 8000)
  })

  test.each<[string, (response: ServerResponse) => unknown, object]>([
    [
      'sends 64 KiB of headers',
      (response) => raw(response, `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(65_536)}\r\n\r\n`),
      { status: 'failed', statusCode: null, error: 'the answer is not HTTP' },
    ],
    [
      'floods with 1xx',
      (response) => drip(response, 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(50), 5),
      { status: 'failed', statusCode: null, error: 'the answer is not HTTP' },
    ],
    [
      'sends no HTTP',
      (response) => raw(response, 'SSH-2.0-OpenSSH\r\n\r\n'),
      { status: 'failed', error: 'the answer is not HTTP' },
    ],
    [
      'resets the connection',
      (response) => response.socket?.destroy(),
      { status: 'failed', statusCode: null, error: 'connection closed by the receiver' },
    ],
    [
      'resets in the midst of its answer',
      (response) => {
        raw(response, 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf')
        setTimeout(() => response.socket?.destroy(), 20)
      },
      { status: 'delivered', statusCode: 200, error: null, responseSnippet: 'half' },
    ],
    [
      'sends a body byte by byte without end',
      (response) => {
        raw(response, 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
        drip(response, 'x', 50)
      },
      { status: 'delivered', statusCode: 200, error: null },
    ],
    ['answers 204', (response) => reply(response, 204), { status: 'delivered', statusCode: 204, error: null }],
    ['answers 299', (response) => reply(response, 299), { status: 'delivered', statusCode: 299, error: null }],
    [
      'answers 301',
      (response) => reply(response, 301, '', { location: '/' }),
      { status: 'failed', error: 'redirect not followed' },
    ],
    [
      'answers 307 to the inside',
      (response) => reply(response, 307, '', { location: 'https://169.254.169.254/' }),
      { status: 'failed', statusCode: 307, error: 'redirect not followed' },
    ],
    ['answers 304', (response) => reply(response, 304), { status: 'failed', statusCode: 304 }],
    ['answers 410', (response) => reply(response, 410), { status: 'failed', statusCode: 410, error: 'status 410' }],
    [
      'answers 429 with Retry-After',
      (response) => reply(response, 429, '', { 'retry-after': '86400' }),
      { status: 'failed', statusCode: 429, error: 'status 429' },
    ],
    ['answers 599', (response) => reply(response, 599), { status: 'failed', statusCode: 599 }],
    [
      'sends NUL and broken UTF-8',
      (response) => response.end(Buffer.from([0, 0xff, 0x61, 0xc3])),
      { status: 'delivered', statusCode: 200 },
    ],
  ])('%s', async (_name, behave, expected) => {
    expect(await attemptAt(behave)).toMatchObject(expected)
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(100_000_000, 'x'))],
    ['br', brotliCompressSync(Buffer.alloc(100_000_000, 'x'))],
  ])('sends a bomb of %s: 64 KiB of it are unpacked', async (encoding, bomb) => {
    const before = process.memoryUsage().rss
    const attempt = await attemptAt((response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(bomb)
    })
    expect(attempt).toMatchObject({ status: 'delivered', statusCode: 200, responseSnippet: 'x'.repeat(1024) })
    expect(process.memoryUsage().rss - before).toBeLessThan(80_000_000)
  })

  test('has an endless body: 64 KiB of it are read, and the connection is cut', async () => {
    let closed = false
    const attempt = await attemptAt((response) => {
      response.writeHead(200)
      const more = (): void => {
        while (!closed && response.write('x'.repeat(16_384)));
      }
      response.on('drain', more).on('close', () => (closed = true))
      more()
    })
    expect(attempt).toMatchObject({ status: 'delivered', statusCode: 200 })
    await vi.waitFor(() => expect(closed).toBe(true), WAIT)
  })
})

describe('a name that changes its address', () => {
  let dns: Socket
  let answers: string[]
  let asked = 0

  /**
   * Answers each question for an A record with the next address, the last one from then on; others
   * with none.
   */
  function answer(question: Buffer): Buffer {
    let end = 12
    while (question[end] !== 0) end += (question[end] ?? 0) + 1
    const isA = question.readUInt16BE(end + 1) === 1
    const asked4 = question.subarray(12, end + 5)
    const header = Buffer.from([question[0] ?? 0, question[1] ?? 0, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0])
    if (!isA) return Buffer.concat([header, asked4])
    const address = answers[Math.min(asked++, answers.length - 1)] ?? ''
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])
    return Buffer.concat([header, asked4, record])
  }

  beforeAll(async () => {
    dns = createSocket('udp4', (question, { port, address }) => dns.send(answer(question), port, address))
    await new Promise<void>((resolve) => dns.bind(0, '127.0.0.1', resolve))
  })
  afterAll(() => void dns.close())

  const resolve = async (host: string) => {
    const resolver = new Resolver()
    resolver.setServers([`127.0.0.1:${dns.address().port}`])
    return (await resolver.resolve4(host)).map((address) => ({ address, family: 4 }))
  }
  const request = () => ({
    url: `https://localhost:${new URL(receiver.url).port}${path}`,
    headers: {},
    body: '{}',
    timeoutMs: LONG_MS,
    signal: new AbortController().signal,
  })
  const open = (WEBHOOK_ALLOWED_CIDRS: string[]) =>
    openOutbound({ ...service.app.settings, WEBHOOK_ALLOWED_CIDRS }, resolve)

  test('is connected to at the checked address: the name is not resolved again', async () => {
    ;[answers, asked] = [['127.0.0.1', '169.254.169.254'], 0]
    const outbound = open(['127.0.0.0/8'])
    expect(await outbound.post(request())).toMatchObject({ statusCode: 204 })
    expect(asked).toBe(1)
    outbound.close()
  })

  test('is refused once it points to a private address, by a handshake and by a delivery', async () => {
    const name = `https://localhost:${new URL(receiver.url).port}${path}`
    // The service has a worker, which would ask the machine's own name servers.
    const { app } = quiet
    const outbound = open(['127.0.0.0/8'])
    const post = (body: object) => quiet.call('POST', '/webhooks', { body })
    const [proven, late] = [(await post({ url: name, policy: { maxAttempts: 1 } })).json.id, `${name}-late`]
    const read = async (id: string) => (await quiet.call('GET', `/webhooks/${id}`)).json
    ;[answers, asked] = [['127.0.0.1', '169.254.169.254'], 0]
    const tasks = [startHandshakes(app, outbound), startDeliveries(app, outbound)]
    await vi.waitFor(async () => expect((await read(proven)).state).toBe('verified'), WAIT)

    // The connection that was checked does not last forever.
    await receiver.dropConnections()
    const refused = (await post({ url: late })).json.id
    const { deliveryId } = await addDelivery(app, quiet.tenant.id, proven)
    await vi.waitFor(async () => {
      expect((await read(refused)).lastVerification?.error).toBe('address not allowed')
      const { json } = await quiet.call('GET', `/webhooks/${proven}/deliveries/${deliveryId}`)
      expect(json.attempts.map(({ error }: { error: string }) => error)).toEqual(['address not allowed'])
    }, WAIT)
    expect(asked).toBeGreaterThan(1)
    expect(receiver.deliveries(path)).toEqual([])
    expect(receiver.requests.filter((each) => each.path === `${path}-late`)).toEqual([])
    await Promise.all(tasks.map((task) => task.stop(0)))
    outbound.close()
  })
})

test('a hanging endpoint does not delay the handshakes and deliveries of others', async () => {
  const id = await registerVerified({ timeoutMs: 30_000, breakerThreshold: 100, disableThreshold: 1000 })
  receiver.on(path, () => true)
  for (let n = 0; n < 20; n++) await addDelivery(service.app, service.tenant.id, id)
  await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(8), WAIT)
  path = `${path}-healthy`
  const healthy = await registerVerified({})
  await Promise.all(Array.from({ length: 20 }, () => addDelivery(service.app, service.tenant.id, healthy)))
  await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(20), WAIT)
  await service.call('DELETE', `/webhooks/${id}`)
})
