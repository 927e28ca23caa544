import { beforeAll, expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { changeAnswers, enter, expectAccessible, NARROW, openDesk, tabTo, WAIT } from '../harness/console.ts'
import { unnamed } from '../harness/sql.ts'

// Some weeks of a quiet publisher, as a worker would have folded them, with one busy hour a day.
const PAST =
  unnamed(`INSERT INTO analytics_buckets (tenant_id, interval, at, comments_approved, comments_rejected, comments_deleted,
     reactions, reports, deliveries_delivered, deliveries_failed, active_readers)
   SELECT $1, i.name::analytics_interval, CASE i.name WHEN 'day' THEN d.day ELSE d.day + interval '9 hours' END,
     20 + n % 7 * 3, 2 + n % 3, n % 4, 60 + n % 9 * 5, n % 5, 50 + n % 7 * 6, n % 6, 12 + n % 8
   FROM generate_series(1, 60) AS n
   CROSS JOIN LATERAL (SELECT date_trunc('day', now(), 'UTC') - n * interval '1 day' AS day) d
   CROSS JOIN (VALUES ('day'), ('hour')) AS i (name)`)

describeInBrowser('the overview of the console', () => {
  const desk = openDesk()

  let held: string

  const post = async (reader: string, page: string, body: string): Promise<string> =>
    (await desk.ok('POST', `/discussions/by-external/${page}/comments`, { body }, await desk.service.as(reader))).id

  beforeAll(async () => {
    await desk.service.app.db.query(PAST, [desk.service.tenant.id])
    await desk.ok('POST', '/discussions', { externalId: 'harbour', title: 'The harbour is to be rebuilt' })
    const first = await post('ann', 'harbour', 'At last.')
    for (const reader of ['ben', 'cleo']) await post(reader, 'harbour', `It was time, says ${reader}.`)
    await post('ann', 'budget', 'Who pays for it?')
    await desk.ok('POST', `/comments/${first}/report`, { reason: 'spam' }, await desk.service.as('ben'))
    await desk.ok('PUT', `/comments/${first}/reaction`, { type: 'like' }, await desk.service.as('cleo'))
    await desk.ok('PATCH', '/settings', { suspectWords: ['casino'] })
    held = await post('dan', 'harbour', 'Better build a casino.')
  })

  test('by keyboard alone: choose a span, read its numbers, go to what needs attention', async () => {
    const page = await desk.visit()
    const comments = page.getByRole('region', { name: 'Comments', exact: true })
    await comments.getByText('against the 7 days before').waitFor()

    await tabTo(page.getByRole('radio', { name: '7 days' }))
    await page.keyboard.press('ArrowLeft')
    await comments.getByText(/the 24 hours before/).waitFor()
    expect(page.url()).toContain('span=24h')
    await page.keyboard.press('ArrowRight')
    await comments.getByText('against the 7 days before').waitFor()

    await enter(comments.getByRole('button', { name: 'Show as table: Comments' }))
    const today = comments.getByRole('row').last()
    expect(await today.getByRole('cell').allTextContents()).toEqual(['4', '1', '0', '0'])
    expect(await comments.getByRole('row').count()).toBe(1 + 7)
    const answer = await desk.ok(
      'GET',
      '/analytics/summary?from=' + new Date(Date.now() - 6 * 86_400_000).toISOString(),
    )
    const { approved, pending, rejected, deleted } = answer.totals.comments
    expect(Number(await comments.locator('p').first().textContent())).toBe(approved + pending + rejected + deleted)

    const top = page.getByRole('region', { name: 'Top discussions' })
    await top.getByRole('row', { name: 'The harbour is to be rebuilt 3' }).waitFor()
    await enter(page.getByRole('link', { name: '1 Pending comments' }))
    await page.waitForURL(/\/moderation\?status=pending$/)
  })

  test('a row that cannot be shown leaves the others in view', async () => {
    const page = await desk.visit()
    await changeAnswers(page, ({ analyticsTop }) => {
      if (analyticsTop) analyticsTop.readers[0].reader.name = 5
    })
    await page.reload()
    const top = page.getByRole('region', { name: 'Top readers' })
    await top.getByRole('cell', { name: 'This entry cannot be shown.' }).waitFor()
    expect(await top.getByRole('row').count()).toBeGreaterThan(1)
    await page.unroute('**/graphql')
  })

  test('new work appears while the page is open, and finished work disappears', async () => {
    const page = await desk.visit('/?span=30d')
    await page.getByRole('link', { name: '1 Pending comments' }).waitFor()
    await desk.ok('POST', `/comments/${held}/reject`)
    // Sooner than the next poll of the other figures.
    await page.getByRole('link', { name: '0 Pending comments' }).waitFor({ timeout: 4500 })
    expect(await page.getByRole('radio', { name: '30 days' }).isChecked()).toBe(true)
  })

  test('a tenant is told its first steps, which test themselves, until all are done', async () => {
    const tenant = await desk.service.addTenant('newcomer')
    const headers = { 'x-api-key': tenant.apiKey }
    const run = (text: string, params: (string | null)[]) => desk.service.app.db.query(unnamed(text), params)
    const page = await desk.visit('/', { admin: tenant.admin })
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByText('engagement-thread discussion=').waitFor()
    await desk.ok('POST', '/discussions', { externalId: 'first' }, headers)
    await page.reload()
    await steps.getByText('There are no comments yet.').waitFor()
    const links = steps.getByRole('link').and(page.locator(':not([href*="/docs/"])'))
    expect(await links.allTextContents()).toEqual([
      'Create a key',
      'add a site',
      'Sign an identity',
      'tests it',
      'Allow the origin',
      'Register an endpoint',
    ])
    for (const guide of await steps.getByRole('link', { name: 'Guide:' }).all()) {
      const answer = await fetch((await guide.getAttribute('href')) ?? '')
      const title = (await guide.textContent())?.replace('Guide: ', '')
      expect(await answer.text()).toContain(`<title>${title} `)
    }
    expect(await page.getByRole('region', { name: 'Figures' }).count()).toBe(0)
    const done = async () =>
      (await steps.getByRole('listitem').allTextContents()).map((text) => text.startsWith('Done:'))
    // The first key has all capabilities, so it does not count as a backend's key.
    expect(await done()).toEqual([false, false, false, false, false, false])
    await expectAccessible(page, 'overview-first')
    expect(await steps.getByRole('button', { name: 'Hide' }).count()).toBe(0)

    await enter(steps.getByRole('link', { name: 'tests it' }))
    const heading = page.getByRole('heading', { name: 'Test your backend' })
    await expect.poll(() => heading.evaluate((each) => each === document.activeElement), WAIT).toBe(true)
    await page.goBack()

    const { key } = await desk.ok('POST', '/keys', { label: 'Pages', capabilities: [] }, headers)
    await page.reload()
    await steps.getByText('You have one, and it was not used yet.').waitFor()
    expect(await done()).toEqual([false, false, false, false, false, false])
    const reload = async () => {
      await page.reload()
      await steps.getByRole('listitem').first().waitFor()
      return done()
    }
    // A comment of a shell comes from no page.
    const ann = await tenant.as('ann')
    await desk.ok('POST', '/discussions/by-external/first/comments', { body: 'Hello.' }, { ...headers, ...ann })
    await expect.poll(reload, WAIT).toEqual([false, true, false, false, false, false])
    await desk.ok('GET', '/readers/me', undefined, { 'x-api-key': key, ...ann })
    await expect.poll(reload, WAIT).toEqual([true, true, true, true, false, false])
    await page.getByRole('region', { name: 'Figures' }).waitFor()
    const regions = page.getByRole('region', { name: /^(First steps|Figures)$/ })
    expect(await regions.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['First steps', 'Figures'])
    await expectAccessible(page, 'overview-steps')
    await desk.ok('PATCH', '/settings', { allowedOrigins: ['https://news.example.com'] }, headers)
    const { id } = await desk.ok('POST', '/webhooks', { url: 'https://127.0.0.1:9/hook' }, headers)
    await expect.poll(reload, WAIT).toEqual([true, true, true, true, true, false])
    await steps.getByText('It is not verified yet.').waitFor()
    await run("UPDATE webhook_endpoints SET state = 'verified' WHERE id = $1", [id])
    await expect.poll(reload, WAIT).toEqual([true, true, true, true, true, false])
    await steps.getByText('which it should answer with 2xx').waitFor()
    await desk.ok('POST', `/webhooks/${id}/test`, { eventType: 'comment_created' }, headers)
    // What one answers that is refused is no 2xx.
    await run(
      "UPDATE deliveries SET status = 'failed', next_attempt_at = NULL, last_answer = 5 WHERE endpoint_id = $1",
      [id],
    )
    await expect.poll(reload, WAIT).toEqual([true, true, true, true, true, false])
    await run('UPDATE deliveries SET last_answer = 2 WHERE endpoint_id = $1', [id])
    await page.reload()
    await page.getByRole('region', { name: 'Figures' }).waitFor()
    await expect.poll(() => steps.count(), WAIT).toBe(0)
  })

  test('a tenant with a site and no backend is told the steps of pages without one', async () => {
    const tenant = await desk.service.addTenant('static')
    const headers = { 'x-api-key': tenant.apiKey }
    const origin = 'https://static.example.com'
    const page = await desk.visit('/', { admin: tenant.admin })
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByRole('link', { name: 'add a site' }).waitFor()
    const { id } = await desk.ok('POST', '/sites', { name: 'Notebook', origins: [origin], guests: 'email' }, headers)
    const done = async () => {
      await page.reload()
      await steps.getByRole('link', { name: 'Notebook' }).waitFor()
      return (await steps.getByRole('listitem').allTextContents()).map((text) => text.startsWith('Done:'))
    }
    expect(await done()).toEqual([true, false, false, false])
    expect(await steps.getByRole('link', { name: 'Notebook' }).getAttribute('href')).toContain(`/sites/${id}`)
    await expectAccessible(page, 'overview-static')
    // The first key of a tenant has all capabilities: it counts as no backend of pages.
    const externalId = encodeURIComponent(`${origin}/a`)
    await desk.ok(
      'POST',
      `/discussions/by-external/${externalId}/comments`,
      { body: 'Hi.' },
      {
        ...headers,
        ...(await tenant.as('ann')),
      },
    )
    await expect.poll(done, WAIT).toEqual([true, true, false, false])
    await desk.ok('PATCH', '/settings', { guests: { mailUrl: 'https://mailer.example.com/' } }, headers)
    await expect.poll(done, WAIT).toEqual([true, true, false, false])
    await desk.ok('POST', '/mail-secrets', {}, headers)
    await expect.poll(done, WAIT).toEqual([true, true, true, false])
  })

  test('the first steps can be hidden once there are figures, and stay hidden', async () => {
    const page = await desk.visit()
    const steps = page.getByRole('region', { name: 'First steps' })
    await enter(steps.getByRole('button', { name: 'Hide' }))
    await steps.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('region', { name: 'Figures' }).waitFor()
    expect(await steps.count()).toBe(0)
  })

  test("on the first day there is no average of readers yet, so today's are shown", async () => {
    const tenant = await desk.service.addTenant('beginner')
    const headers = { 'x-api-key': tenant.apiKey, ...(await tenant.as('ann')) }
    const path = '/discussions/by-external/first/comments'
    expect((await desk.service.call('POST', path, { headers, body: { body: 'Hello.' } })).status).toBe(201)
    const page = await desk.visit('/', { admin: tenant.admin })
    await page.getByRole('region', { name: 'Active readers' }).getByText('1 today so far').waitFor()
  })

  test('axe finds no violation and no view is wider than the screen', async () => {
    const page = await desk.visit('/?span=30d', { view: NARROW })
    await page.locator('.recharts-bar-rectangle').first().waitFor()
    await expectAccessible(page, 'overview')
    const show = page.getByRole('button', { name: /Show as table/ })
    while ((await show.count()) > 0) await show.first().click()
    await page.getByRole('table', { name: 'Webhook deliveries' }).waitFor()
    await expectAccessible(page)
  })
})
