import type { Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { addressBucket } from '../../src/core/limits.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { CLIENT, startProvider, type TestProvider } from '../harness/oidc-provider.ts'
import type { TestService } from '../harness/service.ts'
import { newPath, openStaticSite, type StaticSite } from '../harness/static-site.ts'
import { textIn, WAIT, type Window } from '../harness/widget.ts'

describeInBrowser('the widget on a page without a backend', () => {
  let service: TestService
  let site: StaticSite
  let provider: TestProvider
  let other: TestProvider

  beforeAll(async () => {
    site = await openStaticSite({
      WEBHOOK_ALLOW_HTTP: 'true',
      UNAUTHENTICATED_RATE_PER_SECOND: '50',
      UNAUTHENTICATED_RATE_BURST: '1000',
    })
    ;({ service } = site)
    provider = await startProvider(`${site.origin}/callback`)
    other = await startProvider(`${site.origin}/callback`)
    const jwksUrl = `${provider.issuer}/jwks`
    await site.ok('PATCH', '/settings', { identity: { issuer: provider.issuer, jwksUrl, audience: CLIENT.clientId } })
    // A worker fetches the keys.
    const headers = { origin: site.origin, authorization: `Bearer ${await ann()}` }
    const me = `${service.url}/engagement/${site.publicKey}/me?signedIn=1`
    await vi.waitFor(async () => expect((await fetch(me, { headers })).status).toBe(200), WAIT)
  })
  afterAll(async () => {
    await Promise.all([provider, other].map((each) => each?.close()))
    await site?.close()
  })
  afterEach(() => site.leave())

  const ann = () => provider.idTokenOf('ann', { name: 'Ann Okafor' })
  const claims = (more: object = {}) => {
    const now = Math.floor(Date.now() / 1000)
    return {
      iss: provider.issuer,
      aud: CLIENT.clientId,
      sub: 'ann',
      name: 'Ann Okafor',
      iat: now,
      exp: now + 600,
      ...more,
    }
  }
  const expired = () =>
    provider.sign(claims({ iat: Math.floor(Date.now() / 1000) - 900, exp: Math.floor(Date.now() / 1000) - 300 }))

  const bodiesAt = async (path: string): Promise<string[]> => {
    const { data } = await site.ok('GET', `/discussions/by-external/${site.idOf(path)}/comments`)
    return data.map(({ body }: { body: string }) => body)
  }

  interface Visit extends Window {
    /** Requests to the service below the site's key, without preflights. */
    asked: Request[]
    warnings: string[]
    /** Signs in with these tokens from now on: the first, and the last after a refusal. */
    signIn(...tokens: (string | null)[]): Promise<void>
  }

  async function visit(path: string, ...tokens: (string | null)[]): Promise<Visit> {
    const asked: Request[] = []
    const warnings: string[] = []
    const window = await site.visit(path, async (page) => {
      page.on('request', (request) => {
        if (request.url().includes('/engagement/pk_') && request.method() !== 'OPTIONS') asked.push(request)
      })
      page.on('console', (message) => void warnings.push(message.text()))
      if (tokens.length > 0) await page.addInitScript(giveTokens, tokens)
    })
    const { page } = window
    const signIn = async (...next: (string | null)[]): Promise<void> => {
      await page.evaluate(giveTokens, next)
      await page.evaluate(
        `document.querySelector('engagement-thread').setIdentity((isRefused) => window.identity(isRefused))`,
      )
    }
    return { ...window, asked, warnings, signIn }
  }

  const pathsOf = ({ asked }: Visit): string[] =>
    asked.map((request) => `${request.method()} ${new URL(request.url()).pathname.split(site.publicKey)[1]}`)
  const countIn = (page: Page) => page.locator('engagement-count').locator('span').innerText()

  test('shows, counts and follows the comments of its address, without cookies and signed in as nobody', async () => {
    const path = newPath()
    await site.post(path, 'The first')
    await site.context.addCookies([{ name: 'reader', value: 'ann', url: service.url }])
    const window = await visit(`${path}?utm_source=mail#top`)
    await window.sees('The first')
    await vi.waitFor(async () => expect(await countIn(window.page)).toBe('1'), WAIT)
    await site.post(path, 'The second')
    await window.button('1 new comment').click()
    await window.sees('The second')
    await vi.waitFor(async () => expect(await countIn(window.page)).toBe('2'), WAIT)

    expect(pathsOf(window).toSorted()).toEqual(['GET /counts', 'GET /thread', 'POST /ticket'])
    for (const request of window.asked) {
      expect(Object.keys(await request.allHeaders())).not.toContain('cookie')
      expect(Object.keys(await request.allHeaders())).not.toContain('authorization')
      expect(request.url()).not.toContain('signedIn')
      expect(new URL(request.url()).searchParams.get('externalId')).toBe(site.origin + path)
    }
    await window.button('Sign in to comment').waitFor()
  })

  test('a canonical address of its own origin is the page, one of another origin is not', async () => {
    const [path, own] = [newPath(), newPath()]
    await site.post(own, 'Of the canonical page')
    const window = await visit(`${path}?canonical=${encodeURIComponent(`${site.origin}${own}#part`)}`)
    await window.sees('Of the canonical page')
    await site.post(path, 'Of the page itself')
    const foreign = await visit(`${path}?canonical=${encodeURIComponent('https://www.example.com/a')}`)
    await foreign.sees('Of the page itself')
    expect(new URL(foreign.asked[0]!.url()).searchParams.get('externalId')).toBe(site.origin + path)
  })

  test("lists have what is on the site's pages alone", async () => {
    const path = newPath()
    await site.post(path, 'On a page of the site')
    const elsewhere = encodeURIComponent('https://www.example.com/elsewhere')
    const headers = await service.as('bob')
    await site.ok('POST', `/discussions/by-external/${elsewhere}/comments`, { body: 'On a page elsewhere' }, headers)
    const { page } = await visit(`${path}?lists`)
    const list = page.locator('engagement-latest')
    await list.getByText('On a page of the site').waitFor()
    expect(await list.getByText('On a page elsewhere').count()).toBe(0)
  })

  test('a lazy thread asks for nothing before its reader comes near, also where somebody is signed in', async () => {
    const path = newPath()
    await site.post(path, 'Far below')
    const window = await visit(`${path}?lazy`, await ann())
    await vi.waitFor(async () => expect(await countIn(window.page)).toBe('1'), WAIT)
    expect(pathsOf(window)).toEqual(['GET /counts'])
    await window.thread.scrollIntoViewIfNeeded()
    await window.sees('Far below')
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).waitFor()
    expect(window.asked.filter((request) => request.url().includes('/thread?'))).toHaveLength(1)
  })

  test('the first comment begins the page, and with it the live events', async () => {
    const path = newPath()
    const reading = await visit(path)
    await reading.sees('No comments yet.')
    expect(pathsOf(reading)).not.toContain('POST /ticket')
    const { status } = await service.call('GET', `/discussions/by-external/${site.idOf(path)}`)
    expect(status).toBe(404)

    const window = await visit(path, await ann())
    const stream = window.page.waitForRequest(/\/stream\//, WAIT)
    await window.write('I begin')
    await window.sees(/Ann Okafor[^]*I begin/)
    const { json } = await service.call('GET', `/discussions/by-external/${site.idOf(path)}`)
    expect(json).toMatchObject({ url: site.origin + path, title: `A page at ${path.slice(1)}` })
    // The thread loads again once it has a discussion, with what is there by then.
    await stream
    await site.post(path, 'I follow')
    await window.button('1 new comment').click()
    await window.sees('I follow')
    expect(await textIn(window)).toBe('')
  })

  test('the first comment by somebody else shows without a reload, and later ones live', async () => {
    const path = newPath()
    const window = await site.visit(path, (page) => page.clock.install())
    const { page } = window
    await window.sees('No comments yet')
    await site.post(path, 'The first')
    let isTicketAsked = false
    page.on('request', (request) => (isTicketAsked ||= request.url().includes('/ticket?')))
    await vi.waitFor(async () => {
      await page.clock.fastForward(15_000)
      expect(isTicketAsked).toBe(true)
    }, WAIT)
    await window.sees('The first')
    await site.post(path, 'The second')
    await window.button('1 new comment').click()
    await window.sees('The second')
  })

  test('an element that is given its reader before it is in the page asks nothing as nobody', async () => {
    const path = newPath()
    await site.post(path, 'Hello')
    const window = await visit('/empty', await ann())
    const before = window.asked.length
    await window.page.evaluate(
      ([publicKey = '', discussion = '']) => {
        const thread = Object.assign(document.createElement('engagement-thread'), { id: 'made' })
        thread.setAttribute('site', publicKey)
        thread.setAttribute('discussion', discussion)
        const made = thread as unknown as { setIdentity(identity: unknown): void }
        made.setIdentity((globalThis as unknown as { identity: unknown }).identity)
        document.body.append(thread)
      },
      [site.publicKey, site.origin + path],
    )
    await window.page.locator('#made').getByText('Hello').waitFor()
    const threads = window.asked
      .slice(before)
      .filter((request) => request.url().includes('/thread?') && request.url().includes(encodeURIComponent(path)))
    expect(threads.map((request) => new URL(request.url()).searchParams.get('signedIn'))).toEqual(['1'])
  })

  test('a reader of the issuer posts, reacts, edits and deletes, and sees who they are after a reload', async () => {
    const path = newPath()
    await site.post(path, 'Something to like')
    const window = await visit(path, await ann())
    await window.write('From the page')
    await window.sees(/Ann Okafor[^]*From the page/)
    await window.comment('Something to like').getByRole('button', { name: 'Like' }).click()
    await vi.waitFor(
      async () =>
        expect(
          await window.comment('Something to like').getByRole('button', { name: /Like/ }).getAttribute('aria-pressed'),
        ).toBe('true'),
      WAIT,
    )
    await window.choose('Edit', 'From the page')
    await window.thread.getByRole('textbox', { name: 'Edit' }).fill('From the page, edited')
    await window.button('Save').click()
    await window.sees('From the page, edited')
    await window.page.reload()
    await window.choose('Delete', 'From the page, edited')
    await window.button('Delete').click()
    await window.seesNot('From the page, edited')
    expect(await bodiesAt(path)).toEqual(['Something to like'])
    const reads = window.asked.filter((request) => request.method() === 'GET' && !request.url().includes('/counts'))
    expect(reads.at(-1)!.url()).toContain('signedIn=1')
    // Until the page has called setIdentity, it is read as nobody.
    for (const request of reads) {
      const token = await request.headerValue('authorization')
      expect([request.url(), request.url().includes('signedIn=1')]).toEqual([request.url(), token !== null])
    }
  })

  test('an expired token is replaced once, and the page goes on', async () => {
    const path = newPath()
    const window = await visit(path, await expired(), await ann())
    await window.write('With the next token')
    await window.sees(/Ann Okafor[^]*With the next token/)
    expect(window.warnings.filter((text) => text.includes('engagement:'))).toEqual([])
  })

  test('a token of another issuer, for another audience, or with a forged key reads as nobody', async () => {
    const path = newPath()
    await site.post(path, 'For everybody')
    const tokens = {
      issuer: await other.idTokenOf('ann', { name: 'Ann' }),
      audience: await provider.sign(claims({ aud: 'another' })),
      forged: await other.sign(claims()),
    }
    for (const token of Object.values(tokens)) {
      const window = await visit(path, token)
      await window.sees('For everybody')
      await window.button('Sign in to comment').waitFor()
      await vi.waitFor(() => expect(window.warnings.join('\n')).toContain('refuses the token of setIdentity'), WAIT)
    }
  })

  test('a text stays where the token expires while it is typed, and is posted after the next sign-in', async () => {
    const path = newPath()
    const window = await visit(path, await ann())
    const box = window.thread.getByRole('textbox', { name: 'Write a comment' })
    await box.fill('A long thought')
    await window.page.evaluate(giveTokens, [await expired()])
    await window.button('Post').click()
    await window.sees('You are signed out. Sign in and try again. Your text is kept.')
    expect(await textIn(window)).toBe('A long thought')
    expect(await bodiesAt(path).catch(() => [])).toEqual([])

    await window.signIn(await ann())
    await window.button('Post').waitFor()
    expect(await textIn(window)).toBe('A long thought')
    await window.button('Post').click()
    await window.sees(/Ann Okafor[^]*A long thought/)
    expect(await bodiesAt(path)).toEqual(['A long thought'])
  })

  test('a sign-in after the page was loaded, and a sign-out, change what the reader can do', async () => {
    const path = newPath()
    await site.post(path, 'There before')
    const window = await visit(path)
    await window.sees('There before')
    await window.button('Sign in to comment').waitFor()
    await window.signIn(await ann())
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).waitFor()
    await window.button('Notifications').waitFor()
    // The page forgets to say so: the bell notices when the reader comes back to the tab.
    await window.page.evaluate(giveTokens, [null])
    await window.page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await window.button('Sign in to comment').waitFor()
    await window.button('Notifications').waitFor({ state: 'detached' })
    await window.sees('There before')
    expect(window.asked.at(-1)!.url()).not.toContain('signedIn')
  })

  test('a sign-in from the widget goes on with what the reader wanted', async () => {
    const path = newPath()
    await site.post(path, 'A question')
    const window = await visit(path)
    await window.page.evaluate(`addEventListener('engagement-sign-in', (event) => event.preventDefault())`)
    await window.comment('A question').getByRole('button', { name: 'Reply' }).click()
    await window.signIn(await ann())
    await window.thread.getByRole('textbox', { name: /Reply to/ }).fill('An answer')
    await window.button('Post').last().click()
    await window.sees('An answer')
    expect(await bodiesAt(path)).toEqual(['A question'])
  })

  const refused = /That was too fast\. Try again in \d+ hours\./
  /** Of a bucket, for a long time. */
  const exhaust = (kind: 'site' | 'siteReader', name: string, rate: { perSecond: number; burst: number }): void =>
    service.app.limits.charge(kind, name, rate, 100_000 * rate.perSecond)
  const exhaustAddress = (siteId: string): void =>
    exhaust('site', `${siteId}/${addressBucket('127.0.0.1')}`, { perSecond: 50, burst: 1000 })

  test('a reader who has made too many requests is told so, and keeps the text', async () => {
    const path = newPath()
    const window = await visit(path, await provider.idTokenOf('cy', { name: 'Cy' }))
    const box = window.thread.getByRole('textbox', { name: 'Write a comment' })
    await box.fill('Once more')
    const { json } = await service.call('GET', '/settings')
    exhaust('siteReader', `${service.tenant.id}/cy`, json.clientToken)
    await window.button('Post').click()
    await window.sees(refused)
    expect(await textIn(window)).toBe('Once more')
    expect((await service.call('GET', `/discussions/by-external/${site.idOf(path)}`)).status).toBe(404)
    // It is not that of the address.
    const next = await visit(path, await ann())
    await next.write('Another reader')
    await next.sees('Another reader')
  })

  test('a page of an address with too many requests says so, in reading as in writing', async () => {
    const { id, publicKey } = await site.ok('POST', '/sites', { name: 'Busy', origins: [site.origin] })
    const path = newPath()
    await site.post(path, 'Popular')
    const window = await visit(`${path}?site=${publicKey}`, await ann())
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).fill('Me too')
    exhaustAddress(id)
    await window.button('Post').click()
    await window.sees(refused)
    expect(await textIn(window)).toBe('Me too')

    const next = await visit(`${path}?site=${publicKey}`)
    await next.thread.getByText(refused).waitFor()
    // It waits for that long, instead of asking again and again.
    expect(next.asked.filter((request) => request.url().includes('/thread?'))).toHaveLength(1)
    expect(await bodiesAt(path)).toEqual(['Popular'])
  })

  test('a page of another origin gets nothing, and its developer is told why', async () => {
    const path = newPath()
    await site.post(path, 'Not for others')
    const window = await visit(`${site.origin.replace('127.0.0.1', 'localhost')}${path}`)
    await window.thread.getByText('The comments cannot be loaded.').waitFor()
    await vi.waitFor(() => expect(window.warnings.join('\n')).toContain('add it to the origins of the site'), WAIT)
    expect(await window.thread.innerText()).not.toContain('Not for others')
  })

  test('a site that is gone is no fault that is tried again', async () => {
    const gone = await site.ok('POST', '/sites', { name: 'Gone', origins: [site.origin] })
    await service.call('DELETE', `/sites/${gone.id}`)
    const window = await visit(`${newPath()}?site=${gone.publicKey}`)
    await window.thread.getByText('There are no comments for this page.').waitFor()
    await vi.waitFor(() => expect(window.warnings.join('\n')).toContain(`there is no site ${gone.publicKey}`), WAIT)
  })

  test('a site without posting takes no text, and keeps one that is there', async () => {
    const path = newPath()
    await site.post(path, 'Read this')
    const window = await visit(path, await ann())
    await window.thread.getByRole('textbox', { name: 'Write a comment' }).fill('I may not')
    await site.ok('PATCH', `/sites/${site.id}`, { posting: false })
    try {
      await window.button('Post').click()
      await window.sees('Comments are closed.')
      expect(await textIn(window)).toBe('I may not')
      expect(await bodiesAt(path)).toEqual(['Read this'])
      const next = await visit(path)
      await next.sees('Read this')
      await next.sees('Comments are closed.')
      expect(await next.button('Sign in to comment').count()).toBe(0)
    } finally {
      await site.ok('PATCH', `/sites/${site.id}`, { posting: true })
    }
  })

  test('a new site says that nobody can write yet, and tells its developer why', async () => {
    const { identity } = await site.ok('GET', '/settings')
    await site.ok('PATCH', '/settings', { identity: { issuer: null, jwksUrl: null } })
    try {
      const window = await visit(newPath())
      await window.sees('Nobody can write here yet.')
      await vi.waitFor(() => expect(window.warnings.join('\n')).toContain('no issuer signs readers in'), WAIT)
    } finally {
      await site.ok('PATCH', '/settings', { identity })
    }
  })
})

/** Runs in the page: its function has the first token, and the last one after a refusal. */
function giveTokens(tokens: (string | null)[]): void {
  Object.assign(globalThis, { identity: (isRefused: boolean) => (isRefused ? tokens.at(-1) : tokens[0]) })
}
