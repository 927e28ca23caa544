import { readFile } from 'node:fs/promises'

import { beforeAll, expect, test } from 'vitest'

import { describeInBrowser, shoot } from '../harness/browser.ts'
import { changeAnswers, enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'
import { addMember, type TestMember } from '../harness/members.ts'
import { unnamed } from '../harness/sql.ts'

const AGE = unnamed("UPDATE comments SET created_at = now() - $2::int * interval '1 s' WHERE id = $1")

describeInBrowser('The team in the console', () => {
  const desk = openDesk()

  const post = async (section: string, body: string, agoSeconds: number): Promise<string> => {
    await desk.ok('POST', '/discussions', { externalId: section, url: `https://news.example/${section}/1` })
    const path = `/discussions/by-external/${encodeURIComponent(section)}/comments`
    const { id } = await desk.ok('POST', path, { body }, await desk.service.as('ann'))
    await desk.service.app.db.query(AGE, [id, agoSeconds])
    return id
  }
  const decide = ({ headers }: TestMember, action: string, ...ids: string[]) =>
    desk.ok('POST', '/comments/bulk', { ids, action }, { 'x-api-key': '', ...headers })

  beforeAll(async () => {
    const { service } = desk
    const tenant = { ...service, tenant: service.tenant }
    await desk.ok('PATCH', '/settings', { suspectWords: ['casino'], maxLinks: 0 })
    const mod = await addMember(service, tenant, 'moderator')
    const editor = await addMember(service, tenant, 'editor')
    await decide(mod, 'reject', await post('sport', 'A casino', 3600), await post('sport', 'One more casino', 7200))
    await decide(mod, 'approve', await post('sport', 'No casino', 90_000))
    await decide(editor, 'approve', await post('политика', 'https://example.com', 50))
    await decide(editor, 'delete', await post('+1', 'Never held', 10))
    await desk.ok('POST', `/comments/${await post('sport', 'The last casino', 600)}/approve`)
    await service.app.db.query(unnamed("UPDATE members SET name = '=1+1' WHERE id = $1"), [editor.id])
  })

  test('by keyboard alone: read the figures, choose a section, who decides, and a span', async () => {
    const page = await desk.visit('/team')
    const cells = async (table: string, name: string): Promise<string[]> => {
      const row = page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: name })
      await row.waitFor()
      return row.getByRole('cell').allTextContents()
    }
    expect(await cells('Who decided', 'The moderator')).toEqual(['3', '1', '2', '0', '0', '2 hr', '1 day', '1 day'])
    expect(await cells('Who decided', '=1+1')).toEqual(['2', '1', '0', '1', '0', '50 sec', '50 sec', '50 sec'])
    expect(await cells('Rules', 'has a suspect word')).toEqual(['3', '2', '1', '67%', '2 hr', '1 day', '1 day'])
    expect(await cells('Sections', 'политика')).toEqual(['1', '1', '0', '0', '0', '50 sec', '50 sec', '50 sec'])

    await enter(page.getByRole('button', { name: 'Only sport' }))
    await page.getByRole('row').filter({ hasText: 'политика' }).waitFor({ state: 'detached' })
    expect(page.url()).toContain('section=sport')
    await tabTo(page.getByRole('radio', { name: 'Members' }))
    await page.keyboard.press('ArrowRight')
    await expect
      .poll(() => cells('Rules', 'has a suspect word'), WAIT)
      .toEqual(['1', '0', '1', '0%', '10 min', '10 min', '10 min'])
    expect(page.url()).toContain('by=key')
    expect(await cells('Who decided', 'First key')).toEqual(['1', '1', '0', '0', '0', '10 min', '10 min', '10 min'])
    await page.reload()
    expect(await cells('Rules', 'has a suspect word')).toEqual(['1', '0', '1', '0%', '10 min', '10 min', '10 min'])
    await enter(page.getByRole('button', { name: 'Show all sections, not only sport' }))
    await expect.poll(() => page.url(), WAIT).not.toContain('section')

    await page.getByLabel('From').fill('2026-01-01')
    await page.getByLabel('Until').fill('2026-01-31')
    await page.getByText(/^No decisions, /).waitFor()
    await page.getByLabel('Until').fill('2025-11-30')
    await page.getByRole('alert').waitFor()
  })

  test('a row that cannot be shown leaves the others in view', async () => {
    const page = await desk.visit('/team')
    await changeAnswers(page, ({ analyticsTeam }) => {
      if (analyticsTeam) analyticsTeam.sections[0].decisions = null
    })
    await page.reload()
    const sections = page.getByRole('table', { name: 'Sections' })
    await sections.getByRole('cell', { name: 'This entry cannot be shown.' }).waitFor()
    expect(await sections.getByRole('row').count()).toBeGreaterThan(2)
    await page.unroute('**/graphql')
  })

  test('the figures come as CSV, in which nothing is a formula', async () => {
    const page = await desk.visit('/team')
    await page.getByRole('table', { name: 'Sections' }).waitFor()
    const download = page.waitForEvent('download')
    await enter(page.getByRole('button', { name: 'Download as CSV' }))
    const file = await download
    expect(file.suggestedFilename()).toMatch(/^team-\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d\.csv$/)
    const lines = (await readFile(await file.path(), 'utf8')).split('\r\n')
    expect(lines[0]).toMatch(/^\uFEFFlist,name,kind,decisions,/)
    expect(lines).toContain("decider,'=1+1,admin,2,1,0,1,0,,,1,50,50,50")
    expect(lines).toContain('rule,suspect_word,,3,,,,,2,1,3,7200,90000,90000')
    expect(lines).toContain("section,'+1,,1,0,0,1,0,,,0,,,")
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await desk.visit('/team', { view: NARROW })
    await page.getByRole('table', { name: 'Sections' }).waitFor()
    await expectAccessible(page, 'team')
    await page.getByRole('table', { name: 'Rules' }).scrollIntoViewIfNeeded()
    await shoot(page, 'team-rules')
    await page.goto(`${page.url()}?from=2026-01-01&until=2026-01-02&section=sport`)
    await page.getByText(/^No decisions, /).waitFor()
    await expectAccessible(page)
  })
})
