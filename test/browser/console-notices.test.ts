import { createServer } from 'node:http'

import { expect, onTestFinished, test } from 'vitest'

import { openOutbound } from '../../src/outbound/outbound.ts'
import { tellChannels } from '../../src/worker/notices.ts'
import { open, shut } from '../harness/backends.ts'
import { describeInBrowser } from '../harness/browser.ts'
import { enter, expectAccessible, openDesk, WAIT } from '../harness/console.ts'
import { startService } from '../harness/service.ts'

describeInBrowser('notices to staff in the console', () => {
  const desk = openDesk(() => startService({ worker: false, env: { WEBHOOK_ALLOW_HTTP: 'true' } }))

  test('notice channels: add, edit with the address kept, test, delete', async () => {
    const got: string[] = []
    const receiver = createServer((request, response) => {
      got.push(request.url ?? '')
      response.writeHead(got.length === 1 ? 500 : 200).end()
    })
    const url = await open(receiver)
    onTestFinished(() => shut(receiver))
    const { app } = desk.service
    const tell = async (): Promise<void> => {
      const outbound = openOutbound(app.settings)
      await app.prisma.noticeChannel.updateMany({ data: { dueAt: new Date(0) } })
      await tellChannels(app, outbound, new AbortController().signal)
      outbound.close()
    }
    const page = await desk.visit('/settings#notices', { pollsFast: true })
    const dialog = page.getByRole('dialog')
    const row = page.getByRole('table', { name: 'Notice channels' }).getByRole('row').nth(1)
    await enter(page.getByRole('button', { name: 'Add a channel' }))
    await enter(dialog.getByRole('button', { name: 'Add the channel' }))
    await dialog.getByText('Enter the address of the channel.').waitFor()
    await dialog.getByRole('textbox', { name: 'Address' }).fill('https://10.0.0.1/x')
    await enter(dialog.getByRole('button', { name: 'Add the channel' }))
    await dialog.getByText('must not point to a private or reserved address').waitFor()
    await dialog.getByLabel('Where').selectOption('Your own program (JSON)')
    await dialog.getByRole('textbox', { name: 'Address' }).fill(`${url}/secret-path`)
    await expectAccessible(page, 'notices')
    await enter(dialog.getByRole('button', { name: 'Add the channel' }))
    await row.getByText(new URL(url).host).waitFor()

    await enter(row.getByRole('button', { name: 'Edit' }))
    expect(await dialog.getByRole('textbox', { name: 'Address' }).inputValue()).toBe('')
    await dialog.getByRole('checkbox', { name: 'An export is ready' }).uncheck()
    await enter(dialog.getByRole('button', { name: 'Save' }))
    await row.getByText('An export is ready').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain('secret-path')

    await enter(row.getByRole('button', { name: 'Test' }))
    await page.getByText('A worker sends a test message').waitFor()
    await tell()
    await row.getByText('Not taken: status 500').waitFor()
    // As if ten seconds had passed.
    const { told } = await app.prisma.noticeChannel.findFirstOrThrow()
    await app.prisma.noticeChannel.updateMany({ data: { told: { ...(told as object), sentAt: {} } } })
    await enter(row.getByRole('button', { name: 'Test' }))
    await expect.poll(async () => (await tell(), got.length), WAIT).toBe(2)
    await row.getByText('Not taken').waitFor({ state: 'detached' })
    // The address was kept by the edit.
    expect(got).toEqual(['/secret-path', '/secret-path'])

    await enter(row.getByRole('button', { name: 'Delete' }))
    await enter(dialog.getByRole('button', { name: 'Delete' }))
    await page.getByText('There is no channel').waitFor()
  })
})
