import { setTimeout } from 'node:timers/promises'

import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { describeInBrowser, hasWholeBrowser, launchBrowser, openSleeper } from '../harness/browser.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { type Site, startSite, streamRequests } from '../harness/site.ts'

const WAIT = { timeout: 40_000, interval: 50 }
const DEFAULTS = {
  stream: { replayEvents: 10_000, maxDurationSeconds: 900, maxStreams: 5000 },
  ticket: { connectSeconds: 60, reconnectSeconds: 3600 },
}

describeInBrowser('the client in a browser', () => {
  let browser: Browser
  let service: Processes
  /** The way from the browser to the service. */
  let network: Proxy
  let site: Site
  let page: Page
  let requests: string[]
  let externalId: string
  let posted = 0

  beforeAll(async () => {
    service = await startProcesses({ worker: 0 })
    const { hostname, port } = new URL(first(service.apis).url)
    network = await startProxy({ host: hostname, port: Number(port) })
    site = await startSite({
      ticket: async () => {
        const { status, json } = await service.call('POST', '/stream/ticket', { body: { externalId } })
        return answered({ status, json: { ...json, streamUrl: json.streamUrl?.replace(port, network.port) } })
      },
      page: async () => answered(await service.call('GET', `/discussions/by-external/${externalId}`)),
    })
    browser = await launchBrowser('whole')
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
    await network?.close()
    await service?.close()
  })
  beforeEach(async () => {
    externalId = newId()
    posted = 0
    await set({ allowedOrigins: [site.url], ...DEFAULTS })
    page = await browser.newPage()
    requests = streamRequests(page)
    await page.goto(site.url)
  })
  afterEach(() => page.close())

  const answered = ({ status, json }: { status: number; json: unknown }): unknown => {
    if (status >= 400) throw new Error(`answered ${status}`)
    return json
  }
  const set = async (settings: object): Promise<void> =>
    expect((await service.call('PATCH', '/settings', { body: settings })).status).toBe(200)

  async function comment(count = 1): Promise<void> {
    const headers = await service.as('ada')
    for (let n = 0; n < count; n++) {
      const body = { body: `Number ${++posted}` }
      await service.ok('POST', `/discussions/by-external/${externalId}/comments`, body, headers)
    }
  }

  /** Opens the stream from the beginning, and waits until it is open. */
  async function follow(): Promise<void> {
    await page.evaluate(`follow({ lastEventId: '0' })`)
    await expectOpen()
  }
  const expectOpen = () => vi.waitFor(async () => expect(await page.evaluate('stream.state')).toBe('open'), WAIT)
  const seqs = () => page.evaluate<number[]>('events.map(({ seq }) => seq)')
  const upTo = (n: number) => Array.from({ length: n }, (_, index) => index + 1)
  /** Every event that was posted has come, once and in order. */
  const expectUpToDate = () => vi.waitFor(async () => expect(await seqs()).toEqual(upTo(posted)), WAIT)

  test.each(['stop', 'kill'] as const)(
    'goes on through a %s of the service, which is away for longer than the browser waits',
    async (end) => {
      const api = first(service.apis)
      await follow()
      await comment(2)
      await expectUpToDate()
      await api[end]()
      // The browser's own attempt has failed, and the client has asked for a ticket, which cannot
      // be had either.
      await vi.waitFor(async () => expect(await page.evaluate('errors.length')).toBeGreaterThan(1), WAIT)
      await api.start()
      await comment(3)
      await expectUpToDate()
      await expectOpen()
      await comment()
      await expectUpToDate()
      expect(new Set(requests).size).toBeGreaterThan(1)
    },
  )

  test('continues with new tickets whenever the old one has expired', async () => {
    await set({ stream: { maxDurationSeconds: 1 }, ticket: { connectSeconds: 1, reconnectSeconds: 1 } })
    const before = site.asked.ticket
    await follow()
    let isOver = false
    const writing = (async () => {
      while (!isOver) {
        await comment()
        await setTimeout(100)
      }
    })()
    await vi.waitFor(() => expect(site.asked.ticket - before).toBeGreaterThan(3), WAIT)
    isOver = true
    await writing
    await expectUpToDate()
    expect(await page.evaluate('reloads')).toEqual([])
  })

  test('continues when the network is back, although nothing has reported that the old connection is dead', async () => {
    await follow()
    await comment()
    await expectUpToDate()
    let isAlive = false
    network.swallow((chunk) => {
      isAlive ||= chunk.includes('HTTP/1.1 200')
      return !isAlive
    })
    await page.context().setOffline(true)
    await comment(3)
    await vi.waitFor(() => expect(network.swallowed).toBeGreaterThan(0), WAIT)
    expect(await page.evaluate('stream.state')).toBe('open')
    await page.context().setOffline(false)
    await expectUpToDate()
    await comment()
    await expectUpToDate()
    network.swallow(null)
  })

  test('reopened repeatedly while others write, delivers each event once', async () => {
    await follow()
    const writing = comment(100)
    for (let n = 0; n < 30; n++) {
      await page.evaluate(`dispatchEvent(new Event('online'))`)
      await setTimeout(20)
    }
    await writing
    await expectUpToDate()
  })

  /** How many streams the service has open for the page. */
  const streams = async (): Promise<number> => {
    const { json } = await service.call('GET', `/discussions/by-external/${externalId}`)
    return (await service.call('GET', `/discussions/${json.id}/presence`)).json.streams
  }

  test('disconnects while its page is frozen, and catches up afterwards', async () => {
    const sleeper = await openSleeper(browser, site.url)
    const seen = () => sleeper.evaluate<number[]>('events.map(({ seq }) => seq)')
    try {
      await vi.waitFor(async () => expect(await sleeper.evaluate('typeof follow')).toBe('function'), WAIT)
      await sleeper.evaluate(`follow({ lastEventId: '0' })`)
      await comment()
      await vi.waitFor(async () => expect(await seen()).toEqual(upTo(1)), WAIT)
      await sleeper.freeze()
      await vi.waitFor(async () => expect(await streams()).toBe(0), WAIT)
      await comment(3)
      await sleeper.unfreeze()
      await vi.waitFor(async () => expect(await seen()).toEqual(upTo(4)), WAIT)
      await comment()
      await vi.waitFor(async () => expect(await seen()).toEqual(upTo(5)), WAIT)
    } finally {
      await sleeper.close()
    }
  })

  test.skipIf(!hasWholeBrowser)(
    `disconnects while its page is in the back/forward cache, and catches up afterwards${hasWholeBrowser ? '' : ' (skipped: needs a whole Chromium)'}`,
    async () => {
      await follow()
      await comment()
      await expectUpToDate()
      await page.evaluate(`addEventListener('pageshow', ({ persisted }) => (window.isFromCache = persisted))`)
      await page.goto(`${site.url}/another`)
      await vi.waitFor(async () => expect(await streams()).toBe(0), WAIT)
      await comment(3)
      await page.goBack({ waitUntil: 'commit' })
      await vi.waitFor(async () => expect(await page.evaluate('window.isFromCache')).toBe(true), WAIT)
      await expectUpToDate()
      await comment()
      await expectUpToDate()
    },
  )

  test('beyond the replay window, makes the page load its data again, and continues after them', async () => {
    await set({ stream: { replayEvents: 100 } })
    await follow()
    await comment()
    await expectUpToDate()
    await page.evaluate(`dispatchEvent(new Event('pagehide'))`)
    await comment(150)
    await page.evaluate(`dispatchEvent(new Event('pageshow'))`)
    await vi.waitFor(async () => expect(await page.evaluate('reloads')).toEqual(['151']), WAIT)
    await expectOpen()
    await comment(2)
    await vi.waitFor(async () => expect(await seqs()).toEqual([1, 152, 153]), WAIT)
  })

  test('over a cap, waits as told, beside a bare EventSource, and both get their streams when places are free', async () => {
    await follow()
    // Not before: the stream of the test before may still count for a moment, and this one would
    // wait, too.
    await set({ stream: { maxStreams: 1 } })
    const other = await browser.newPage()
    try {
      const made = streamRequests(other)
      const asked = site.asked.ticket
      await other.goto(site.url)
      await other.evaluate(`follow()`)
      await other.evaluate(`fetch('/ticket', { method: 'POST' }).then((response) => response.json()).then(({ streamUrl }) => {
          window.bare = new EventSource(streamUrl)
          window.framing = []
          for (const type of ['connected', 'connection-timeout']) bare.addEventListener(type, () => framing.push(type))
        })`)
      await vi.waitFor(() => expect(made).toHaveLength(2), WAIT)
      await vi.waitFor(async () => expect(await other.evaluate('framing')).toEqual(['connection-timeout']), WAIT)
      // One of four is kept for the tenant's keys.
      await set({ stream: { maxStreams: 4 } })
      // `retry: 30000`, and no sooner.
      await vi.waitFor(async () => expect(await other.evaluate('framing')).toContain('connected'), WAIT)
      await vi.waitFor(async () => expect(await other.evaluate('stream.state')).toBe('open'), WAIT)
      expect(await other.evaluate('framing')).toEqual(['connection-timeout', 'connected'])
      expect(made).toHaveLength(4)
      expect(site.asked.ticket - asked).toBe(2)
      await comment()
      await vi.waitFor(async () => expect(await other.evaluate('events.map(({ seq }) => seq)')).toEqual([1]), WAIT)
    } finally {
      await other.close()
    }
  })

  test('closed, makes no further request, and leaves no stream', async () => {
    await follow()
    await comment()
    await expectUpToDate()
    await page.evaluate('stream.close()')
    await vi.waitFor(async () => expect(await streams()).toBe(0), WAIT)
    const [made, asked] = [requests.length, site.asked.ticket]
    await page.evaluate(`for (const name of ['online', 'pagehide', 'pageshow']) dispatchEvent(new Event(name))`)
    await page.evaluate(
      `for (const name of ['freeze', 'resume', 'visibilitychange']) document.dispatchEvent(new Event(name))`,
    )
    await comment()
    // Longer than a first pause.
    await setTimeout(1500)
    expect([requests.length, site.asked.ticket]).toEqual([made, asked])
    expect(await seqs()).toEqual([1])
    expect(await page.evaluate('states')).toEqual(['connecting', 'open', 'closed'])
  })
})
