import { readFileSync } from 'node:fs'

import { beforeAll, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'

const LONG_IDS = [`wordpress:guest-${'0123456789'.repeat(12)}`, `auth0|guest-${'x'.repeat(120)}`] as const

const PROFILES: Readonly<Record<string, { name: string; profileUrl?: string }>> = {
  [LONG_IDS[0]]: { name: 'Old' },
  [LONG_IDS[1]]: { name: 'New' },
  cleo: { name: 'Cleo Winter', profileUrl: 'https://paper.example/cleo' },
  bob: { name: `<i>${'Bob'.repeat(25)}` },
}

describeInBrowser('readers in the console', () => {
  const desk = openDesk()

  const post = async (reader: string, body: string) => {
    const headers = await desk.service.as(reader, PROFILES[reader])
    return desk.service.call('POST', '/discussions/by-external/harbour/comments', { body: { body }, headers })
  }
  const posted = async (...args: Parameters<typeof post>) => {
    const { status, text, json } = await post(...args)
    expect(status, text).toBe(201)
    return json
  }
  const idOf = async (externalId: string): Promise<string | undefined> =>
    (await desk.ok('GET', `/readers?externalId=${externalId}`)).data[0]?.id

  beforeAll(async () => {
    await desk.ok('POST', '/discussions', { externalId: 'harbour', title: 'The harbour is to be rebuilt' })
    await desk.ok('PATCH', '/settings', { suspectWords: ['casino'] })
    const { id } = await posted('cleo', 'At last.')
    await posted('cleo', 'Better build a casino.')
    await desk.ok('POST', `/comments/${id}/report`, { reason: 'spam', note: 'Again.' }, await desk.service.as('dan'))
    await desk.ok('PUT', `/comments/${id}/reaction`, { type: 'like' }, await desk.service.as('cleo', PROFILES.cleo))
    await posted('bob', '<b>Nobody</b> asked me.')
  })

  test('by keyboard alone: find a reader by name, ban for a term, unban, export', async () => {
    const page = await desk.visit('/readers')
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await page.getByRole('link', { name: /BobBob/ }).waitFor()
    const search = page.getByLabel('External id or name')
    const [above, below] = [await search.boundingBox(), await page.getByRole('table').boundingBox()]
    expect((below?.y ?? NaN) - (above?.y ?? NaN)).toBeLessThan(100)
    await tabTo(search)
    await page.keyboard.type('winter')
    await page.waitForURL(/search=winter$/)
    await page.getByRole('link', { name: /BobBob/ }).waitFor({ state: 'detached' })
    await enter(page.getByRole('link', { name: 'Cleo Winter' }))

    const history = page.getByRole('region', { name: 'Comments' })
    await history.getByText('1 approved').first().waitFor()
    await history.getByText('1 pending').first().waitFor()
    await history.getByText('1 report received').first().waitFor()
    await history.getByRole('article').nth(1).waitFor()
    expect(await history.getByRole('article').allTextContents()).toEqual([
      expect.stringContaining('pending'),
      expect.stringContaining('approved'),
    ])
    await history.getByRole('link', { name: 'The harbour is to be rebuilt' }).first().waitFor()

    // The page says it once, not on each of their comments.
    expect([await button('Ban').count(), await page.getByText('First seen').count()]).toEqual([1, 1])
    await enter(button('Ban'))
    await tabTo(page.getByRole('radio', { name: 'Days' }))
    await page.keyboard.press('ArrowLeft')
    await tabTo(page.getByLabel('How many hours'))
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('36')
    await tabTo(page.getByRole('textbox', { name: 'Reason' }))
    await page.keyboard.type('Casinos')
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Ban', exact: true }))
    await page.getByText('They can neither write, react nor report.').waitFor()
    expect((await post('cleo', 'May I?')).json.code).toBe('reader_banned')
    const { ban } = await desk.ok('GET', `/readers/${await idOf('cleo')}`)
    expect(ban).toMatchObject({ reason: 'Casinos', shadow: false })
    expect((Date.parse(ban.until) - Date.now()) / 3_600_000).toBeCloseTo(36, 0)
    await enter(button('End the ban'))
    await button('Ban').first().waitFor()
    expect((await post('cleo', 'May I?')).status).toBe(201)
    await enter(history.getByRole('button', { name: 'Show 1 new' }))
    await history.getByText('May I?').waitFor()

    const [file] = await Promise.all([page.waitForEvent('download'), enter(button('Export'))])
    expect(file.suggestedFilename()).toBe('reader-cleo.json')
    const { asOf, ...exported } = JSON.parse(readFileSync(await file.path(), 'utf8'))
    expect(asOf).toEqual(expect.any(String))
    const { asOf: _asOf, ...held } = await desk.ok('GET', `/readers/${await idOf('cleo')}/export`)
    // The second export contains the audit entry of the first.
    const told = held.auditEntries.filter(({ action }: { action: string }) => action === 'reader.export')
    expect(told).toHaveLength(1)
    held.auditEntries = held.auditEntries.filter((entry: unknown) => entry !== told[0])
    expect(exported).toEqual(held)
  })

  test('by keyboard alone: see what happened around a reader, page by page', async () => {
    const { id, author } = await posted('gwen', 'An odd remark.')
    await desk.ok('POST', `/comments/${id}/report`, { reason: 'off_topic', note: 'Odd.' }, await desk.service.as('dan'))
    await desk.ok('POST', `/comments/${id}/reject`, { reason: 'off_topic', message: 'Stay with the harbour.' })
    await desk.ok('POST', `/readers/${author.id}/notes`, { text: 'Look again.' })
    await desk.ok('POST', `/readers/${author.id}/ban`, { reason: 'Odd remarks' })
    const page = await desk.visit(`/readers/${author.id}`)
    await tabTo(page.getByRole('tab', { name: 'Comments' }))
    await page.keyboard.press('ArrowRight')
    expect(page.url()).toMatch(/tab=timeline$/)
    const entries = page.getByRole('tabpanel', { name: 'Timeline' }).getByRole('article')
    await entries.nth(4).waitFor()
    const texts = await entries.allTextContents()
    const expected = [
      /banned this reader.*Odd remarks/,
      / noted.*Look again/,
      /rejected a comment of this reader.*Off topic: Stay with the harbour/,
      /^Reader dan reported a comment of this reader: off topic.*Odd\./,
      /^This reader wrote.*The harbour.*An odd remark\./,
    ]
    expect(texts).toEqual(expected.map((text): unknown => expect.stringMatching(text)))
    await expectAccessible(page)
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)

    for (let n = 0; n < 18; n++) await desk.ok('POST', `/readers/${author.id}/notes`, { text: `Note ${n}.` })
    await page.getByText('Note 17.').waitFor()
    await enter(page.getByRole('button', { name: /more/i }))
    await entries.nth(22).waitFor()
    expect(await entries.count()).toBe(23)
    expect((await entries.nth(22).textContent()) ?? '').toContain('An odd remark.')
  })

  test('by keyboard alone: note something on a reader, and delete a note', async () => {
    const { author } = await posted('hal', 'Another odd remark.')
    for (let n = 1; n <= 21; n++) await desk.ok('POST', `/readers/${author.id}/notes`, { text: `Note ${n}.` })
    const page = await desk.visit(`/readers/${author.id}?tab=notes`)
    const notes = page.getByRole('list', { name: 'Notes on the reader' }).getByRole('listitem')
    await notes.nth(19).waitFor()
    await tabTo(page.getByRole('textbox', { name: 'A note on the reader' }))
    await page.keyboard.type('Means well.')
    await enter(page.getByRole('button', { name: 'Add the note' }))
    await notes.getByText('Means well.').waitFor()
    await enter(page.getByRole('button', { name: 'Earlier notes' }))
    await notes.getByText('Note 1.', { exact: true }).waitFor()
    await enter(page.getByRole('button', { name: 'Delete the note: Note 21.' }))
    await notes.getByText('Note 21.').waitFor({ state: 'detached' })
    const held = (await desk.ok('GET', `/readers/${author.id}/notes?limit=2`)).data
    expect(held.map(({ text }: { text: string }) => text)).toEqual(['Means well.', 'Note 20.'])
    await expectAccessible(page)
  })

  test('by keyboard alone: judge the comments of a reader on their page, take it back, reject what waits', async () => {
    await posted('ida', 'A first remark.')
    const held = await posted('ida', 'In the casino.')
    const other = await posted('ida', 'At the casino.')
    const page = await desk.visit(`/readers/${held.author.id}?tab=timeline`)
    const stateOf = async ({ id }: { id: string }) => (await desk.ok('GET', `/comments/${id}`)).status
    const item = ({ id }: { id: string }) => page.locator(`[data-comment="${id}"]`)
    await tabTo(page.getByRole('tab', { name: 'Timeline' }))
    await page.keyboard.press('ArrowLeft')
    await item(other).focus()
    await page.keyboard.press('r')
    await item(other).getByText('Rejected').first().waitFor()
    await page.keyboard.press('u')
    await item(other).getByText('pending', { exact: true }).waitFor()
    await enter(item(held).getByRole('button', { name: 'Reject, and say why' }))
    await tabTo(page.getByRole('radio', { name: 'Spam', exact: true }))
    await page.keyboard.press('Space')
    await tabTo(page.getByRole('textbox', { name: 'Message' }))
    await page.keyboard.type('No adverts.')
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }))
    await expect.poll(() => stateOf(held), WAIT).toBe('rejected')
    const { data } = await desk.ok('GET', '/audit-log?action=comment.reject&limit=1')
    expect(data).toMatchObject([{ targetId: held.id, after: { reason: 'spam', message: 'No adverts.' } }])
    expect(await stateOf(other)).toBe('pending')
    await expectAccessible(page)

    await tabTo(page.getByRole('tab', { name: 'Comments' }))
    await page.keyboard.press('ArrowRight')
    await enter(page.getByRole('button', { name: 'Ban', exact: true }).first())
    await tabTo(page.getByRole('radio', { name: 'Keep' }))
    await page.keyboard.press('ArrowRight')
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Ban', exact: true }))
    await expect.poll(() => stateOf(other), WAIT).toBe('rejected')
    await page.getByText('2 rejected', { exact: true }).waitFor()
  })

  test('has all comments of a reader wait, and none', async () => {
    await posted('eve', 'Good morning.')
    const page = await desk.visit(`/readers/${await idOf('eve')}`)
    const choose = async (label: string) => {
      await page.getByRole('combobox', { name: 'New comments' }).click()
      await page.getByRole('option', { name: label }).click()
    }
    await choose('All wait for a moderator')
    await vi.waitFor(async () => expect((await posted('eve', 'And good night.')).status).toBe('pending'), 5_000)
    await choose('None waits, whatever the rules say')
    await vi.waitFor(async () => expect((await posted('eve', 'In the casino.')).status).toBe('approved'), 5_000)
    await expectAccessible(page)
  })

  test('bans in shadow and for good; a refusal at a field keeps the typed text', async () => {
    const page = await desk.visit(`/readers/${await idOf('bob')}`)
    await page.getByRole('button', { name: 'Ban', exact: true }).first().click()
    await page.getByRole('checkbox', { name: 'In shadow' }).check()
    await page.getByRole('textbox', { name: 'Reason' }).fill('Spam')
    const many = page.getByLabel('How many days')
    await many.fill('')
    const submit = page.getByRole('dialog').getByRole('button', { name: 'Ban', exact: true })
    await submit.click()
    await page.getByText('Say for how long: 1 to 36500.').waitFor()
    expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('Spam')
    await page.getByRole('radiogroup', { name: 'Term' }).getByText('For good').click()
    await submit.click()
    await page.getByText('Shadow ban', { exact: true }).waitFor()
    expect((await desk.ok('GET', `/readers/${await idOf('bob')}`)).ban).toMatchObject({ until: null, shadow: true })
    // To the reader it reads as if all were well.
    const { json } = await post('bob', 'Hello?')
    expect([json.status, (await desk.ok('GET', `/comments/${json.id}`)).status]).toEqual(['approved', 'pending'])
    // The form of a replacement begins with the present ban's values.
    await page.getByRole('button', { name: 'Change the ban' }).click()
    expect(await page.getByRole('radio', { name: 'For good' }).isChecked()).toBe(true)
    expect(await page.getByRole('checkbox', { name: 'In shadow' }).isChecked()).toBe(true)
    expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('Spam')
  })

  test('by keyboard alone: erase a reader after typing the external id; the dialog says what happens to the comments', async () => {
    await posted('ann', 'To be forgotten.')
    const id = await idOf('ann')
    const page = await desk.visit(`/readers/${id}`)
    await enter(page.getByRole('button', { name: 'Erase' }))
    await page
      .getByText('Their comments lose their text and their author; a mark stays where one has replies in view.')
      .waitFor()
    await tabTo(page.getByRole('dialog').getByRole('textbox'))
    await page.keyboard.type('an')
    await page.keyboard.press('Enter')
    await page.keyboard.type('n')
    expect(await idOf('ann')).toBe(id)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/readers$/)
    await page.getByRole('link', { name: 'Cleo Winter' }).waitFor()
    expect(await page.getByRole('link', { name: 'Reader ann' }).count()).toBe(0)
    expect(await idOf('ann')).toBeUndefined()
  })

  test('by keyboard alone: merge a reader into another one, who is searched, chosen and shown', async () => {
    await posted('anna', 'Under the old name.')
    await posted('anna-new', 'Under the new one.')
    const id = await idOf('anna')
    const page = await desk.visit(`/readers/${id}`)
    await enter(page.getByRole('button', { name: 'Merge', exact: true }))
    const dialog = page.getByRole('dialog')
    await tabTo(dialog.getByLabel('Who stays: external id or name'))
    await page.keyboard.type('anna')
    const choice = dialog.getByRole('radio', { name: 'Reader anna-new' })
    // A reader cannot be merged into themselves.
    await expect.poll(() => dialog.getByRole('radio').count()).toBe(1)
    await tabTo(choice)
    await page.keyboard.press('Space')
    await tabTo(dialog.getByRole('textbox', { name: 'Type anna to go on' }))
    await page.keyboard.type('anna')
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`/readers/${await idOf('anna-new')}$`))
    await page.getByRole('heading', { name: 'Reader anna-new' }).waitFor()
    await page.getByRole('region', { name: 'Comments' }).getByText('Under the old name.').waitFor()
    await page.getByText('was also anna, merged').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'This reader was merged into another' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Reader anna-new' }).click()
    await page.getByRole('heading', { name: 'Reader anna-new' }).waitFor()
    // A key that was merged finds the reader who stays.
    expect(await idOf('anna')).toBe(await idOf('anna-new'))
    await page.goto(`${desk.service.url}/console/readers?search=anna`)
    await page
      .getByRole('row', { name: /Reader anna-new/ })
      .getByText('was also anna')
      .waitFor()
    expect(await dialog.count()).toBe(0)
  })

  test('does not merge into a reader who is out of view, nor on Enter in the search', async () => {
    await posted('gina', 'Under the old name.')
    await posted('gina-new', 'Under the new one.')
    const id = await idOf('gina')
    const page = await desk.visit(`/readers/${id}`)
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    const dialog = page.getByRole('dialog')
    const search = dialog.getByLabel('Who stays: external id or name')
    const choice = dialog.getByRole('radio', { name: 'Reader gina-new' })
    const merge = dialog.getByRole('button', { name: 'Merge for good' })
    await search.fill('gina')
    await choice.check()
    await dialog.getByRole('textbox', { name: 'Type gina to go on' }).fill('gina')
    expect(await merge.isEnabled()).toBe(true)
    await search.focus()
    await page.keyboard.press('Enter')
    await search.fill('winter')
    await page.keyboard.press('Enter')
    await choice.waitFor({ state: 'detached' })
    expect(await merge.isEnabled()).toBe(false)
    expect(await idOf('gina')).toBe(id)
  })

  test('the merge dialog wraps long external ids on a narrow screen', async () => {
    const [goes, stays] = LONG_IDS
    await posted(goes, 'Under the old name.')
    await posted(stays, 'Under the new one.')
    const page = await desk.visit(`/readers/${await idOf(goes)}`, {
      view: { width: 400, theme: 'light' },
    })
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Who stays: external id or name').fill(stays.slice(0, 12))
    await dialog.getByText(stays).first().waitFor()
    const cut = await dialog
      .locator('*')
      .evaluateAll((elements) =>
        elements
          .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth + 1)
          .map(({ textContent }) => textContent),
      )
    expect(cut).toEqual([])
  })

  test('a reader erased by someone else while their page is open: the page says so, and links to the list', async () => {
    await posted('eve', 'To be forgotten.')
    const id = await idOf('eve')
    const page = await desk.visit(`/readers/${id}`, { pollsFast: true })
    await page.getByRole('button', { name: 'Erase' }).waitFor()
    expect((await desk.service.call('DELETE', `/readers/${id}`)).status).toBe(204)
    await page.getByRole('heading', { name: 'There is no such reader any more', exact: true }).waitFor()
    await enter(page.getByRole('link', { name: 'All readers' }))
    await page.getByRole('link', { name: 'Cleo Winter' }).waitFor()
  })

  test('erases a reader whose external id cannot be typed', async () => {
    await posted('two  spaces\u202E\nand a line\u00A0', 'To be forgotten.')
    const { data } = await desk.ok('GET', '/readers?search=two')
    const page = await desk.visit(`/readers/${data[0].id}`)
    await enter(page.getByRole('button', { name: 'Erase' }))
    await page.getByRole('textbox', { name: 'Type two spaces and a line to go on' }).fill('two spaces and a line')
    await enter(page.getByRole('button', { name: 'Erase for good' }))
    await page.waitForURL(/\/readers$/)
    expect((await desk.ok('GET', '/readers?search=two')).data).toEqual([])
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await desk.visit('/readers', { view: NARROW })
    await page.getByRole('link', { name: /BobBob/ }).waitFor()
    await expectAccessible(page, 'readers')
    await page.getByRole('link', { name: /BobBob/ }).click()
    await page.getByText('Shadow ban').waitFor()
    await page.getByText('Nobody').waitFor()
    await expectAccessible(page, 'reader')
    await page.getByRole('button', { name: 'Change the ban' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page, 'reader-ban')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('radio').first().waitFor()
    await expectAccessible(page, 'reader-merge')
  })
})
