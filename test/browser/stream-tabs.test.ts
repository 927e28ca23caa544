import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { describeInBrowser, launchBrowser } from '../harness/browser.ts'
import { ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'

const WAIT = { timeout: 40_000, interval: 50 }
const LONG = 120_000

/** What each tab keeps of its stream; `follow(lastEventIds)` begins it. */
const PAGE = `<!doctype html>
<meta charset="utf-8">
<link rel="icon" href="data:,">
<script type="module">
  import { shareSeveralStream } from '/tabs.js'

  Object.assign(window, { read: [], open: new Set() })
  // What the tab itself has open.
  const Own = window.EventSource
  window.EventSource = class extends Own {
    constructor(url) {
      super(url)
      window.open.add(this)
    }
    close() {
      super.close()
      window.open.delete(this)
    }
  }
  window.follow = (lastEventIds) => {
    window.stream = shareSeveralStream({
      name: 'front page',
      lastEventIds,
      ticket: async () => (await fetch('/ticket', { method: 'POST' })).json(),
      onEvent: ({ discussionId, seq }) => window.read.push(discussionId + '/' + seq),
      onReload: () => undefined,
    })
  }
</script>
`

describeInBrowser('tabs that share a stream of several discussions', () => {
  let browser: Browser
  let context: BrowserContext
  let service: Processes
  let site: Server
  let siteUrl: string
  let ids: string[]
  let written: Record<string, number>

  beforeAll(async () => {
    service = await startProcesses({ worker: 0 })
    const port = await freePort()
    siteUrl = `http://127.0.0.1:${port}`
    const mint = async (): Promise<string> =>
      JSON.stringify((await service.call('POST', '/stream/ticket', { body: { discussionIds: ids } })).json)
    site = createServer((request, response) => {
      const { url = '/' } = request
      if (url === '/ticket') {
        mint().then(
          (ticket) => response.end(ticket),
          () => response.writeHead(502).end(),
        )
      } else if (/^\/\w+\.js$/.test(url)) {
        response.setHeader('content-type', 'text/javascript')
        response.end(readFileSync(join(ROOT, 'dist/clients/browser', url)))
      } else response.setHeader('content-type', 'text/html').end(PAGE)
    })
    await new Promise<void>((resolve) => site.listen(port, '127.0.0.1', resolve))
    await service.call('PATCH', '/settings', { body: { allowedOrigins: [siteUrl] } })
    browser = await launchBrowser('whole')
  })
  afterAll(async () => {
    await browser?.close()
    site?.closeAllConnections()
    site?.close()
    await service?.close()
  })
  beforeEach(async () => {
    ids = []
    for (let n = 0; n < 3; n++)
      ids.push((await service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id as string)
    written = Object.fromEntries(ids.map((id) => [id, 0]))
    context = await browser.newContext()
  })
  afterEach(() => context.close())

  async function open(): Promise<Page> {
    const tab = await context.newPage()
    await tab.goto(siteUrl)
    const from = Object.fromEntries(ids.map((id) => [id, '0']))
    await tab.evaluate((given) => (window as unknown as { follow(given: object): void }).follow(given), from)
    return tab
  }
  /** A comment in each discussion in turn. */
  async function comment(count: number): Promise<void> {
    const headers = await service.as('ada')
    for (let n = 0; n < count; n++) {
      const id = ids[n % ids.length] as string
      const posted = await service.call('POST', `/discussions/${id}/comments`, { body: { body: newId() }, headers })
      expect(posted.status).toBe(201)
      written[id] = (written[id] ?? 0) + 1
    }
  }
  const expectAll = (tab: Page): Promise<void> =>
    vi.waitFor(async () => {
      const read = await tab.evaluate<string[]>('read')
      for (const id of ids) {
        const all = Array.from({ length: written[id] ?? 0 }, (_, n) => `${id}/${n + 1}`)
        expect(read.filter((each) => each.startsWith(id))).toEqual(all)
      }
    }, WAIT)
  const openIn = (tabs: readonly Page[]): Promise<number[]> =>
    Promise.all(tabs.map((tab) => tab.evaluate<number>('open.size')))
  /** The tab that holds the stream of all. */
  async function leaderOf(tabs: readonly Page[]): Promise<Page> {
    await vi.waitFor(
      async () => expect((await openIn(tabs)).toSorted((a, b) => a - b)).toEqual([...tabs.slice(1).map(() => 0), 1]),
      WAIT,
    )
    return tabs[(await openIn(tabs)).indexOf(1)] as Page
  }

  test.each<[string, (leader: Page) => Promise<unknown>]>([
    ['closed', (leader) => leader.close()],
    [
      'killed',
      async (leader) => {
        // Chromium never answers: the process of the tab is gone.
        void leader.goto('chrome://crash').catch(() => undefined)
        await leader.waitForEvent('crash')
      },
    ],
    [
      'frozen',
      async (leader) => {
        const session = await context.newCDPSession(leader)
        await session.send('Page.setWebLifecycleState', { state: 'frozen' })
      },
    ],
  ])(
    'have one, and each gets each event once, also when the tab with it is %s',
    { timeout: LONG },
    async (_how, end) => {
      const tabs = [await open(), await open(), await open()]
      await comment(5)
      for (const tab of tabs) await expectAll(tab)
      const leader = await leaderOf(tabs)
      await comment(4)
      await end(leader)
      await comment(4)
      const left = tabs.filter((tab) => tab !== leader)
      for (const tab of left) await expectAll(tab)
      await leaderOf(left)
    },
  )

  test('go on through a restart of the service', { timeout: LONG }, async () => {
    const tabs = [await open(), await open()]
    await comment(3)
    for (const tab of tabs) await expectAll(tab)
    await first(service.apis).kill()
    await first(service.apis).start()
    await comment(4)
    for (const tab of tabs) await expectAll(tab)
  })
})
