import { createServer, type Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { onServer } from '../harness/database.ts'
import { first, last, type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { freePort } from '../harness/ports.ts'
import { makePushpin, PUSHPIN, type Pushpin } from '../harness/pushpin.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const skipped = PUSHPIN === undefined ? ' (skipped: there is no pushpin here)' : ''
const needsServer = onServer ? '' : ' (skipped: needs DATABASE_URL)'
const WAIT = { timeout: 20_000, interval: 20 }
const LISTENERS = 10
const upTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1)

/**
 * A gate before the control port. `shut` refuses requests, `silent` passes them on without answers,
 * `lossy` answers and passes nothing on.
 */
interface Gate {
  url: string
  mode: 'open' | 'shut' | 'silent' | 'lossy'
  close(): void
}

async function openGate(target: string): Promise<Gate> {
  const port = await freePort()
  const gate: Gate = { url: `http://127.0.0.1:${port}`, mode: 'open', close: () => server.close() }
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      if (gate.mode === 'shut') return request.socket.destroy()
      if (gate.mode === 'lossy') return response.end()
      const answer = await fetch(target + request.url, { method: 'POST', body: Buffer.concat(chunks) }).catch(
        () => null,
      )
      if (gate.mode === 'silent' || answer === null) return request.socket.destroy()
      response.writeHead(answer.status).end(await answer.text())
    })()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return gate
}

/** A browser: it comes back by itself, with the last id that it has read. */
class Browser {
  readonly read: number[]
  opened = 0
  goodbyes = 0
  incomplete = 0
  #stream: StreamClient | null = null
  #isClosed = false
  readonly #url: string

  constructor(url: string, from = 0) {
    this.#url = url
    this.read = upTo(from)
    void this.#run()
  }

  get isOpen(): boolean {
    return this.#stream?.connected !== undefined && !this.#stream.closed
  }

  /** What it has read of the stream that is open goes with it, and it comes back. */
  reconnect(): void {
    this.#stream?.close()
  }

  close(): void {
    this.#isClosed = true
    this.reconnect()
  }

