import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'
import { hasRedisServer, type OwnRedis, startRedis } from '../harness/redis.ts'
import { type Listener, listen } from '../harness/sse.ts'

/** Messages that the bus lost come from the database within this time. */
const SOON = { timeout: 5000, interval: 20 }
const WAIT = { timeout: 20_000, interval: 50 }
const SCRIPT_MS = 6000

const isHere = onServer && hasRedisServer
const SKIPPED = isHere ? '' : ' (skipped: needs DATABASE_URL and redis-server)'

describe.skipIf(!isHere)(`a Redis that answers with errors${SKIPPED}`, () => {
  let redis: OwnRedis
  let service: Processes
  let discussionId: string
  let streams: (Listener<{ id: string | null }> & { received: { id: string | null }[] })[]
  let posted = 0

  beforeAll(async () => {
    redis = await startRedis(['--busy-reply-threshold', '100'])
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: 'errors:', LOG_LEVEL: 'info' }
    service = await startProcesses({ api: 2, worker: 1, env })
  })
  afterAll(async () => {
    await service?.close()
    await redis?.stop()
  })

  beforeEach(async ({ task }) => {
    posted = 0
    const { json } = await service.call('POST', '/discussions', { body: { externalId: task.id } })
    discussionId = json.id as string
    const url = (base: string) => `${base}/api/v1/stream/${discussionId}?lastEventId=0`
    streams = await Promise.all(service.apis.map((api) => listen(url(api.url), { 'x-api-key': service.apiKey })))
    await vi.waitFor(() => expectBus('up'), WAIT)
    // A worker has no page that says so.
    await vi.waitFor(() => expect(said('Redis is back')).toEqual(outages()), WAIT)
  })
  afterEach(() => streams.forEach((stream) => stream.close()))

  const all = () => [...service.apis, ...service.workers]

  async function expectBus(state: 'up' | 'down'): Promise<void> {
    for (const { url } of service.apis) {
      expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ok', bus: state })
    }
  }

  async function post(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const api = service.apis[posted++ % service.apis.length] ?? first(service.apis)
      const headers = await service.as('writer')
      const body = { body: `comment ${posted}` }
      const { status, text } = await service.call('POST', `/discussions/${discussionId}/comments`, {
        api,
        body,
        headers,
      })
      expect(status, text).toBe(201)
    }
  }

  const expectAll = (): void => {
    const ids = Array.from({ length: posted }, (_, index) => String(index + 1))
    for (const { received } of streams) expect(received.map(({ id }) => id)).toEqual(ids)
  }

  const said = (text: string): number[] => all().map(({ run }) => run.stderr.split(text).length - 1)

  /** How often each process has said that Redis is away. */
  const outages = (): number[] => said('Redis is not available')

  /** Connections end, and are opened while Redis answers with errors. */
  const cut = async (): Promise<void> => {
    for (const type of ['normal', 'pubsub']) await redis.command('CLIENT', 'KILL', 'TYPE', type).catch(() => undefined)
  }

  const HARMS: readonly [name: string, harm: () => Promise<unknown>, mend: () => Promise<unknown>][] = [
    [
      'a script of 6 s',
      async () => {
        const script = `local t = redis.call('TIME')[1] + ${SCRIPT_MS / 1000} while redis.call('TIME')[1] + 0 < t do end`
        await cut()
        void redis.command('EVAL', script, '0').catch(() => undefined)
        await pause(200)
      },
      () => pause(SCRIPT_MS),
    ],
    [
      'a new password',
      async () => {
        await redis.command('CONFIG', 'SET', 'requirepass', 'secret')
        await cut()
        await withPassword('CLIENT', 'KILL', 'TYPE', 'pubsub')
        await withPassword('CLIENT', 'KILL', 'TYPE', 'normal')
      },
      () => withPassword('CONFIG', 'SET', 'requirepass', ''),
    ],
    ['an ACL without SUBSCRIBE', () => limit('-subscribe'), () => limit('+subscribe')],
    ['an ACL without PUBLISH', () => limit('-publish'), () => limit('+publish')],
    ['an ACL without PING and INFO', () => limit('-ping', '-info'), () => limit('+ping', '+info')],
    ['an ACL without channels', () => limit('resetchannels'), () => limit('allchannels')],
  ]

  const withPassword = (...command: [string, ...string[]]): Promise<unknown> => redis.commandAs('secret', ...command)

  async function limit(...rules: string[]): Promise<void> {
    await redis.command('ACL', 'SETUSER', 'default', ...rules)
    await cut()
  }

  test.each(HARMS)('%s: no process ends, one line says so, and streams miss nothing', async (_name, harm, mend) => {
    await post(2)
    await vi.waitFor(expectAll, SOON)
    const before = outages()
    await harm()
    try {
      await post(4)
      await vi.waitFor(expectAll, SOON)
      await vi.waitFor(() => expectBus('down'), WAIT)
      // At the next heartbeat at the latest.
      await vi.waitFor(
        () => expect(outages().map((count, n) => count - (before[n] ?? 0))).toEqual(all().map(() => 1)),
        WAIT,
      )
    } finally {
      await mend()
    }
    await vi.waitFor(() => expectBus('up'), SOON)
    await post(4)
    await vi.waitFor(expectAll, SOON)
    expect(outages().map((count, n) => count - (before[n] ?? 0))).toEqual(all().map(() => 1))
    expect(all().map(({ isRunning }) => isRunning)).toEqual(all().map(() => true))
  })

  test('junk on every channel: no process ends, nothing is down, and streams miss nothing', async () => {
    await post(2)
    const channels = (await redis.command('PUBSUB', 'CHANNELS', 'errors:*')) as string[]
    const kinds = new Set(channels.map((channel) => channel.split(':')[1]))
    expect(kinds).toEqual(new Set(['caches', 'discussion', 'probe', 'work']))
    const before = outages()
    const junk = [
      '',
      'NaN',
      'Infinity',
      '-1',
      '1e999',
      '{',
      'null',
      '[]',
      '{"kind":"key"}',
      '3 x y z {}',
      '\r\n',
      '\0',
      'x'.repeat(100_000),
    ]
    for (const channel of channels) for (const message of junk) await redis.command('PUBLISH', channel, message)
    await post(4)
    await vi.waitFor(expectAll, SOON)
    await expectBus('up')
    expect(outages()).toEqual(before)
    expect(all().map(({ isRunning }) => isRunning)).toEqual(all().map(() => true))
  })
})
