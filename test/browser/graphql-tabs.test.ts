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

/** What each tab keeps of its subscription; `follow(options)` begins it. */
const PAGE = `<!doctype html>
<meta charset="utf-8">
<link rel="icon" href="data:,">
<script type="module">
  import { createGraphqlClient } from '/client.js'

  const token = async () => (await fetch('/token', { method: 'POST' })).json()
  Object.assign(window, { seqs: [], ends: [], open: 0 })
  window.follow = ({ url, variables }) => {
    const client = createGraphqlClient({
      url,
      token,
      share: true,
      // What the tab itself has open.
      fetch: async (input, init) => {
        const answer = await fetch(input, init)
        if (String(input).endsWith('/stream') && answer.ok) {
          window.open++
          init.signal.addEventListener('abort', () => window.open--)
        }
        return answer
      },
    })
    const query = 'subscription ($discussionId: ID!, $lastEventId: String!) { discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) { seq } }'
    window.end = client.subscribe({ query, variables }, {
      next: ({ data }) => window.seqs.push(data.discussionEvents.seq),
      error: (error) => window.ends.push(String(error)),
      complete: () => window.ends.push('complete'),
    })
  }
</script>
`

describeInBrowser('tabs that share a subscription', () => {
  let browser: Browser
  let context: BrowserContext
  let service: Processes
  let site: Server
  let siteUrl: string
  let externalId: string
  let discussionId: string
  let posted = 0

  beforeAll(async () => {
    service = await startProcesses({ worker: 0 })
    const port = await freePort()
    siteUrl = `http://127.0.0.1:${port}`
    const mint = async (): Promise<string> =>
      JSON.stringify((await service.call('POST', '/client-tokens', { body: { externalIds: [externalId] } })).json)
    site = createServer((request, response) => {
      const { url = '/' } = request
      if (url === '/token') {
        mint().then(
          (token) => response.end(token),
          () => response.writeHead(502).end(),
        )
      } else if (/^\/\w+\.js$/.test(url)) {
        response.setHeader('content-type', 'text/javascript')
        response.end(readFileSync(join(ROOT, 'dist/clients/graphql', url)))
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
    externalId = newId()
    posted = 0
    discussionId = (await service.call('POST', '/discussions', { body: { externalId } })).json.id
    context = await browser.newContext()
  })
  afterEach(() => context.close())

  async function open(lastEventId: string): Promise<Page> {
    const tab = await context.newPage()
    await tab.goto(siteUrl)
    const variables = { discussionId, lastEventId }
    await tab.evaluate((given) => (window as unknown as { follow(given: object): void }).follow(given), {
      url: `${first(service.apis).url}/graphql`,
      variables,
    })
    return tab
  }
  async function comment(count: number): Promise<void> {
    const headers = await service.as('ada')
    for (let n = 0; n < count; n++) {
      const body = { body: `Number ${++posted}` }
      expect((await service.call('POST', `/discussions/${discussionId}/comments`, { body, headers })).status).toBe(201)
    }
  }
  const read = <T>(tab: Page, name: string): Promise<T> => tab.evaluate<T>(name)
  const all = (from = 1): number[] => Array.from({ length: posted - from + 1 }, (_, n) => n + from)
  const expectAll = (tab: Page, from = 1): Promise<void> =>
    vi.waitFor(async () => expect(await read<number[]>(tab, 'seqs')).toEqual(all(from)), WAIT)
  const openIn = (tabs: readonly Page[]): Promise<number[]> => Promise.all(tabs.map((tab) => read<number>(tab, 'open')))
  /** The tab that holds the connection of all. */
  async function leaderOf(tabs: readonly Page[]): Promise<Page> {
    await vi.waitFor(
      async () => expect((await openIn(tabs)).toSorted((a, b) => a - b)).toEqual([...tabs.slice(1).map(() => 0), 1]),
      WAIT,
    )
    return tabs[(await openIn(tabs)).indexOf(1)] as Page
  }

  test(
    'have one connection, and each gets each event once and in order, also when the tab with it is closed',
    { timeout: LONG },
    async () => {
      const tabs = [await open('0'), await open('0'), await open('0')]
      await comment(3)
      for (const tab of tabs) await expectAll(tab)
      const leader = await leaderOf(tabs)
      await comment(2)
      await leader.close()
      await comment(2)
      const left = tabs.filter((tab) => tab !== leader)
      for (const tab of left) await expectAll(tab)
      await leaderOf(left)
      expect(await Promise.all(left.map((tab) => read(tab, 'ends')))).toEqual([[], []])
    },
  )

  test('that come late get what they lack, and then share', { timeout: LONG }, async () => {
    const early = await open('0')
    await comment(4)
    await expectAll(early)
    const [behind, ahead] = [await open('1'), await open('4')]
    await expectAll(behind, 2)
    await comment(2)
    await expectAll(early)
    await expectAll(behind, 2)
    await expectAll(ahead, 5)
    await leaderOf([early, behind, ahead])
  })

  test('go on through a restart of the service', { timeout: LONG }, async () => {
    const tabs = [await open('0'), await open('0')]
    await comment(2)
    for (const tab of tabs) await expectAll(tab)
    await first(service.apis).stop()
    await first(service.apis).start()
    await comment(3)
    for (const tab of tabs) await expectAll(tab)
  })
})
