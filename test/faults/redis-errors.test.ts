import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'
import { hasRedisServer, type OwnRedis, startRedis } from '../harness/redis.ts'
import { type Listener, listen } from '../harness/sse.ts'

const WAIT = { timeout: 60_000, interval: 50 }

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

  /**
   * Every connection ends as the fault or its end begins. If they ended a moment earlier or later,
   * a process that reconnects at once would see two outages.
   */
  const CUT = ['normal', 'pubsub'].map((type) => ['CLIENT', 'KILL', 'TYPE', type])

  const HARMS: readonly [name: string, harm: () => Promise<unknown>, mend: () => Promise<unknown>][] = [
    [
      'a script that does not end',
      async () => {
        void redis.transaction(...CUT, ['EVAL', 'while true do end', '0']).catch(() => undefined)
        await vi.waitFor(() => expect(redis.command('PING')).rejects.toThrow('BUSY'), WAIT)
      },
      () => redis.command('SCRIPT', 'KILL'),
    ],
    [
      'a new password',
      () => redis.transaction(['CONFIG', 'SET', 'requirepass', 'secret'], ...CUT),
      () => redis.commandAs('secret', 'CONFIG', 'SET', 'requirepass', ''),
    ],
    ['an ACL without SUBSCRIBE', () => limit('-subscribe'), () => limit('+subscribe')],
    ['an ACL without PUBLISH', () => limit('-publish'), () => limit('+publish')],
    ['an ACL without channels', () => limit('resetchannels'), () => limit('allchannels')],
  ]

  const limit = (...rules: string[]) => redis.transaction(['ACL', 'SETUSER', 'default', ...rules], ...CUT)

  test.each(HARMS)('%s: no process ends, one line says so, and streams miss nothing', async (_name, harm, mend) => {
    await post(2)
    await vi.waitFor(expectAll, WAIT)
    const before = outages()
    await harm()
    try {
      await post(4)
      await vi.waitFor(expectAll, WAIT)
      await vi.waitFor(() => expectBus('down'), WAIT)
      // At the next heartbeat at the latest.
      await vi.waitFor(
        () => expect(outages().map((count, n) => count - (before[n] ?? 0))).toEqual(all().map(() => 1)),
        WAIT,
      )
    } finally {
      await mend()
    }
    await vi.waitFor(() => expectBus('up'), WAIT)
    await post(4)
    await vi.waitFor(expectAll, WAIT)
    expect(outages().map((count, n) => count - (before[n] ?? 0))).toEqual(all().map(() => 1))
    expect(all().map(({ isRunning }) => isRunning)).toEqual(all().map(() => true))
  })

  test('junk on every channel: no process ends, nothing is down, and streams miss nothing', async () => {
    await post(2)
    const channels = (await redis.command('PUBSUB', 'CHANNELS', 'errors:*')) as string[]
    const kinds = new Set(channels.map((channel) => channel.split(':')[1]))
    expect(kinds).toEqual(new Set(['caches', 'canary', 'discussion', 'probe', 'work']))
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
    await vi.waitFor(expectAll, WAIT)
    await expectBus('up')
    expect(outages()).toEqual(before)
    expect(all().map(({ isRunning }) => isRunning)).toEqual(all().map(() => true))
  })
})
