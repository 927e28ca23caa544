import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { hasBrowser, shoot } from '../harness/browser.ts'
import { openDesk, WAIT } from '../harness/console.ts'
import { type Receiver, reply, startReceiver } from '../harness/receiver.ts'
import { startService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

// The weeks before, as workers have summed them up.
const PAST =
  unnamed(`INSERT INTO analytics_buckets (tenant_id, interval, at, comments_approved, comments_pending, comments_rejected,
     comments_deleted, reactions, reports, deliveries_delivered, deliveries_failed, active_readers)
   SELECT $1, 'day', date_trunc('day', now(), 'UTC') - n * interval '1 day',
     640 + (90 * sin(n * 0.9))::int - 3 * n + n * 37 % 60, 4 + n % 3, 31 + n * 7 % 18, 12 + n % 6,
     1900 + (400 * sin(n * 0.9 + 0.4))::int - 8 * n, 9 + n * 5 % 8, 2300 + (300 * sin(n * 0.9))::int, n % 5,
     310 + (50 * sin(n * 0.9))::int - n
   FROM generate_series(1, 60) AS n`)

const ANN = 'Ann Okafor'
const BOB = 'Bob Lindqvist'
const CLEO = 'Cléo Marchand'
const DEV = 'Dev Raman'

/** What stands in the queue of the picture, and why. */
const HELD = [
  [DEV, 'Cheap berths, guaranteed, at https://example.com/berths and https://example.org/berths'],
  [BOB, 'Only a fool would pay that much for a seat. They said the same in 1993, and look what came of it.'],
] as const

describe.runIf(hasBrowser && process.env.SCREENSHOTS !== undefined)('pictures (made where SCREENSHOTS is set)', () => {
  let receiver: Receiver
  afterAll(() => receiver?.close())
  const desk = openDesk(async () => {
    receiver = await startReceiver()
    return startService({ env: { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_POLL_SECONDS: '0.05' } })
  })

  const post = async (name: string, page: string, body: string, parentId: string | null = null): Promise<string> => {
    const headers = await desk.service.as(name.split(' ')[0]?.toLowerCase() ?? '', { name })
    return (await desk.ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId }, headers)).id
  }

  beforeAll(async () => {
    await desk.service.app.db.query(PAST, [desk.service.tenant.id])
    for (const [externalId, title] of [
      ['night-trains', 'The night train is back. Who will sleep in it?'],
      ['library-hours', 'The library stays open until midnight'],
      ['old-bridge', 'The old bridge is to close for a year'],
    ]) {
      await desk.ok('POST', '/discussions', { externalId, title, url: `https://example.org/${externalId}` })
    }
  })

  test('webhook deliveries', async () => {
    const { id } = await desk.ok('POST', '/webhooks', {
      url: `https://127.0.0.1:${new URL(receiver.url).port}/newsroom`,
      description: 'The newsroom',
      policy: { backoffBaseMs: 60_000 },
    })
    await vi.waitFor(async () => expect((await desk.ok('GET', `/webhooks/${id}`)).state).toBe('verified'), WAIT)
    const first = await post(DEV, 'night-trains', 'I took it last week, and slept through two countries.')
    await post(CLEO, 'night-trains', 'Which berth did you have?', first)
    await desk.ok('POST', `/comments/${first}/reactions`, { type: 'love' }, await desk.service.as('ann', { name: ANN }))
    const delivered = async (status: string) =>
      (await desk.ok('GET', `/webhooks/${id}/deliveries?status=${status}`)).data.length as number
    await vi.waitFor(async () => expect(await delivered('delivered')).toBe(3), WAIT)
    receiver.on('/newsroom', (_request, response) => reply(response, 503))
    await post(ANN, 'old-bridge', 'A year! And the ferry?')
    await post(BOB, 'old-bridge', 'It has never run in winter.')
    await vi.waitFor(async () => expect(await delivered('pending')).toBe(2), WAIT)
    await vi.waitFor(async () => expect((await desk.ok('GET', `/webhooks/${id}`)).consecutiveFailures).toBe(2), WAIT)
    const page = await desk.visit(`/webhooks/${id}`)
    await page.getByRole('table').waitFor()
    const hours = page.getByRole('heading', { name: 'Last 24 hours' })
    // Below the bar of the page.
    await hours.evaluate((heading) => scrollTo(0, heading.getBoundingClientRect().top - 72))
    await shoot(page, 'deliveries')
  })

  test('the queue', async () => {
    await desk.ok('PATCH', '/settings', { suspectWords: ['fool'], maxLinks: 1 })
    const question = await post(ANN, 'night-trains', 'Would you pay 90 for a bunk, if breakfast came with it?')
    for (const [name, body] of HELD) await post(name, 'night-trains', body, question)
    const page = await desk.visit('/moderation')
    const shown = () => page.locator('[data-comment]').count()
    await vi.waitFor(async () => expect(await shown()).toBeGreaterThanOrEqual(HELD.length), WAIT)
    await page.keyboard.press('j')
    await shoot(page, 'moderation')
  })

  test('the overview', async () => {
    const page = await desk.visit('/?span=30d')
    await page.getByRole('button', { name: 'Hide', exact: true }).click()
    const bars = () => page.locator('.recharts-bar-rectangle').count()
    await vi.waitFor(async () => expect(await bars()).toBeGreaterThan(0), WAIT)
    await shoot(page, 'overview')
  })
})
