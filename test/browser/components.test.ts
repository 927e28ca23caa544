import type { IncomingMessage } from 'node:http'

import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { createBackend } from '../../src/clients/backend/backend.ts'
import { describeInBrowser } from '../harness/browser.ts'
import type { Heard, PageState } from '../harness/components/page.ts'
import {
  type ComponentSite,
  type Framework,
  FRAMEWORKS,
  isInstalled,
  startComponentSite,
} from '../harness/component-sites.ts'
import { useServiceAndBrowser } from '../harness/service-browser.ts'
import { newArticle, windowOf, type Window } from '../harness/widget.ts'

const WAIT = { timeout: 20_000, interval: 20 }
const THREAD = `document.querySelector('engagement-thread')`
const WATCH_SHIFTS = `
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) shifts.push(value)
  }).observe({ type: 'layout-shift', buffered: true })`

describeInBrowser('components of frameworks', () => {
  const shared = useServiceAndBrowser()
  const { post } = shared

  const streamsOf = async (article: string): Promise<number> => {
    const { json } = await shared.service.call('GET', `/discussions/by-external/${article}`)
    return (await shared.service.call('GET', `/discussions/${json.id}/presence`)).json.streams
  }

  for (const framework of Object.keys(FRAMEWORKS) as Framework[]) {
    const isHere = isInstalled(framework)
    describe.skipIf(!isHere)(`${framework}${isHere ? '' : ' (skipped: it is not installed)'}`, () => {
      let site: ComponentSite
      const contexts: BrowserContext[] = []
      const said: string[] = []
      beforeAll(async () => {
        site = await startComponentSite(framework, () =>
          createBackend({
            url: shared.service.url,
            apiKey: shared.service.apiKey,
            tenant: shared.service.tenant.slug,
            identitySecret: shared.service.identitySecret.secret,
            reader: ({ headers }: IncomingMessage) => {
              const id = /reader=(\w+)/.exec(headers.cookie ?? '')?.[1]
              return id === undefined ? null : { id, name: id }
            },
          }),
        )
        await shared.service.call('PATCH', '/settings', { body: { allowedOrigins: [site.url] } })
      })
      afterEach(async () => {
        await Promise.all(contexts.splice(0).map((context) => context.close()))
        expect(said.splice(0)).toEqual([])
      })
      afterAll(() => site?.close())

      interface Opened extends Window {
        heard: () => Promise<Heard['heard']>
        show: (change: Partial<PageState>) => Promise<void>
        /** The requests below `/engagement`, with the token that each of them has. */
        asked: { path: string; token: string | undefined }[]
      }

      async function visit(
        thread: PageState['thread'],
        { as, render, ...state }: Partial<PageState> & { as?: string; render?: object } = {},
      ): Promise<Opened> {
        const context = await shared.browser.newContext()
        contexts.push(context)
        if (as !== undefined) await context.addCookies([{ name: 'reader', value: as, url: site.url }])
        const page = await context.newPage()
        const asked: Opened['asked'] = []
        page.on('request', (sent) => {
          const path = /\/engagement\/(?:pk_\w+\/)?([\w-]+)/.exec(sent.url())?.[1]
          if (path !== undefined) asked.push({ path, token: sent.headers()['authorization'] })
        })
        page.on('console', (message) => {
          if (/error|warning/.test(message.type())) said.push(message.text())
        })
        page.on('pageerror', (error) => said.push(error.message))
        await page.addInitScript(WATCH_SHIFTS)
        const full: PageState = {
          thread: { service: shared.service.url, ...thread },
          draws: 0,
          isShown: true,
          ...state,
        }
        const query = new URLSearchParams({
          state: JSON.stringify(full),
          ...(render && { render: JSON.stringify(render) }),
        })
        await page.goto(`${site.url}/?${query}`)
        return {
          ...windowOf(page),
          asked,
          heard: () => page.evaluate<Heard['heard']>('window.heard'),
          show: (change) => page.evaluate(`window.show(${JSON.stringify(change)})`),
        }
      }
      const heardOf = async (window: Opened, name: string) =>
        (await window.heard()).filter((each) => each.name === name)
      const isFirst = (page: Page) => page.evaluate(`${THREAD} === window.first`)

      test('keeps the element and the text in it when the page draws again, and when properties change', async () => {
        const article = newArticle()
        // Their order can be chosen where there are two.
        for (const text of ['Text one', 'Text two']) await post(article, 'bob', text)
        const window = await visit({ discussion: article, pageSize: 5 }, { as: 'ann' })
        const field = window.thread.getByRole('textbox', { name: 'Write a comment' })
        await field.fill('A draft')
        await window.page.evaluate(`window.first = ${THREAD}`)
        for (let draws = 1; draws <= 3; draws++) await window.show({ draws })
        await window.page.locator('#draws', { hasText: '3' }).waitFor()
        expect(window.asked.filter(({ path }) => path === 'thread')).toHaveLength(1)
        const thread = {
          service: shared.service.url,
          discussion: article,
          pageSize: 5,
          theme: 'dark',
          sort: 'oldest',
          lang: 'de',
        }
        await window.show({ thread })
        await window.thread.getByText('Älteste').first().waitFor({ state: 'attached' })
        expect(await window.page.evaluate(`${THREAD}.getAttribute('theme')`)).toBe('dark')
        expect(await window.page.evaluate(`${THREAD}.getAttribute('page-size')`)).toBe('5')
        await vi.waitFor(() => expect(window.asked.filter(({ path }) => path === 'thread')).toHaveLength(2), WAIT)
        expect(await window.thread.locator('textarea').inputValue()).toBe('A draft')
        expect(await isFirst(window.page)).toBe(true)
        expect(await window.page.locator('engagement-thread').count()).toBe(1)
        await window.show({ thread: { ...thread, theme: undefined } })
        await vi.waitFor(
          async () => expect(await window.page.evaluate(`${THREAD}.hasAttribute('theme')`)).toBe(false),
          WAIT,
        )
      })

      test('takes back what the page no longer gives', async () => {
        const article = newArticle()
        const [first, second] = [`Text of ${article}`, 'Text without a page']
        await post(article, 'bob', first)
        await post('undefined', 'bob', second)
        const strings = { title: 'Opinions' }
        const window = await visit({ discussion: article, sort: 'oldest', lang: 'de', strings }, { as: 'ann' })
        await window.thread.getByRole('heading', { name: 'Opinions' }).waitFor()
        await window.show({ thread: { service: shared.service.url } })
        await vi.waitFor(
          async () => expect(await window.page.evaluate(`${THREAD}.getAttributeNames().sort()`)).toEqual(['service']),
          WAIT,
        )
        await window.thread.getByRole('heading', { name: 'Opinions' }).waitFor({ state: 'detached' })
        await window.show({ thread: { service: shared.service.url, discussion: article } })
        await window.sees(first)
        expect(await window.thread.getByText(second).count()).toBe(0)
        said.splice(0)
      })

      test('goes on with its attributes when the page withdraws the html', async () => {
        const article = newArticle()
        await post(article, 'bob', 'Text one')
        const window = await visit({}, { render: { externalId: article, lang: 'de' } })
        await vi.waitFor(async () => expect(await streamsOf(article)).toBe(1), WAIT)
        await window.show({ thread: { service: shared.service.url, discussion: article } })
        await vi.waitFor(
          async () =>
            expect(await window.page.evaluate(`${THREAD}.getAttributeNames().sort()`)).toEqual([
              'discussion',
              'service',
            ]),
          WAIT,
        )
        await window.sees('Text one')
        expect(await window.page.evaluate(`${THREAD}.backend`)).toBe('/engagement')
      })

      test('calls back with what readers do, with the function of the last drawing', async () => {
        const article = newArticle()
        await post(article, 'bob', 'Text one')
        const window = await visit({ discussion: article }, { as: 'ann' })
        await vi.waitFor(async () => expect(await heardOf(window, 'ready')).toHaveLength(1), WAIT)
        expect(await heardOf(window, 'ready')).toMatchObject([{ detail: { count: 1, reader: { id: 'ann' } } }])
        await window.show({ draws: 7 })
        await window.write('Text two')
        await vi.waitFor(async () => expect(await heardOf(window, 'posted')).toHaveLength(1), WAIT)
        const [posted] = await heardOf(window, 'posted')
        expect(posted).toMatchObject({ draws: 7, detail: { comment: { body: 'Text two' } } })
        const { comment } = posted!.detail as { comment: { id: string } }
        await post(article, 'bob', 'An answer', comment.id)
        await vi.waitFor(async () => expect(await heardOf(window, 'reply')).toHaveLength(1), WAIT)
        expect(await heardOf(window, 'error')).toEqual([])
      })

      test('lets the page sign a reader in by itself', async () => {
        const article = newArticle()
        const window = await visit({ discussion: article, signIn: '/login' })
        await window.button('Sign in to comment').click()
        await vi.waitFor(async () => expect(await heardOf(window, 'sign-in')).toHaveLength(1), WAIT)
        expect(new URL(window.page.url()).pathname).toBe('/')
      })

      test('closes its stream when the page removes it, and opens another when it comes back', async () => {
        const article = newArticle()
        await post(article, 'bob', 'Text one')
        const window = await visit({ discussion: article })
        await vi.waitFor(async () => expect(await streamsOf(article)).toBe(1), WAIT)
        await window.show({ isShown: false })
        await vi.waitFor(async () => expect(await streamsOf(article)).toBe(0), WAIT)
        await window.show({ isShown: true })
        await window.sees('Text one')
        await vi.waitFor(async () => expect(await streamsOf(article)).toBe(1), WAIT)
        expect(window.asked.filter(({ path }) => path === 'thread')).toHaveLength(2)
      })

      test('takes over what the server has drawn without a shift, a warning or a second request', async () => {
        const article = newArticle()
        for (let n = 0; n < 8; n++) await post(article, `${article}-${n}`, `Comment ${n}. `.repeat(9 * n + 1))
        const window = await visit({}, { render: { externalId: article, lang: 'en' } })
        await vi.waitFor(async () => expect(await streamsOf(article)).toBe(1), WAIT)
        await window.sees('Comment 7.')
        expect(await window.page.evaluate('window.shifts')).toEqual([])
        await post(article, 'bob', 'A later one')
        await window.button('1 new comment').click()
        await window.sees('A later one')
      })

      test('of a page that is the same for all readers asks who reads, and for nothing else', async () => {
        const article = newArticle()
        await post(article, 'bob', 'Text one')
        const window = await visit({}, { render: { externalId: article } })
        await window.button('Sign in to comment').waitFor()
        await vi.waitFor(async () => expect(await streamsOf(article)).toBe(1), WAIT)
        expect(window.asked.map(({ path }) => path).sort()).toEqual(['me', 'ticket'])
        expect(await window.page.evaluate('window.shifts')).toEqual([])
        expect(await heardOf(window, 'ready')).toHaveLength(1)
        await window.page.evaluate(`window.first = ${THREAD}`)
        await window.show({ draws: 1 })
        await window.sees('Text one')
        expect(await isFirst(window.page)).toBe(true)
      })

      test('says that the widget does not load', async () => {
        const window = await visit({ discussion: newArticle(), service: `${shared.service.url}/nowhere` })
        await vi.waitFor(
          async () => expect(await heardOf(window, 'error')).toMatchObject([{ detail: { action: 'script' } }]),
          WAIT,
        )
        expect(said.splice(0).join()).toContain('/nowhere/widget.js')
      })

      test('of a site asks from its first request on as the reader whom the page names', async () => {
        const body = { name: 'Pages', origins: [site.url] }
        const { json } = await shared.service.call('POST', '/sites', { body })
        const tokens = (window: Opened) =>
          window.asked.filter(({ path }) => path === 'thread').map(({ token }) => token)
        const window = await visit({ site: json.publicKey }, { token: 'of-an-issuer' })
        await vi.waitFor(async () => expect((await heardOf(window, 'ready')).length).toBeGreaterThan(0), WAIT)
        expect(tokens(window)[0]).toBe('Bearer of-an-issuer')
        // The widget is there when the element comes again.
        await window.show({ isShown: false })
        window.asked.length = 0
        await window.show({ isShown: true })
        await vi.waitFor(() => expect(tokens(window).length).toBeGreaterThan(0), WAIT)
        expect(tokens(window)[0]).toBe('Bearer of-an-issuer')
        await vi.waitFor(async () => expect((await heardOf(window, 'ready')).length).toBeGreaterThan(1), WAIT)
        const before = (await heardOf(window, 'ready')).length
        window.asked.length = 0
        await window.show({ token: null })
        await vi.waitFor(async () => expect((await heardOf(window, 'ready')).length).toBeGreaterThan(before), WAIT)
        expect(new Set(tokens(window))).toEqual(new Set([undefined]))
        // Nothing after a function is nobody as well.
        const reads = async (token: string) => {
          window.asked.length = 0
          await window.page.evaluate(`window.show({ token: ${token} })`)
          await vi.waitFor(() => expect(tokens(window).length).toBeGreaterThan(0), WAIT)
          return tokens(window)[0]
        }
        expect(await reads(`'of-an-issuer'`)).toBe('Bearer of-an-issuer')
        expect(await reads('undefined')).toBeUndefined()
        // The tenant has no issuer: the service refuses the token, and nobody can write.
        // The widget says both, and no answer comes later than the page.
        await window.page.close()
        const refusals = said.splice(0).filter((text) => !/401|of setIdentity|nobody can write here yet/.test(text))
        expect(refusals).toEqual([])
      })

      test.each([
        ['EngagementCount', 'engagement-count', { format: 'number' }, /^2$/],
        ['EngagementLatest', 'engagement-latest', { limit: 1 }, /An answer/],
        ['EngagementMostDiscussed', 'engagement-most-discussed', { limit: 50, window: 'week' }, /2 comments/],
      ] as const)('%s shows what is written in it until it is loaded', async (name, tag, props, expected) => {
        const article = newArticle()
        const first = await post(article, 'bob', 'Text one')
        await post(article, 'cat', 'An answer', first)
        const list = {
          name,
          props: { service: shared.service.url, ...props, ...(name === 'EngagementCount' && { discussion: article }) },
        }
        const window = await visit({}, { isShown: false, list, render: { externalId: article } })
        const text = () =>
          window.page.evaluate<string>(`document.querySelector('${tag}').shadowRoot?.textContent ?? ''`)
        expect(await window.page.locator(tag).textContent()).toBe('Written by the server')
        await vi.waitFor(async () => expect(await text()).toMatch(expected), WAIT)
      })
    })
  }
})
