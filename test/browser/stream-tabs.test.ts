import type { Page } from 'playwright-core'
import { beforeEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { describeInBrowser, openSleeper, type Sleeper } from '../harness/browser.ts'
import { first } from '../harness/processes.ts'
import { TAB_WAIT, useTabSite, WATCH_STREAMS } from '../harness/tab-site.ts'

/** What each tab keeps of its stream; `follow(lastEventIds)` begins it. */
const SCRIPT = `
import { shareSeveralStream } from '/browser/tabs.js'

${WATCH_STREAMS}
window.read = []
window.follow = (lastEventIds) => {
  window.stream = shareSeveralStream({
    name: 'front page',
    lastEventIds,
    ticket: async () => (await fetch('/credential', { method: 'POST' })).json(),
    onEvent: ({ discussionId, seq }) => window.read.push(discussionId + '/' + seq),
    onReload: () => undefined,
  })
}
`

describeInBrowser('tabs that share a stream of several discussions', () => {
  let ids: string[]
  let written: Record<string, number>
  const site = useTabSite({
    script: SCRIPT,
    opened: 'streams.size',
    credential: (service) => service.call('POST', '/stream/ticket', { body: { discussionIds: ids } }),
  })

  beforeEach(async () => {
    ids = []
    for (let n = 0; n < 3; n++)
      ids.push((await site.service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id as string)
    written = Object.fromEntries(ids.map((id) => [id, 0]))
  })

  const begin = (): Record<string, string> => Object.fromEntries(ids.map((id) => [id, '0']))
  const open = (): Promise<Page> => site.follow(begin())
  /** A comment in each discussion in turn. */
  async function comment(count: number): Promise<void> {
    const headers = await site.service.as('ada')
    for (let n = 0; n < count; n++) {
      const id = ids[n % ids.length] as string
      await site.service.ok('POST', `/discussions/${id}/comments`, { body: newId() }, headers)
      written[id] = (written[id] ?? 0) + 1
    }
  }
  const expectAll = (tab: Pick<Sleeper, 'evaluate'>): Promise<void> =>
    vi.waitFor(async () => {
      const read = await tab.evaluate<string[]>('read')
      for (const id of ids) {
        const all = Array.from({ length: written[id] ?? 0 }, (_, n) => `${id}/${n + 1}`)
        expect(read.filter((each) => each.startsWith(id))).toEqual(all)
      }
    }, TAB_WAIT)
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
  ])('have one, and each gets each event once, also when the tab with it is %s', async (_how, end) => {
    const tabs = [await open(), await open(), await open()]
    await comment(5)
    for (const tab of tabs) await expectAll(tab)
    const leader = await site.leaderOf(tabs)
    await comment(4)
    await end(leader)
    await comment(4)
    const left = tabs.filter((tab) => tab !== leader)
    for (const tab of left) await expectAll(tab)
    await site.leaderOf(left)
  })

  test('give the stream to another when the tab with it is frozen', async () => {
    const from = JSON.stringify(begin())
    const tabs: Sleeper[] = []
    try {
      // The first one gets the lock.
      for (let n = 0; n < 2; n++) {
        const tab = await openSleeper(site.browser, site.url)
        tabs.push(tab)
        await vi.waitFor(() => tab.evaluate(`follow(${from})`), TAB_WAIT)
        await vi.waitFor(async () => expect(await tab.evaluate('stream.state')).toBe('open'), TAB_WAIT)
      }
      const [leader, other] = tabs as [Sleeper, Sleeper]
      await comment(4)
      for (const tab of tabs) await expectAll(tab)
      await vi.waitFor(async () => expect(await other.evaluate('streams.size')).toBe(0), TAB_WAIT)
      await leader.freeze()
      await comment(4)
      await expectAll(other)
      await vi.waitFor(async () => expect(await other.evaluate('streams.size')).toBe(1), TAB_WAIT)
      await leader.unfreeze()
      await comment(2)
      for (const tab of tabs) await expectAll(tab)
      expect(await leader.evaluate('streams.size')).toBe(0)
    } finally {
      for (const tab of tabs) await tab.close()
    }
  })

  test('go on through a restart of the service', async () => {
    const tabs = [await open(), await open()]
    await comment(3)
    for (const tab of tabs) await expectAll(tab)
    await first(site.service.apis).kill()
    await first(site.service.apis).start()
    await comment(4)
    for (const tab of tabs) await expectAll(tab)
  })
})
