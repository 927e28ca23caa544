import type { Page } from 'playwright-core'
import { beforeEach, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { first } from '../harness/processes.ts'
import { TAB_WAIT, useTabSite } from '../harness/tab-site.ts'

/** What each tab keeps of its subscription; `follow(options)` begins it. */
const SCRIPT = `
import { createGraphqlClient } from '/graphql/client.js'

const token = async () => (await fetch('/credential', { method: 'POST' })).json()
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
`

describeInBrowser('tabs that share a subscription', () => {
  let externalId: string
  let discussionId: string
  let posted = 0
  const site = useTabSite({
    script: SCRIPT,
    opened: 'open',
    credential: (service) => service.call('POST', '/client-tokens', { body: { externalIds: [externalId] } }),
  })

  beforeEach(async () => {
    externalId = newId()
    posted = 0
    discussionId = (await site.service.call('POST', '/discussions', { body: { externalId } })).json.id
  })

  const open = (lastEventId: string): Promise<Page> =>
    site.follow({ url: `${first(site.service.apis).url}/graphql`, variables: { discussionId, lastEventId } })
  async function comment(count: number): Promise<void> {
    const headers = await site.service.as('ada')
    for (let n = 0; n < count; n++) {
      const body = { body: `Number ${++posted}` }
      expect((await site.service.call('POST', `/discussions/${discussionId}/comments`, { body, headers })).status).toBe(
        201,
      )
    }
  }
  const read = <T>(tab: Page, name: string): Promise<T> => tab.evaluate<T>(name)
  const all = (from = 1): number[] => Array.from({ length: posted - from + 1 }, (_, n) => n + from)
  const expectAll = (tab: Page, from = 1): Promise<void> =>
    vi.waitFor(async () => expect(await read<number[]>(tab, 'seqs')).toEqual(all(from)), TAB_WAIT)
  test('have one connection, and each gets each event once and in order, also when the tab with it is closed', async () => {
    const tabs = [await open('0'), await open('0'), await open('0')]
    await comment(3)
    for (const tab of tabs) await expectAll(tab)
    const leader = await site.leaderOf(tabs)
    await comment(2)
    await leader.close()
    await comment(2)
    const left = tabs.filter((tab) => tab !== leader)
    for (const tab of left) await expectAll(tab)
    await site.leaderOf(left)
    expect(await Promise.all(left.map((tab) => read(tab, 'ends')))).toEqual([[], []])
  })

  test('that come late get what they lack, and then share', async () => {
    const early = await open('0')
    await comment(4)
    await expectAll(early)
    const [behind, ahead] = [await open('1'), await open('4')]
    await expectAll(behind, 2)
    await comment(2)
    await expectAll(early)
    await expectAll(behind, 2)
    await expectAll(ahead, 5)
    await site.leaderOf([early, behind, ahead])
  })

  test('go on through a restart of the service', async () => {
    const tabs = [await open('0'), await open('0')]
    await comment(2)
    for (const tab of tabs) await expectAll(tab)
    await first(site.service.apis).stop()
    await first(site.service.apis).start()
    await comment(3)
    for (const tab of tabs) await expectAll(tab)
  })
})
