import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { makeNextExport } from '../../src/transfer/export/make.ts'
import { newId } from '../../src/core/ids.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { unnamed } from '../harness/sql.ts'
import { enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'

const ADD_IMPORT = unnamed(
  `INSERT INTO imports (tenant_id, id, source, file_name, counts, refused, tables, started_at, finished_at)
   VALUES ($1, $2, 'disqus', 'a-long-name-of-a-file-of-comments.xml', $3, $4, $5, now(), now())`,
)
const DEFAULTS = tenantSettings({})

describeInBrowser('Settings in the console', () => {
  const desk = openDesk()

  beforeEach(() => set(DEFAULTS))

  const set = (settings: object): Promise<unknown> => desk.ok('PATCH', '/settings', settings)
  const settings = async () => desk.ok('GET', '/settings')
  const newestChange = async () => (await desk.ok('GET', '/audit-log?action=settings.update&limit=1')).data[0]
  const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true })
  const field = (page: Page, path: string) => page.locator(`[id="${path}"]`)
  const input = (page: Page, path: string) =>
    field(page, path).locator('input:not([type=hidden]):not([type=checkbox])').first()
  const retype = async (page: Page, path: string, text: string): Promise<void> => {
    await tabTo(input(page, path))
    await page.keyboard.press('Control+A')
    await page.keyboard.type(text)
  }
  const isSaved = (page: Page) => page.getByText('Saved.', { exact: true }).waitFor()

  test('every setting has a field, with its default and its description', async () => {
    const page = await desk.visit('/settings')
    await page.getByRole('switch', { name: 'Use the classifier' }).press('Space')
    const pathsIn = (group: object, at = ''): string[] =>
      Object.entries(group).flatMap(([name, value]: [string, unknown]) =>
        typeof value === 'object' && value !== null && !Array.isArray(value)
          ? pathsIn(value, `${at}${name}.`)
          : [at + name],
      )
    const paths = pathsIn(DEFAULTS)
    for (const path of [
      ...paths.filter((each) => each !== 'classifier' && each !== 'staff.oidc'),
      'classifier.url',
      'classifier.fallback',
    ]) {
      expect(await field(page, path).getByText('Default: ').count(), path).toBe(1)
    }
    expect(await field(page, 'webhookPolicy.timeoutMs').textContent()).toContain('Default: 10 seconds')
    const origins = field(page, 'allowedOrigins')
    expect(await origins.locator('code').allInnerTexts()).toEqual(['*', 'https://*.example.com'])
    expect(await page.locator('main').innerText()).not.toContain('`')
    expect(await field(page, 'maxLinks').textContent()).toContain('Links that a comment may have before it is held')
  })

  test('a pasted list of words becomes an entry for each line', async () => {
    const page = await desk.visit('/settings')
    await tabTo(input(page, 'bannedWords'))
    await page.evaluate(() => navigator.clipboard.writeText('casino\r\nfree money\n\nlottery, pills\tpoker'))
    await page.keyboard.press('Control+V')
    await field(page, 'bannedWords').getByText('poker', { exact: true }).waitFor()
    await enter(save(page))
    await isSaved(page)
    expect((await settings()).bannedWords).toEqual(['casino', 'free money', 'lottery', 'pills', 'poker'])
  })

  test('a list of words is tried on the latest comments before it is saved', async () => {
    const page = await desk.visit('/settings')
    const texts = ['A casino in town', 'Casinos, said Ann', 'Good morning']
    for (const body of texts) {
      await desk.ok('POST', '/discussions/by-external/words/comments', { body }, await desk.service.as('ann'))
    }
    await tabTo(input(page, 'bannedWords'))
    await page.keyboard.type('casino*')
    await page.keyboard.press('Enter')
    await page.keyboard.type('town')
    await page.keyboard.press('Enter')
    await enter(page.getByRole('button', { name: 'Try on the latest comments: Banned words' }))
    await field(page, 'bannedWords')
      .getByText(/^It is in 2 of the last \d+ comments: casino\* \(2\), town \(1\)\.$/)
      .waitFor()
    expect((await settings()).bannedWords).toEqual([])
    expect(await field(page, 'bannedWords').textContent()).toContain('An entry matches whole words')
    await expectAccessible(page)
  })

  test('a text is tried by the rules as they stand in the form, before they are saved', async () => {
    await set({ suspectWords: ['bridge'] })
    const page = await desk.visit('/settings')
    const box = page.getByRole('textbox', { name: 'Try a text' })
    const tryIt = page.getByRole('button', { name: 'Try the text' })
    const isSaid = (words: string) => page.getByText(words, { exact: true }).waitFor()
    await tabTo(box)
    await page.keyboard.type('A casino at the bridge')
    await enter(tryIt)
    await isSaid('It would wait for a moderator: has a suspect word. Found: bridge.')
    await tabTo(input(page, 'bannedWords'))
    await page.keyboard.type('casino')
    await page.keyboard.press('Enter')
    // The answer is of other rules.
    await page.getByText(/^It would wait/).waitFor({ state: 'detached' })
    await enter(tryIt)
    await isSaid('It would be refused: has a banned word. Found: casino.')
    await tabTo(box)
    await page.keyboard.press('Control+A')
    await page.keyboard.type('Fine words')
    await retype(page, 'holdFirstComments', '2')
    await enter(tryIt)
    await page.getByText(/^It would appear at once\. It may also wait .*: .*one of their first comments\.$/).waitFor()
    expect(await settings()).toMatchObject({ bannedWords: [], holdFirstComments: 0 })
    await expectAccessible(page)
  })

  test('by keyboard alone: change a number, a list and a mode; nothing else is sent', async () => {
    const page = await desk.visit('/settings')
    await tabTo(page.getByRole('radio', { name: 'Only what a rule holds waits for a moderator none' }))
    await page.keyboard.press('ArrowDown')
    await tabTo(input(page, 'bannedWords'))
    await page.keyboard.type('casino')
    await page.keyboard.press('Enter')
    await page.keyboard.type('free money')
    await page.keyboard.press('Enter')
    await retype(page, 'maxLinks', '2')
    await page.getByText('3 changes are not saved').waitFor()
    await enter(save(page))
    await isSaved(page)
    expect((await newestChange()).after).toEqual({
      moderationMode: 'pre',
      bannedWords: ['casino', 'free money'],
      maxLinks: 2,
    })

    await enter(page.getByRole('button', { name: 'Reset to default: Links that a comment may have' }))
    await enter(save(page))
    await isSaved(page)
    expect(await settings()).toMatchObject({ maxLinks: DEFAULTS.maxLinks, moderationMode: 'pre' })
  })

  test('lengths of time and choices are in words, and the same number is saved', async () => {
    await set({ editWindowSeconds: 900, moderationMode: 'pre' })
    const page = await desk.visit('/settings')
    const unit = page.getByRole('combobox', { name: 'Unit of Time to edit a comment' })
    await expect.poll(() => input(page, 'editWindowSeconds').inputValue(), WAIT).toBe('15')
    expect(await unit.inputValue()).toBe('minutes')
    expect(await field(page, 'editWindowSeconds').textContent()).toContain(
      'Time in which an author can edit. From 0 seconds to 365 days.',
    )
    expect(await field(page, 'editWindowSeconds').textContent()).toContain('Default: 15 minutes')
    expect(await page.getByRole('radio', { name: 'Each comment waits for a moderator pre' }).isChecked()).toBe(true)
    expect(await field(page, 'moderationMode').textContent()).toContain('Default: Only what a rule holds waits')

    await retype(page, 'editWindowSeconds', '1.5')
    await retype(page, 'webhookPolicy.timeoutMs', '2.5')
    await enter(save(page))
    await isSaved(page)
    expect(await settings()).toMatchObject({ editWindowSeconds: 90, webhookPolicy: { timeoutMs: 2500 } })

    await unit.selectOption('hours')
    await retype(page, 'editWindowSeconds', '2')
    await enter(save(page))
    await isSaved(page)
    expect(await settings()).toMatchObject({ editWindowSeconds: 7200 })

    await retype(page, 'editWindowSeconds', '8761')
    await enter(save(page))
    await field(page, 'editWindowSeconds').getByText('Give a time from 0 seconds to 365 days.').waitFor()
  })

  test('a nullable setting has a switch; a nullable group is switched as a whole', async () => {
    const page = await desk.visit('/settings')
    await tabTo(page.getByRole('switch', { name: 'Lock old discussions' }))
    await page.keyboard.press('Space')
    await retype(page, 'autoCloseDays', '30')
    await tabTo(page.getByRole('switch', { name: 'Use the classifier' }))
    await page.keyboard.press('Space')
    await retype(page, 'classifier.url', 'https://classifier.example.com/judge')
    await enter(save(page))
    await isSaved(page)
    expect(await settings()).toMatchObject({
      autoCloseDays: 30,
      classifier: { url: 'https://classifier.example.com/judge', fallback: 'hold' },
    })
    await page.getByRole('switch', { name: 'Use the classifier' }).press('Space')
    await page.getByRole('switch', { name: 'Lock old discussions' }).press('Space')
    await enter(save(page))
    await isSaved(page)
    expect(await settings()).toMatchObject({ autoCloseDays: null, classifier: null })
  })

  test('a refusal is shown at its field under its label, and no typed text is lost', async () => {
    const page = await desk.visit('/settings')
    await retype(page, 'maxLinks', '101')
    await enter(save(page))
    await field(page, 'maxLinks').getByText('Give a whole number from 0 to 100.').waitFor()
    await retype(page, 'maxLinks', '7')
    await tabTo(input(page, 'allowedOrigins'))
    await page.keyboard.type('https://www.example.com/path')
    await page.keyboard.press('Enter')
    await retype(page, 'webhookPolicy.disableThreshold', '5')
    await enter(save(page))
    await field(page, 'allowedOrigins').getByText('Allowed origins, number 1, must be an origin').waitFor()
    expect((await settings()).maxLinks).toBe(DEFAULTS.maxLinks)
    await tabTo(input(page, 'allowedOrigins'))
    await page.keyboard.press('Backspace')
    await enter(save(page))
    const words = 'Failures until it is disabled must be at least “Failures until a pause”.'
    await field(page, 'webhookPolicy.disableThreshold').getByText(words, { exact: true }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await retype(page, 'webhookPolicy.disableThreshold', '40')
    await enter(save(page))
    await isSaved(page)
    expect(await settings()).toMatchObject({ maxLinks: 7, allowedOrigins: [], webhookPolicy: { disableThreshold: 40 } })
  })

  test('shows changes of other admins, and does not overwrite them', async () => {
    const page = await desk.visit('/settings')
    await retype(page, 'maxDepth', '3')
    await retype(page, 'maxLinks', '9')
    await set({ maxDepth: 5, reportThreshold: 2 })
    await enter(save(page))
    await field(page, 'maxDepth').getByText('Somebody else has set this to 5 meanwhile.').waitFor()
    expect(await settings()).toMatchObject({ maxDepth: 5, maxLinks: DEFAULTS.maxLinks })
    await expect.poll(() => field(page, 'reportThreshold').locator('input').inputValue(), WAIT).toBe('2')
    await enter(field(page, 'maxDepth').getByRole('button', { name: 'Keep mine' }))
    await enter(save(page))
    await isSaved(page)
    expect(await settings()).toMatchObject({ maxDepth: 3, maxLinks: 9, reportThreshold: 2 })

    await retype(page, 'maxDepth', '4')
    await set({ maxDepth: 6 })
    await enter(field(page, 'maxDepth').getByRole('button', { name: 'Take theirs' }))
    await expect.poll(() => field(page, 'maxDepth').locator('input').inputValue(), WAIT).toBe('6')
    await save(page).waitFor({ state: 'detached' })
  })

  test('asks before unsaved changes are left', async () => {
    const page = await desk.visit('/settings')
    await retype(page, 'maxLinks', '9')
    const link = page.getByRole('link', { name: 'API keys' })
    await enter(link)
    await enter(page.getByRole('button', { name: 'Stay' }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await field(page, 'maxLinks').locator('input').inputValue()).toBe('9')
    await enter(link)
    await enter(page.getByRole('button', { name: 'Leave' }))
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    expect((await settings()).maxLinks).toBe(DEFAULTS.maxLinks)
  })

  test('a link to a section goes there again, though the address has it already', async () => {
    const page = await desk.visit('/settings#guests')
    const heading = page.getByRole('heading', { name: 'Guests' })
    await expect.poll(() => heading.evaluate((each) => each === document.activeElement), WAIT).toBe(true)
    // Nothing is changed yet, so that no bar covers the settings.
    expect(await save(page).count()).toBe(0)
    const current = page.getByRole('navigation', { name: 'Sections' }).locator('[aria-current]')
    await expect.poll(() => current.textContent(), WAIT).toBe('Guests')
    expect(await current.evaluate((each) => each.getBoundingClientRect().top)).toBeGreaterThan(0)
    await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)')
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Guests' }).click()
    await expect.poll(() => heading.evaluate((each) => each === document.activeElement), WAIT).toBe(true)
  })

  test('a link to a section leads there though what is above it loads later, or cannot be read', async () => {
    const { token } = await desk.ok('POST', '/admin/auth/login', desk.service.admin)
    const admin = { authorization: `Bearer ${token}` }
    const { id: made } = await desk.ok('POST', '/exports', undefined, admin)
    const page = await desk.visit('/settings')
    let isRefused = false
    await page.route('**/graphql', async (route) => {
      const body = route.request().postData() ?? ''
      // The lists above come last.
      if (/noticeChannels|exports\(/.test(body)) await new Promise((resolve) => setTimeout(resolve, 1_000))
      const refusal = { errors: [{ message: 'No.', extensions: { code: 'forbidden' } }] }
      await (isRefused && /query Settings\b/.test(body) ? route.fulfill({ json: refusal }) : route.continue())
    })
    const current = page.getByRole('navigation', { name: 'Sections' }).locator('[aria-current]')
    for (const [id, name] of [
      ['notices', 'Notices to staff'],
      ['export', 'Export'],
      ['import', 'Import'],
    ] as const) {
      await page.goto(page.url().replace(/(#.*)?$/, `#${id}`))
      await page.reload()
      await page.getByRole('table', { name: 'Exports' }).waitFor()
      const heading = page.getByRole('heading', { name, exact: true })
      await expect.poll(() => heading.evaluate((each) => each === document.activeElement), WAIT).toBe(true)
      await expect.poll(() => current.textContent(), WAIT).toBe(name)
      // Below the bar at the top, or the page ends there.
      await expect
        .poll(
          () =>
            heading.evaluate((each) => {
              const isAtEnd = scrollY + innerHeight > document.documentElement.scrollHeight - 2
              const { top } = each.getBoundingClientRect()
              return top >= 0 && (isAtEnd ? top < innerHeight : top < 100)
            }),
          WAIT,
        )
        .toBe(true)
    }
    isRefused = true
    await page.reload()
    await page.getByRole('alert').waitFor()
    const heading = page.getByRole('heading', { name: 'Import', exact: true })
    await expect.poll(() => heading.evaluate((each) => each === document.activeElement), WAIT).toBe(true)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await desk.ok('DELETE', `/exports/${made}`, undefined, admin)
  })

  test('the bar of changes does not cover the field that is changed', async () => {
    const page = await desk.visit('/settings', { view: { ...NARROW, width: 320 } })
    const links = input(page, 'maxLinks')
    await links.waitFor()
    await links.evaluate((each) => each.scrollIntoView({ block: 'end' }))
    await links.fill('7')
    await save(page).waitFor()
    const gap = async () =>
      ((await page.locator('.save-bar').boundingBox())?.y ?? 0) -
      (await links.evaluate((each) => each.getBoundingClientRect().bottom))
    await expect.poll(gap, WAIT).toBeGreaterThan(0)
  })

  test('the focus stays in the bar of changes when its buttons are gone', async () => {
    const page = await desk.visit('/settings')
    await retype(page, 'maxLinks', '7')
    await enter(save(page))
    await isSaved(page)
    await save(page).waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.tagName')).toBe('OUTPUT')
    await retype(page, 'maxLinks', '8')
    await enter(page.getByRole('button', { name: 'Discard' }))
    await save(page).waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.tagName')).toBe('OUTPUT')
  })

  test.each([
    ['classifier', 'Classifier', 'classifier'],
    ['guests', 'Guests', 'mail'],
  ])('creates the secret of the section %s, and shows it once', async (id, name, kind) => {
    const page = await desk.visit(`/settings#${id}`)
    await enter(page.getByRole('region', { name }).getByRole('button', { name: 'Create a secret' }))
    await enter(page.getByRole('button', { name: 'Create', exact: true }))
    const secret = (await page.getByLabel('The secret').textContent()) ?? ''
    expect(secret).toMatch(/^whs_[0-9a-f]{64}$/)
    const standard = await page.getByLabel('The same secret for libraries of Standard Webhooks').textContent()
    expect(standard).toBe(`whsec_${Buffer.from(secret.slice(4), 'hex').toString('base64')}`)
    await enter(page.getByRole('button', { name: 'I have stored it' }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(secret)

    const { kid } = await desk.ok('POST', `/${kind}-secrets`)
    await page.reload()
    await page.getByRole('button', { name: `End ${kid}` }).click()
    // The one of before has 24 h.
    expect(await page.getByRole('dialog').textContent()).toMatch(
      /No request to the \w+ is signed after .+, when [\da-f]{8} expires, unless you create a secret before\./,
    )
  })

  test('creates an export, downloads it once a worker has made it, and deletes it', async () => {
    const page = await desk.visit('/settings', { view: NARROW, pollsFast: true })
    const create = page.getByRole('button', { name: 'Create an export' })
    await enter(create)
    const row = page.getByRole('table', { name: 'Exports' }).getByRole('row').nth(1)
    await row.getByText('pending').waitFor()
    await expect.poll(() => create.isDisabled(), WAIT).toBe(true)
    await makeNextExport(desk.service.app, new AbortController().signal)
    await row.getByText('completed').waitFor()
    await expectAccessible(page)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      enter(row.getByRole('button', { name: 'Download' })),
    ])
    expect(file.suggestedFilename()).toMatch(/^demo-\d{4}-\d\d-\d\d\.jsonl\.gz$/)
    expect(gunzipSync(readFileSync(await file.path())).toString()).toContain('"kind":"header"')
    await enter(row.getByRole('button', { name: 'Delete' }))
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Delete' }))
    await page.getByText('There is no export').waitFor()
  })

  test('lists imports with the items that they took and refused', async () => {
    const first = Array.from({ length: 100 }, (_, n) => ({ place: `line ${n}`, reason: 'has no text' }))
    const counts = { comments: 12_345, readers: 17 }
    await desk.service.app.db.query(ADD_IMPORT, [
      desk.service.tenant.id,
      newId(),
      JSON.stringify(counts),
      JSON.stringify({ total: 104, first }),
      JSON.stringify({
        map: { rows: 1240, used: 1234, firstUnused: [2, 3, 5, 7, 11].map((n) => `row ${n}`) },
        authors: { rows: 2, used: 2, firstUnused: [] },
      }),
    ])
    const page = await desk.visit('/settings', { view: NARROW })
    await page.getByText('npm run cli -- import --tenant demo --from disqus export.xml.gz --dry-run').waitFor()
    const guide = page.getByRole('link', { name: 'guide to moving in' })
    expect(new URL((await guide.getAttribute('href')) ?? '').pathname).toBe('/docs/guides/moving')
    const row = page.getByRole('table', { name: 'Imports' }).getByRole('row').nth(1)
    await row.getByText('12\u00A0345').waitFor()
    await enter(row.getByRole('button', { name: 'Report' }))
    const report = page.getByRole('dialog')
    await report.getByText('Not taken: 104').waitFor()
    const MAP = '--map: 1\u00A0234 of 1\u00A0240 rows were used, but not row 2, row 3, row 5, row 7, row 11 and others.'
    await report.getByText(MAP).waitFor()
    await report.getByText('--authors: 2 of 2 rows were used.').waitFor()
    await report.getByText('line 99 has no text').waitFor()
    await report.getByText('and 4 more').waitFor()
    expect(await report.getByRole('row').allTextContents()).toEqual(['Readers17', 'Comments12\u00A0345'])
    await expectAccessible(page)
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    await set({ bannedWords: ['casino', 'w'.repeat(100)], autoCloseDays: 30 })
    const page = await desk.visit('/settings', { view: NARROW })
    await field(page, 'maxLinks').locator('input').fill('101')
    await save(page).click()
    await page.getByText('Give a whole number').waitFor()
    await expectAccessible(page, 'settings')
    await page.getByRole('button', { name: 'Create a secret' }).first().click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page)
  })
})
