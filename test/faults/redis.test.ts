import { createClient } from 'graphql-sse'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { onServer } from '../harness/database.ts'
import { first, last, type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { type Listener, listen, type SourceListener, subscribe } from '../harness/sse.ts'
import { holdsWithin } from '../harness/standstill.ts'

const REDIS_URL = process.env.REDIS_URL ?? ''
const hasRedis = onServer && REDIS_URL !== ''

/**
 * Messages that the bus lost come from the database within this time
 * (docs/reference/guarantees.md).
 */
const SOON = { timeout: 5000, interval: 20 }
const WAIT = { timeout: 20_000, interval: 50 }

describe.skipIf(!hasRedis)(`Redis in trouble${hasRedis ? '' : ' (skipped: needs DATABASE_URL and REDIS_URL)'}`, () => {
  let proxy: Proxy
  let receiver: Receiver
  let service: Processes
  let discussionId: string
  let streams: SourceListener[]
  let posted = 0
  const open: Listener<unknown>[] = []

  beforeAll(async () => {
    const { hostname, port } = new URL(REDIS_URL)
    proxy = await startProxy({ host: hostname, port: Number(port || 6379) })
    receiver = await startReceiver()
    const url = new URL(REDIS_URL)
    url.host = `127.0.0.1:${proxy.port}`
    const env = { REDIS_URL: url.href, WEBHOOK_CA_FILE: receiver.caFile }
    service = await startProcesses({ api: 2, worker: 1, env })
  })

  afterAll(async () => {
    await service.close()
    await proxy.close()
    await receiver.close()
  })

  beforeEach(async ({ task }) => {
    posted = 0
    const { json } = await service.call('POST', '/discussions', { body: { externalId: task.id } })
    discussionId = json.id as string
    streams = await Promise.all(service.apis.map(listenAt))
    await vi.waitFor(busIsUp, WAIT)
  })

  afterEach(async () => {
    proxy.silence(false)
    proxy.swallow(null)
    await proxy.up()
    open.splice(0).forEach((listener) => listener.close())
  })

  const keyOf = () => ({ 'x-api-key': service.apiKey })

  async function listenAt({ url }: ServiceProcess): Promise<SourceListener> {
    const stream = await listen(`${url}/api/v1/stream/${discussionId}?lastEventId=0`, keyOf())
    open.push(stream)
    return stream
  }

  function followQueue({ url }: ServiceProcess): Listener<{ pending: number }> & { failure: unknown } {
    const client = createClient({ url: `${url}/graphql/stream`, headers: keyOf(), retryAttempts: 0 })
    const received: { pending: number }[] = []
    const queue = { received, failure: null as unknown, close: () => client.dispose() }
    client.subscribe<{ moderationQueueChanged: { pending: number } }>(
      { query: 'subscription { moderationQueueChanged { pending } }' },
      {
        next: ({ data, errors }) => {
          if (data == null) queue.failure = errors
          else received.push(data.moderationQueueChanged)
        },
        error: (error) => (queue.failure = error),
        complete: () => undefined,
      },
    )
    open.push(queue)
    return queue
  }

  async function busIsUp(): Promise<void> {
    for (const { url } of service.apis) {
      const response = await fetch(`${url}/readyz`)
      expect(await response.json()).toEqual({ status: 'ok', bus: 'up' })
    }
  }

  /** One comment through each process in turn. */
  async function post(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const api = service.apis[posted++ % service.apis.length] ?? first(service.apis)
      const { status, text } = await service.call('POST', `/discussions/${discussionId}/comments`, {
        api,
        body: { body: `comment ${posted}` },
        headers: await service.as('writer'),
      })
      expect(status, text).toBe(201)
    }
  }

  /**
   * Every stream has what was posted: each once, in order, and on the connection that it had from
   * the beginning.
   */
  function expectAll(): void {
    const all = Array.from({ length: posted }, (_, index) => String(index + 1))
    for (const { received, losses, framing } of streams) {
      expect(received.map(({ id }) => id)).toEqual(all)
      expect(losses).toBe(0)
      expect(framing.map(({ type }) => type)).toEqual(['connected'])
    }
  }

  test('down and back within a stream: events posted meanwhile arrive within 5 s, nothing is lost or doubled', async () => {
    await post(4)
    await vi.waitFor(expectAll, SOON)
    await proxy.down()
    await post(4)
    await vi.waitFor(expectAll, SOON)
    await proxy.up()
    await post(4)
    await vi.waitFor(expectAll, SOON)
    await vi.waitFor(busIsUp, WAIT)
    await post(4)
    await vi.waitFor(expectAll, SOON)
  })

  test('flapping while comments are posted: nothing is lost or doubled', async () => {
    for (let round = 0; round < 5; round++) {
      const writing = post(20)
      await proxy.down()
      await proxy.up()
      await vi.waitFor(busIsUp, WAIT)
      await writing
    }
    await vi.waitFor(expectAll, SOON)
  })

  test('lost messages: their events arrive within 5 s from the database', async () => {
    const before = proxy.swallowed
    proxy.swallow(isMessage)
    await post(6)
    await vi.waitFor(expectAll, SOON)
    // Otherwise nothing was lost.
    expect(proxy.swallowed).toBeGreaterThan(before)
    proxy.swallow(null)
    await post(6)
    await vi.waitFor(expectAll, SOON)
  })

  test('every other message is lost: the gaps are filled at once, by the messages after them', async () => {
    let count = 0
    proxy.swallow((chunk) => isMessage(chunk) && count++ % 2 === 0)
    await post(20)
    await vi.waitFor(expectAll, SOON)
  })

  test('vanished silently: /readyz reports it, nothing is lost, and the bus is back within 10 s of its return', async () => {
    await post(2)
    proxy.silence(true)
    await post(4)
    await vi.waitFor(expectAll, SOON)
    await vi.waitFor(async () => {
      for (const { url } of service.apis) {
        const response = await fetch(`${url}/readyz`)
        expect(await response.json()).toEqual({ status: 'ok', bus: 'down' })
      }
    }, WAIT)
    proxy.silence(false)
    await vi.waitFor(busIsUp, { timeout: 10_000, interval: 50 })
    await post(4)
    await vi.waitFor(expectAll, SOON)
  })

  test('a stream and a subscription that begin while it is down see everything that follows', async () => {
    await post(2)
    await proxy.down()
    const late = await listenAt(last(service.apis))
    streams = [...streams, late]
    const target = { url: last(service.apis).url, headers: keyOf(), variables: { discussionId, lastEventId: '0' } }
    const subscription = subscribe(target)
    open.push(subscription)
    await post(2)
    await vi.waitFor(expectAll, SOON)
    await vi.waitFor(() => expect(subscription.received.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]), SOON)
    await proxy.up()
    await vi.waitFor(busIsUp, WAIT)
    await post(2)
    await vi.waitFor(expectAll, SOON)
    await vi.waitFor(() => expect(subscription.received.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]), SOON)
  })

  test('a follower of a moderation queue at one process gets changes at the other: at once, and within 5 s while it is down', async () => {
    const [followed, held] = [first(service.apis), last(service.apis)]
    const settings = { api: held, body: { suspectWords: ['hold'] } }
    expect((await service.call('PATCH', '/settings', settings)).status).toBe(200)
    const queue = followQueue(followed)
    await vi.waitFor(() => expect(queue.received).toHaveLength(1), SOON)
    const hold = async (): Promise<number> => {
      const headers = await service.as('writer')
      const posting = { api: held, headers, body: { body: `hold ${newId()}` } }
      const { json } = await service.call('POST', `/discussions/${discussionId}/comments`, posting)
      expect(json.status).toBe('pending')
      const { json: waiting } = await service.call('GET', '/moderation/queue?limit=100', { api: held })
      return waiting.data.length
    }
    const expectTold = async (pending: number, timeout: number): Promise<void> => {
      await vi.waitFor(() => expect(last(queue.received)).toEqual({ pending }), { timeout, interval: 20 })
    }
    await expectTold(await hold(), 2500)
    await proxy.down()
    await expectTold(await hold(), SOON.timeout)
    await proxy.up()
    await vi.waitFor(busIsUp, WAIT)
    await expectTold(await hold(), SOON.timeout)
    expect(queue.failure).toBe(null)
  })

  test('webhooks are sent while it is down', async () => {
    const { json } = await service.call('POST', '/webhooks', { body: { url: `${receiver.url}/away` } })
    await vi.waitFor(async () => {
      expect((await service.call('GET', `/webhooks/${json.id}`)).json.state).toBe('verified')
    }, WAIT)
    await proxy.down()
    await post(2)
    await vi.waitFor(() => expect(receiver.deliveries('/away').map(({ body }) => body.seq)).toEqual([1, 2]), SOON)
    expect((await service.call('DELETE', `/webhooks/${json.id}`)).status).toBe(204)
  })

  test.each([
    ['it is away', () => proxy.down()],
    ['its messages vanish', async () => proxy.swallow(isMessage)],
  ])('a key that is revoked while %s is refused by every process within 5 s, its streams included', async (_, harm) => {
    const made = await service.call('POST', '/keys', { body: { label: 'short-lived', capabilities: [] } })
    const key = { 'x-api-key': made.json.key as string }
    const other = last(service.apis)
    const stream = await listen(`${other.url}/api/v1/stream/${discussionId}`, key)
    open.push(stream)
    const use = () => service.call('GET', `/discussions/${discussionId}`, { api: other, headers: key })
    expect((await use()).status).toBe(200)
    await harm()
    const { status } = await service.call('DELETE', `/keys/${made.json.id}`, { api: first(service.apis) })
    expect(status).toBe(204)
    await Promise.all([
      holdsWithin(SOON.timeout, async () => expect((await use()).json).toMatchObject({ code: 'revoked_api_key' })),
      vi.waitFor(() => expect(last(stream.framing).type).toBe('connection-timeout'), SOON),
    ])
  })

  /** Changes a setting through one process, and waits until the other one goes by it. */
  async function expectEverywhere(moderationMode: 'none' | 'pre', withinMs: number): Promise<void> {
    const { status } = await service.call('PATCH', '/settings', { api: first(service.apis), body: { moderationMode } })
    expect(status).toBe(200)
    await holdsWithin(withinMs, async () => {
      const { json } = await service.call('POST', `/discussions/${discussionId}/comments`, {
        api: last(service.apis),
        body: { body: `under ${moderationMode}` },
        headers: await service.as('writer'),
      })
      expect(json).toMatchObject({ status: moderationMode === 'pre' ? 'pending' : 'approved' })
    })
  }

  test('a setting changed at one process applies at the other within 1 s', async () => {
    // Each change begins with a fresh cache entry at the other process, valid for 4 s, so that
    // only the bus can bring it in time.
    for (const mode of ['pre', 'none', 'pre', 'none'] as const) await expectEverywhere(mode, 1000)
  })

  test.each([
    ['it is away', () => proxy.down()],
    ['its messages vanish', async () => proxy.swallow(isMessage)],
  ])('a setting that is changed while %s applies at the other process within 5 s', async (_, harm) => {
    await harm()
    for (const mode of ['pre', 'none'] as const) await expectEverywhere(mode, SOON.timeout)
  })
})

/** A message of a subscription, in the protocol of Redis. */
const isMessage = (chunk: Buffer): boolean => chunk.includes('$7\r\nmessage\r\n')