  get seqs(): number[] {
    return [...this.read, ...(this.#stream?.seqs ?? [])]
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const lastEventId = String(this.read.at(-1) ?? 0)
      // A starting Pushpin makes some requests wait for a minute, and then closes their
      // connections.
      const late = new AbortController()
      const timer = setTimeout(() => late.abort(), 5000)
      const stream = await openStream(this.#url, { 'last-event-id': lastEventId }, late.signal).catch(() => null)
      clearTimeout(timer)
      if (stream?.status === 200) {
        this.opened++
        this.#stream = stream
        await vi.waitFor(() => expect(stream.closed).toBe(true), { timeout: 600_000, interval: 5 })
        this.read.push(...stream.seqs)
        this.#stream = null
        if (stream.connected?.data.complete === false) this.incomplete++
        if (stream.goodbye !== undefined) this.goodbyes++
      } else stream?.close()
      await pause(100)
    }
  }
}

describe.skipIf(PUSHPIN === undefined)(`behind Pushpin${skipped}`, () => {
  let pushpin: Pushpin
  let gate: Gate
  let service: Processes
  let discussionId: string
  let url: string
  const browsers: Browser[] = []
  /** Browsers of earlier tests, which stay open, and what they had read. */
  let complete: { browser: Browser; count: number }[] = []

  beforeAll(async () => {
    pushpin = await makePushpin()
    gate = await openGate(pushpin.env.GRIP_URL)
    service = await startProcesses({
      api: 2,
      worker: 0,
      env: { ...pushpin.env, GRIP_URL: gate.url, STREAM_REPAIR_SECONDS: '1' },
    })
    await pushpin.start(service.apis.map((api) => api.url))
  })
  afterAll(async () => {
    try {
      // Nothing has arrived twice since.
      for (const { browser, count } of complete) expect(browser.seqs).toEqual(upTo(count))
    } finally {
      for (const { browser } of complete) browser.close()
    }
    await service?.close()
    gate?.close()
    await pushpin?.close()
  })
  beforeEach(async () => {
    discussionId = (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id
    const { json } = await service.call('POST', '/stream/ticket', { body: { discussionId } })
    url = `${pushpin.url}/api/v1/stream/${discussionId}?ticket=${json.ticket}`
  })
  afterEach(() => void browsers.splice(0))

  async function listen(count = LISTENERS): Promise<void> {
    browsers.push(...Array.from({ length: count }, () => new Browser(url)))
    await vi.waitFor(() => expect(browsers.every((browser) => browser.isOpen)).toBe(true), WAIT)
  }

  /** Comments, one after the other, at the apis in turn. Says how many were acknowledged. */
  async function write(count: number, at?: ServiceProcess, text = 'comment'): Promise<void> {
    const headers = await service.as(newId())
    for (let n = 0; n < count; n++) {
      const api = at ?? service.apis[n % service.apis.length]
      const body = { body: `${n} ${text}` }
      const { status } = await service.call('POST', `/discussions/${discussionId}/comments`, {
        body,
        headers,
        ...(api !== undefined && { api }),
      })
      expect(status).toBe(201)
    }
  }

  async function expectComplete(count: number): Promise<void> {
    await vi.waitFor(() => {
      for (const { seqs } of browsers) expect(seqs).toEqual(upTo(count))
    }, WAIT)
    complete = [
      ...complete.filter(({ browser }) => !browsers.includes(browser)),
      ...browsers.map((browser) => ({ browser, count })),
    ]
  }

  test('a burst arrives completely, once and in order', async () => {
    await listen()
    await Promise.all(upTo(20).map(() => write(10)))
    await expectComplete(200)
    expect(browsers.map(({ opened }) => opened)).toEqual(browsers.map(() => 1))
  })

  test('its statistics show the number of open streams, and of messages sent to them', async () => {
    const figures = async (): Promise<Record<string, number>> => {
      const text = await (await fetch(pushpin.metricsUrl)).text()
      return Object.fromEntries([...text.matchAll(/^(\w+) (\d+)$/gm)].map(([, name, value]) => [name, Number(value)]))
    }
    const before = await figures()
    await listen()
    await write(5)
    await expectComplete(5)
    await vi.waitFor(async () => {
      const after = await figures()
      const grown = (name: string): number => (after[name] ?? NaN) - (before[name] ?? NaN)
      expect(grown('connection_connected')).toBe(LISTENERS)
      // Beacons are messages as well.
      expect(grown('message_received')).toBeGreaterThanOrEqual(5)
      expect(grown('message_sent')).toBeGreaterThanOrEqual(5 * LISTENERS)
    }, WAIT)
  })

  test('a returning client gets everything that it has missed, and nothing twice', async () => {
    await listen()
    const writing = Promise.all(upTo(5).map(() => write(20)))
    for (let n = 0; n < 20; n++) {
      await pause(20)
      browsers[n % LISTENERS]?.reconnect()
    }
    await writing
    await expectComplete(100)
  })

  test('a control port that refuses for a second, one that loses answers, and one that loses events', async () => {
    await listen()
    await write(5)
    gate.mode = 'shut'
    await write(10)
    await pause(1000)
    gate.mode = 'silent'
    await write(10)
    await pause(300)
    gate.mode = 'open'
    await write(5)
    await expectComplete(30)
    gate.mode = 'lossy'
    await write(5)
    gate.mode = 'open'
    await write(1)
    await expectComplete(36)
  })

  test('a process that is killed while it writes', async () => {
    await listen()
    const api = last(service.apis)
    const writing = write(20).catch(() => undefined)
    await pause(50)
    await api.kill()
    await writing
    await api.start()
    const { json } = await service.call('GET', `/discussions/${discussionId}`)
    await expectComplete(Number(json.lastEventId))
    await write(2)
    await expectComplete(Number(json.lastEventId) + 2)
  })

  test.skipIf(!onServer)(
    `an event whose process died before publishing it comes from another process within 5 s${needsServer}`,
    async () => {
      // Pushpin asks the first process for all streams.
      await listen()
      await write(2)
      gate.mode = 'shut'
      await write(1, last(service.apis))
      await last(service.apis).kill()
      gate.mode = 'open'
      const begun = Date.now()
      await expectComplete(3)
      expect(Date.now() - begun).toBeLessThan(5000)
      await last(service.apis).start()
    },
  )

  test('all processes killed with events that were never published', async () => {
    await listen()
    await write(3)
    gate.mode = 'shut'
    await write(4)
    await Promise.all(service.apis.map((api) => api.kill()))
    gate.mode = 'open'
    await Promise.all(service.apis.map((api) => api.start()))
    await expectComplete(7)
    await write(3)
    await expectComplete(10)
  })

  test('events of long texts, live and in a replay of many', async () => {
    await listen(2)
    await write(60, first(service.apis), 'long '.repeat(1900))
    await listen(2)
    await expectComplete(60)
    // All at once, each from another place: what they have yet to read takes more than one answer.
    browsers.push(...upTo(LISTENERS).map((from) => new Browser(url, from)))
    await expectComplete(60)
  })

  test('processes that stop and start one after the other, with streams that stay open', async () => {
    await listen()
    const writing = write(20, first(service.apis))
    for (const api of service.apis.slice(1)) {
      await api.stop()
      await api.start()
    }
    await writing
    await expectComplete(20)
    expect(browsers.map(({ opened }) => opened)).toEqual(browsers.map(() => 1))
  })

  test('Pushpin is killed', async () => {
    await listen()
    await write(5)
    const writing = write(20)
    await pushpin.kill()
    await pause(200)
    await pushpin.start(service.apis.map((api) => api.url))
    await writing
    await expectComplete(25)
    expect(first(browsers).opened).toBe(2)
  })
})
