import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, expect, test, vi } from 'vitest'

import { ROLES } from '../../src/core/capabilities.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { expectAccessible, NARROW, openDesk, signInAs, visitConsole, WAIT } from '../harness/console.ts'
import { MAKE_GUEST } from '../harness/guests.ts'
import { addMember } from '../harness/members.ts'
import { overlaps } from '../harness/overlaps.ts'
import { furnish, type Side } from '../harness/resources.ts'
import { startService } from '../harness/service.ts'

const SOURCE = readFileSync(join(import.meta.dirname, '../../src/console/pages.tsx'), 'utf8')

/** The paths of the route table. */
const PATHS = [...SOURCE.matchAll(/^ {2}'?([\w/:]+)'?: page\(/gm)].map(([, path = '']) => path)

/** Where each is visited, with what it has of a furnished tenant. */
const ADDRESSES: Readonly<Record<string, (ids: Side['ids']) => readonly string[]>> = {
  '/': () => ['/', '/?span=30d'],
  audit: () => ['/audit'],
  discussions: () => ['/discussions'],
  'discussions/:id': ({ discussion }) => [`/discussions/${discussion}`, `/discussions/${discussion}?show=pending`],
  identity: () => ['/identity'],
  keys: () => ['/keys'],
  moderation: () =>
    ['pending', 'reported', 'unreviewed', 'rejected'].map((status) => `/moderation?status=${status}&sort=oldest`),
  search: () => ['/search'],
  readers: () => ['/readers'],
  'readers/:id': ({ reader }) => ['comments', 'timeline', 'notes'].map((tab) => `/readers/${reader}?tab=${tab}`),
  sites: () => ['/sites'],
  'sites/:id': ({ site }) => [`/sites/${site}`],
  team: () => ['/team'],
  'webhooks/deliveries': () => ['/webhooks/deliveries'],
  'webhooks/:id': ({ endpoint }) => [`/webhooks/${endpoint}`],
  'webhooks/:id/deliveries/:deliveryId': ({ endpoint, delivery }) => [`/webhooks/${endpoint}/deliveries/${delivery}`],
  webhooks: () => ['/webhooks'],
  settings: () => ['/settings'],
  members: () => ['/members'],
  profile: () => ['/profile'],
}

/** Texts that are hard to lay out. */
const HARD = [
  'A word without an end: ' +
    'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(2),
  'https://example.com/' + 'a-long-path/'.repeat(20),
  'هذا تعليق طويل بالعربية، مع كلمة English في وسطه.',
  Array.from({ length: 20 }, (_, n) => `Line ${n}`).join('\n'),
]

describeInBrowser('Every page of the console', () => {
  let ids: Side['ids']
  const desk = openDesk(() => startService({ worker: false }))
  beforeAll(async () => {
    const { service, ok } = desk
    ;({ ids } = await furnish(service, service, 'furnished'))
    await ok('PATCH', '/settings', {
      moderationMode: 'pre',
      badges: [{ id: 'staff', label: 'A member of the editorial staff', tone: 'info' }],
    })
    const title = 'The council has decided on the bridge, the harbour, the library and everything else that was left'
    await ok('PATCH', `/discussions/${ids.discussion}`, {
      title,
      url: `https://news.example.com/${'bridge-'.repeat(20)}`,
    })
    for (const [n, body] of HARD.entries()) {
      const headers = await service.as(`${'reader-'.repeat(12)}${n}`, {
        name: `${'Wolfeschlegelsteinhausen'.repeat(3)} ${n}`,
      })
      const comment = await ok('POST', `/discussions/${ids.discussion}/comments`, { body, parentId: null }, headers)
      if (n === 0) await service.app.db.query(MAKE_GUEST, [service.tenant.id, comment.author.id])
      if (n === 1)
        await ok('POST', `/comments/${comment.id}/reject`, { reason: 'spam', message: 'No advertising here.' })
      if (n === 2) await ok('PUT', `/readers/${comment.author.id}/badges`, { badges: ['staff'] })
      if (n === 3) await ok('POST', `/readers/${comment.author.id}/ban`, { reason: 'They shout.' })
    }
  })

  test('is visited here', () => {
    expect(PATHS.length).toBeGreaterThan(15)
    expect(Object.keys(ADDRESSES).toSorted()).toEqual(PATHS.toSorted())
  })

  test('what lies over something else is found', async () => {
    const page = await desk.browser.newPage()
    const at = (left: number) => `style="position: absolute; top: 9px; left: ${left}px"`
    await page.setContent(
      `<button ${at(0)}>One</button><button ${at(9)}>Two</button><p ${at(200)}>A</p><p ${at(202)}>B</p>`,
    )
    expect(await page.evaluate(overlaps)).toEqual([
      '“button One” and “button Two” lie over one another',
      '“One” and “Two” lie over one another',
      '“A” and “B” lie over one another',
    ])
    await page.setContent('<button>One</button><button>Two</button><p>A</p><p>B<br>C</p>')
    expect(await page.evaluate(overlaps)).toEqual([])
    await page.close()
  })

  test.each(PATHS)(
    '%s: axe finds nothing, no view is wider than the screen, and nothing lies over another',
    async (path) => {
      for (const [n, address] of (ADDRESSES[path]?.(ids) ?? []).entries()) {
        const page = await desk.visit(address, { view: NARROW })
        await page.getByRole('heading', { level: 1 }).waitFor()
        await vi.waitFor(async () => expect(await page.getByText(/^Loading/).count()).toBe(0), WAIT)
        expect(await page.getByRole('alert').filter({ hasText: 'Try again' }).count(), address).toBe(0)
        await expectAccessible(page, `page-${path.replace(/\W+/g, '-')}-${n}`)
        await page.close()
      }
    },
  )

  test.each(['editor', 'moderator', 'developer', 'analyst'] as const)(
    'a page that %s may not use says what it needs, is not in the navigation, and the others are refused nothing',
    async (role) => {
      const member = await addMember(desk.service, desk.service, role)
      const page = await visitConsole(desk.browser, desk.service, '/profile', { signIn: false })
      await signInAs(page, member)
      for (const path of PATHS) {
        const [address = '/'] = ADDRESSES[path]?.(ids) ?? []
        await page.goto(`${desk.service.url}/console${address}`)
        const heading = page.getByRole('heading', { level: 1 })
        await heading.waitFor()
        await vi.waitFor(async () => expect(await page.getByText(/^Loading/).count()).toBe(0), WAIT)
        const what = `${role} at ${address}`
        const link = page.getByRole('navigation').locator(`a[href$="/console${path === '/' ? '/' : `/${path}`}"]`)
        if ((await heading.textContent()) === 'You may not use this page') {
          const words = (await page.getByText(/^It needs/).textContent()) ?? ''
          const [, need] = /capability (\w+)/.exec(words) ?? []
          expect(words, what).toContain(`yours is ${role}`)
          if (need === undefined) expect(words, what).toContain('the role owner or admin')
          else expect(ROLES[role], what).not.toContain(need)
          expect(await link.count(), what).toBe(0)
        } else {
          // Of an endpoint that is made, not of a refusal.
          const refusals = page.getByRole('alert').filter({ hasNotText: 'The handshake is under way' })
          expect(await refusals.allTextContents(), what).toEqual([])
        }
      }
      await page.close()
    },
  )
})
