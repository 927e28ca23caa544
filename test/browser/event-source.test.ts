import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { type Balancer, NGINX, startPlainNginx } from '../harness/balancers.ts'
import { describeInBrowser, launchBrowser } from '../harness/browser.ts'
import { first } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'
import { type Site, startSite, streamRequests } from '../harness/site.ts'

const WAIT = { timeout: 25_000, interval: 50 }
const OPEN = 1
const CLOSED = 2

describeInBrowser("the browser's own EventSource", () => {
  let browser: Browser
  const service = useProcesses({ worker: 0 })
  let site: Site
  let page: Page
  let externalId: string

  beforeAll(async () => {
    // Of the backend these tests ask themselves.
    site = await startSite({ ticket: () => Promise.reject(new Error()), page: () => Promise.reject(new Error()) })
    browser = await launchBrowser()
    await service.call('PATCH', '/settings', { body: { allowedOrigins: [site.url] } })
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })
  afterEach(() => page.close())

  async function visit(url = site.url): Promise<void> {
    page = await browser.newPage()
    await page.goto(url)
  }

  /** Opens a stream in the page under a name, by a ticket, directly or by way of a proxy. */
  async function open(name: string, proxy?: Balancer): Promise<void> {
    const { json } = await service.call('POST', '/stream/ticket', { body: { externalId: externalId } })
    const { origin, pathname, search } = new URL(json.streamUrl as string)
    await page.evaluate(`{
      const source = new EventSource(${JSON.stringify((proxy?.url ?? origin) + pathname + search)})
      const seqs = [], framing = []
      source.addEventListener('comment_created', ({ data, lastEventId }) => seqs.push([lastEventId, JSON.parse(data).seq]))
      for (const type of ['connected', 'connection-timeout']) source.addEventListener(type, () => framing.push(type))
      window[${JSON.stringify(name)}] = { source, seqs, framing }
    }`)
  }

  const readyState = (name: string) => page.evaluate<number>(`${name}.source.readyState`)
  const framing = (name: string) => page.evaluate<string[]>(`${name}.framing`)
  const seqs = (name: string) => page.evaluate<[string, number][]>(`${name}.seqs`)
  const upTo = (n: number) => Array.from({ length: n }, (_, index) => [String(index + 1), index + 1])

  async function comment(count = 1): Promise<void> {
    const headers = await service.as('ada')
    for (let n = 0; n < count; n++) {
      const path = `/discussions/by-external/${externalId}/comments`
      expect((await service.call('POST', path, { body: { body: `Number ${n}` }, headers })).status).toBe(201)
    }
  }

  test('receives at an allowed origin, and closes for good at another one', async () => {
    externalId = newId()
    await visit()
    await open('allowed')
    await vi.waitFor(async () => expect(await framing('allowed')).toEqual(['connected']), WAIT)
    await comment(3)
    await vi.waitFor(async () => expect(await seqs('allowed')).toEqual(upTo(3)), WAIT)
    await page.close()
    // The same machine by another name is another origin.
    await visit(site.url.replace('127.0.0.1', 'localhost'))
    await open('refused')
    await vi.waitFor(async () => expect(await readyState('refused')).toBe(CLOSED), WAIT)
    expect(await framing('refused')).toEqual([])
  })

  test('follows with credentials at an allowed origin, where `*` would not do', async () => {
    externalId = newId()
    await visit()
    const { json } = await service.call('POST', '/stream/ticket', { body: { externalId } })
    await page.evaluate(`{
      const source = new EventSource(${JSON.stringify(json.streamUrl)}, { withCredentials: true })
      window.withCredentials = { source, framing: [] }
      source.addEventListener('connected', () => withCredentials.framing.push('connected'))
    }`)
    await vi.waitFor(async () => expect(await framing('withCredentials')).toEqual(['connected']), WAIT)
  })

  test('a page asks and follows GraphQL by a client token from an allowed origin, and from no other', async () => {
    externalId = newId()
    const headers = await service.as('ada')
    const { json } = await service.call('POST', '/client-tokens', { body: { externalIds: [externalId] }, headers })
    const ask = (url: string, token: string, query: string, how = '') =>
      page.evaluate<{ status?: number; text?: string; refused?: string; readable?: string | null }>(
        `fetch(${JSON.stringify(url)}, {
          method: 'POST',
          credentials: 'include',
          headers: { authorization: 'Bearer ${token}', 'content-type': 'application/json' ${how} },
          body: JSON.stringify({ query: ${JSON.stringify(query)} }),
        }).then(
          async (response) => ({ status: response.status, text: await response.text(), readable: response.headers.get('ratelimit-remaining') }),
          (error) => ({ refused: String(error) }),
        )`,
      )
    const { url } = first(service.apis)
    await visit()
    const create = `mutation { createComment(input: { discussion: { externalId: "${externalId}" }, body: "Hi" }) { comment { id discussionId author { externalId } } } }`
    const created = await ask(`${url}/graphql`, json.token as string, create)
    expect(created).toMatchObject({ status: 200, readable: expect.stringMatching(/^\d+$/) as string })
    const { comment: posted } = JSON.parse(created.text ?? '').data.createComment
    expect(posted.author.externalId).toBe('ada')
    // A subscription over fetch: the first event, which it replays.
    const follow = `subscription { discussionEvents(discussionId: "${posted.discussionId}", lastEventId: "0") { type } }`
    const begun = await page.evaluate<string>(
      `fetch(${JSON.stringify(`${url}/graphql/stream`)}, {
        method: 'POST',
        credentials: 'include',
        headers: { authorization: 'Bearer ${json.token as string}', 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify({ query: ${JSON.stringify(follow)} }),
      }).then(async ({ body }) => {
        const reader = body.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        while (!text.includes('comment_created')) text += (await reader.read()).value
        await reader.cancel()
        return text
      })`,
    )
    expect(begun).toContain('"type":"comment_created"')
    // The page can read why a token is refused.
    const refused = await ask(`${url}/graphql`, `ct_${'0'.repeat(64)}`, '{ publicSettings { maxDepth } }')
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('invalid_client_token')])
    await page.close()
    await visit(site.url.replace('127.0.0.1', 'localhost'))
    expect(await ask(`${url}/graphql`, json.token as string, create)).toEqual({
      refused: expect.stringContaining('Failed'),
    })
  })

  test.each(NGINX === undefined ? ['directly'] : ['directly', 'through nginx'])(
    'receives events one by one %s, compressed, also where it joins midway',
    async (way) => {
      externalId = newId()
      const proxy =
        way === 'directly' ? undefined : await startPlainNginx(`location / { proxy_pass ${first(service.apis).url}; }`)
      await visit()
      const response = page.waitForResponse(/stream/)
      await open('early', proxy)
      expect((await (await response).allHeaders())['content-encoding']).toBe('gzip')
      for (let n = 1; n <= 5; n++) {
        if (n === 3) {
          await open('late', proxy)
          await vi.waitFor(async () => expect(await framing('late')).toEqual(['connected']), WAIT)
        }
        await comment()
        await vi.waitFor(async () => expect(await seqs('early')).toEqual(upTo(n)), WAIT)
      }
      await vi.waitFor(async () => expect(await seqs('late')).toEqual(upTo(5).slice(2)), WAIT)
      await proxy?.close()
    },
  )

  test.each(['stop', 'kill'] as const)(
    'comes back by itself after a %s of the service, with the same ticket, and misses and doubles nothing',
    async (end) => {
      externalId = newId()
      const api = first(service.apis)
      await visit()
      const requests = streamRequests(page)
      await open('stream')
      await vi.waitFor(async () => expect(await readyState('stream')).toBe(OPEN), WAIT)
      await comment(2)
      await vi.waitFor(async () => expect(await seqs('stream')).toEqual(upTo(2)), WAIT)
      await api[end]()
      await api.start()
      await comment(3)
      await vi.waitFor(async () => expect(await seqs('stream')).toEqual(upTo(5)), WAIT)
      await comment()
      await vi.waitFor(async () => expect(await seqs('stream')).toEqual(upTo(6)), WAIT)
      expect(requests.length).toBeGreaterThan(1)
      expect(new Set(requests).size).toBe(1)
    },
  )
})
