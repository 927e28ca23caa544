import { expect, test } from 'vitest'

import { workOnUploads } from '../../src/transfer/uploads/work.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, NARROW, openDesk, tabTo } from '../harness/console.ts'
import { fixture } from '../harness/sources.ts'

describeInBrowser('An import in the console', () => {
  const desk = openDesk()

  const work = () => workOnUploads(desk.service.app, new AbortController().signal)

  test.each([
    ['disqus.xml', 'Disqus', 'a quote'],
    ['wordpress.xml', 'WordPress', 'second line'],
  ])('of %s: uploads it, shows the rehearsal, and imports it', async (name, system, text) => {
    const bodies = async () =>
      ((await desk.ok('GET', '/comments')).data as { body: string | null }[]).map(({ body }) => body)
    const page = await desk.visit('/settings#import', { view: NARROW, pollsFast: true })
    // The first part fails once, and is sent again.
    let failures = 0
    await page.route('**/import-uploads/*/parts/*', (route) =>
      failures++ === 0 ? route.abort('connectionreset') : route.continue(),
    )
    await page.locator('input[type=file]').first().setInputFiles(fixture(name))
    await expect.poll(() => page.getByRole('combobox', { name: 'System' }).inputValue()).toBe(system)
    await enter(page.getByRole('button', { name: 'Upload', exact: true }))
    await page.getByText(`${name} is being rehearsed`).waitFor()
    expect(failures).toBeGreaterThan(1)
    await work()
    const run = page.getByRole('button', { name: 'Import now' })
    await run.waitFor()
    await page.getByText(/^Not taken: /).waitFor()
    await expectAccessible(page)
    expect(await bodies()).not.toContainEqual(expect.stringContaining(text))
    await enter(run)
    await page.getByText(`${name} is being imported`).waitFor()
    await work()
    await page.getByText(`${name} was imported.`).waitFor()
    await expectAccessible(page)
    expect(await bodies()).toContainEqual(expect.stringContaining(text))
    await enter(page.getByRole('button', { name: 'Dismiss' }))
    await page.getByText(`${name} was imported.`).waitFor({ state: 'detached' })
  })

  test('takes the options of the command line: new addresses, ids of readers, and a name of the source', async () => {
    const page = await desk.visit('/settings#import', { view: NARROW, pollsFast: true })
    const file = (label: string) => page.locator('input[type=file]').nth(label === 'File' ? 0 : label === 'map' ? 1 : 2)
    await file('File').setInputFiles({
      name: 'old.jsonl',
      mimeType: 'application/jsonl',
      buffer: Buffer.from(
        [
          { kind: 'reader', id: 'u1', name: 'Ada' },
          { kind: 'discussion', id: 'd1', url: 'https://old.example/a' },
          {
            kind: 'comment',
            id: 'c1',
            discussionId: 'd1',
            authorId: 'u1',
            body: 'Moved.',
            createdAt: '2020-01-01T00:00:00Z',
          },
        ]
          .map((item) => `${JSON.stringify(item)}\n`)
          .join(''),
      ),
    })
    await enter(page.getByRole('button', { name: 'Options' }))
    const table = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    await file('map').setInputFiles(table('map.csv', 'https://old.example/a,https://new.example/b\n'))
    await file('authors').setInputFiles(table('authors.csv', 'u1,reader-1\n'))
    await tabTo(page.getByRole('textbox', { name: 'Name of the source' }))
    await page.keyboard.type('not a name')
    await expectAccessible(page)
    await enter(page.getByRole('button', { name: 'Upload', exact: true }))
    await page.getByText('must be 1 to 40 letters').waitFor()
    await page.getByRole('textbox', { name: 'Name of the source' }).fill('old-site')
    await enter(page.getByRole('button', { name: 'Upload', exact: true }))
    await page.getByText('old.jsonl is being rehearsed').waitFor()
    await work()
    await page.getByText('1 of 1 rows were used').first().waitFor()
    expect(await page.getByText('1 of 1 rows were used').count()).toBe(2)
    await enter(page.getByRole('button', { name: 'Import now' }))
    await page.getByText('old.jsonl is being imported').waitFor()
    await work()
    await page.getByText('old.jsonl was imported.').waitFor()
    const { data } = await desk.ok('GET', '/comments?search=Moved')
    expect(data).toMatchObject([{ author: { externalId: 'reader-1' } }])
    const discussion = await desk.ok('GET', `/discussions/${data[0].discussionId}`)
    expect(discussion.url).toBe('https://new.example/b')
  })
})
