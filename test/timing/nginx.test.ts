import { setTimeout } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { hubOf } from '../../src/live/hub.ts'
import { type Balancer, NGINX, startPlainNginx, startShippedNginx } from '../harness/balancers.ts'
import { startService, useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const skipped = NGINX === undefined ? ' (skipped: there is no nginx here)' : ''
/** Each frame within a second of its commit. */
const AT_ONCE = { timeout: 1000, interval: 10 }
const WAIT = { timeout: 20_000, interval: 10 }

/** What stands between the client and the service, by its name. */
const BALANCERS: [string, (upstream: string) => Promise<Balancer>][] = [
  // HTTP/1.0 to the service, where nginx holds back the most.
  ['as it comes', (upstream) => startPlainNginx(`location / { proxy_pass ${upstream}; }`)],
  ['as deploy/nginx has it', (upstream) => startShippedNginx([upstream])],
]

const CASES = BALANCERS.flatMap(([name, start]): [string, typeof start, Record<string, string>][] => [
  [name, start, {}],
  [`${name}, compressed`, start, { 'accept-encoding': 'gzip' }],
])

describe.skipIf(NGINX === undefined).each(CASES)(`behind nginx, %s${skipped}`, (_name, start, accepted) => {
  const service = useService({ env: { STREAM_HEARTBEAT_SECONDS: '0.5' } })
  let nginx: Balancer
  let discussionId: string
  const clients: StreamClient[] = []

  beforeAll(async () => {
    nginx = await start(service.url)
  })
  afterAll(async () => {
    await nginx?.close()
  })
  beforeEach(async () => {
    discussionId = await service.newDiscussion()
  })
  afterEach(() => clients.splice(0).forEach((client) => client.close()))

  async function open(headers: Record<string, string> = {}): Promise<StreamClient> {
    const url = `${nginx.url}/api/v1/stream/${discussionId}`
    const client = await openStream(url, { 'x-api-key': service.apiKey, ...accepted, ...headers })
    expect(client.status).toBe(200)
    expect(client.headers['content-encoding']).toBe(accepted['accept-encoding'])
    clients.push(client)
    await vi.waitFor(() => expect(client.connected).toBeDefined(), WAIT)
    return client
  }

  async function comment(): Promise<void> {
    const [headers, body] = [await service.as('ada'), { body: 'Hello' }]
    await service.ok('POST', `/discussions/${discussionId}/comments`, body, headers)
  }

  test('each frame arrives within a second of its commit, while the response stays open', async () => {
    const stream = await open()
    expect(stream.headers.server).toMatch(/nginx/)
    for (let n = 1; n <= 5; n++) {
      await comment()
      await vi.waitFor(() => expect(stream.seqs.at(-1)).toBe(n), AT_ONCE)
      await setTimeout(50)
    }
    expect(stream.seqs).toEqual([1, 2, 3, 4, 5])
    expect(stream.closed).toBe(false)
  })

  test('heartbeats arrive one by one', async () => {
    const stream = await open()
    for (let n = 1; n <= 3; n++) {
      await vi.waitFor(() => expect(stream.comments).toBeGreaterThanOrEqual(n), { timeout: 2500 })
    }
    expect(stream.closed).toBe(false)
  })

  test('Last-Event-ID is passed on: a stream resumes at its position', async () => {
    for (let n = 0; n < 4; n++) await comment()
    const stream = await open({ 'last-event-id': '2' })
    await vi.waitFor(() => expect(stream.seqs).toEqual([3, 4]), WAIT)
    expect(stream.connected?.data).toEqual({ lastEventId: '2', replayed: 2, complete: true })
  })

  test('a client that disconnects disappears from the service too', async () => {
    const { sessions } = hubOf(service.app)
    // Those of the tests before are on their way out.
    await vi.waitFor(() => expect(sessions.size).toBe(0), WAIT)
    const stream = await open()
    expect(sessions.size).toBe(1)
    stream.close()
    await vi.waitFor(() => expect(sessions.size).toBe(0), WAIT)
  })
})

test.skipIf(NGINX === undefined)(
  `nginx as deploy/nginx has it keeps no idle connection until a process that stops closes it${skipped}`,
  async () => {
    const service = await startService({ worker: false })
    const nginx = await startShippedNginx([service.url])
    try {
      const others = new Set(service.peers())
      const ofNginx = () => [...service.peers()].filter((port) => !others.has(port))
      await Promise.all(Array.from({ length: 5 }, () => fetch(`${nginx.url}/healthz`).then((answer) => answer.text())))
      expect(ofNginx().length).toBeGreaterThan(0)
      await vi.waitFor(() => expect(ofNginx()).toEqual([]), { timeout: service.app.settings.DRAIN_SECONDS * 1000 })
    } finally {
      await nginx.close()
      await service.close()
    }
  },
)
