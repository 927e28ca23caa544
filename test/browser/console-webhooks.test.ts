import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'

import type { Page } from 'playwright-core'
import { afterAll, expect, test, vi } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import {
  changeAnswers,
  enter,
  expectAccessible,
  expectInView,
  NARROW,
  openDesk,
  tabTo,
  WAIT,
} from '../harness/console.ts'
import { isGenuine, type Receiver, reply, startReceiver } from '../harness/receiver.ts'
import { startService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { copySnippets, type LanguageName, languagesHere, languagesMissing, runSnippet } from '../harness/snippets.ts'

/** Prints for each request of `given.json` whether it is genuine. */
const MAIN: Readonly<Record<LanguageName, string>> = {
  Node: `import { readFileSync } from 'node:fs'
import { isGenuine } from './snippet.mjs'
const given = JSON.parse(readFileSync('given.json', 'utf8'))
console.log(JSON.stringify(given.map(({ headers, body, secrets }) => isGenuine(headers, Buffer.from(body), secrets))))`,
  Python: `import json
from snippet import is_genuine
given = json.load(open('given.json', encoding='utf8'))
print(json.dumps([is_genuine(each['headers'], each['body'].encode(), each['secrets']) for each in given]))`,
  PHP: `<?php
require 'snippet.php';
$given = json_decode(file_get_contents('given.json'), true);
echo json_encode(array_map(fn ($each) => is_genuine($each['headers'], $each['body'], $each['secrets']), $given));`,
  Go: `package main

import (
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	text, _ := os.ReadFile("given.json")
	var given []struct {
		Headers map[string]string
		Body    string
		Secrets []string
	}
	if err := json.Unmarshal(text, &given); err != nil {
		panic(err)
	}
	found := []bool{}
	for _, each := range given {
		headers := http.Header{}
		for name, value := range each.Headers {
			headers.Set(name, value)
		}
		found = append(found, IsGenuine(headers, []byte(each.Body), each.Secrets))
	}
	json.NewEncoder(os.Stdout).Encode(found)
}`,
}

describeInBrowser('webhooks in the console', () => {
  let receiver: Receiver
  afterAll(() => receiver?.close())
  const desk = openDesk(async () => {
    receiver = await startReceiver()
    return startService({ env: { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_POLL_SECONDS: '0.05' } })
  })

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  async function type(page: Page, label: string, text: string): Promise<void> {
    await tabTo(page.getByRole('textbox', { name: label }))
    await page.keyboard.press('Control+A')
    await page.keyboard.type(text)
  }

  async function register(path: string, body: object = {}) {
    const { json } = await desk.service.call('POST', '/webhooks', { body: { url: receiver.url + path, ...body } })
    const read = () => desk.service.call('GET', `/webhooks/${json.id}`)
    await vi.waitFor(async () => expect((await read()).json.state).toBe('verified'), WAIT)
    return json
  }

  async function post(count: number): Promise<void> {
    const ann = await desk.service.as('ann')
    for (let n = 0; n < count; n++) {
      const path = '/discussions/by-external/page/comments'
      expect((await desk.service.call('POST', path, { headers: ann, body: { body: `Comment ${n}` } })).status).toBe(201)
    }
  }

  test('by keyboard alone: register, verify, break until disabled, enable again, and the held deliveries arrive', async () => {
    const page = await desk.visit('/webhooks')
    const path = '/newsroom'
    receiver.on(path, (_request, response) => reply(response, 404))

    await enter(button(page, 'Register an endpoint'))
    await type(page, 'URL', receiver.url.replace('https', 'http') + path)
    await enter(button(page, 'Delivery policy'))
    await type(page, 'First wait', '0.01')
    await type(page, 'Failures to an open circuit', '2')
    // The tenant's is 1 minute.
    await page.getByRole('combobox', { name: 'Unit of Circuit open' }).selectOption('milliseconds')
    await type(page, 'Circuit open', '100')
    await type(page, 'Failures to disabling', '4')
    await page.keyboard.press('Enter')
    const refusal = page.getByText(/^URL must be an https URL\b/)
    await refusal.waitFor()
    // The focus is on the wrong field, with its message in view.
    const hasFocus = () =>
      page.getByRole('textbox', { name: 'URL' }).evaluate((field) => field === document.activeElement)
    await expect.poll(hasFocus, WAIT).toBe(true)
    expect(await refusal.evaluate((words) => words.getBoundingClientRect().top)).toBeGreaterThan(0)
    expect(await page.getByRole('dialog').getByRole('alert').count()).toBe(0)
    await type(page, 'URL', receiver.url + path)
    await page.keyboard.press('Enter')
    const secret = (await page.getByLabel('The secret', { exact: true }).textContent()) ?? ''
    await enter(button(page, 'I have stored it'))

    await page.getByText('The handshake failed: ').waitFor()
    receiver.on(path, null)
    await enter(button(page, 'Verify again'))
    await page.getByText('The handshake succeeded').waitFor()
    expect(await page.content()).not.toContain(secret)

    receiver.on(path, ({ headers }, response) =>
      headers['x-service-event'] === 'verification' ? undefined : reply(response, 500, 'out of paper'),
    )
    await post(5)
    await page.getByText('The endpoint is disabled').waitFor()
    await page.getByText('4 of 4 to disable it').waitFor()
    const heldNow = async () => Number(/(\d+) held/.exec((await page.getByLabel('State').textContent()) ?? '')?.[1])
    await expect.poll(heldNow, WAIT).toBeGreaterThanOrEqual(3)
    const held = await heldNow()

    receiver.on(path, null)
    const broken = receiver.deliveries(path).length
    await enter(button(page, 'Enable'))
    await page.getByText(`${held} held deliveries will go out`).waitFor()
    await enter(button(page, 'Enable it'))
    await page.getByText('0 of 4 to disable it').waitFor()
    await page.getByText('The handshake succeeded').waitFor()
    const arrived = () => receiver.deliveries(path).slice(broken)
    await vi.waitFor(() => expect(arrived()).toHaveLength(held), WAIT)
    const { id } = (await desk.ok('GET', '/webhooks')).data.at(0)
    const kid = (await desk.ok('GET', `/webhooks/${id}`)).secrets[0].kid
    expect(arrived().every((request) => isGenuine(request, { [kid]: secret }))).toBe(true)
    await vi.waitFor(
      async () =>
        expect(
          await page.getByRole('table', { name: 'Deliveries' }).getByText('delivered', { exact: true }).count(),
        ).toBe(held),
      WAIT,
    )
    await page.close()
  })

  test('endpoints that get nothing come first, and a search finds by address and description', async () => {
    const ids: string[] = []
    for (const path of ['broken', 'off', 'unproven', 'well'])
      ids.push((await register(`/first/${path}`, { description: `The ${path} one` })).id)
    const setState = (path: string, values: string) =>
      desk.service.app.db.query(unnamed(`UPDATE webhook_endpoints SET ${values} WHERE url LIKE $1`), [
        `%/first/${path}`,
      ])
    await setState('broken', "circuit_open_until = now() + interval '1 hour', consecutive_failures = 10")
    await setState('off', "state = 'disabled'")
    await setState('unproven', "state = 'unverified'")
    const page = await desk.visit('/webhooks?search=FIRST')
    const shown = () => page.getByRole('table').getByRole('link').allTextContents()
    const address = (path: string) => `${receiver.url}/first/${path}`
    await expect.poll(shown, WAIT).toEqual(['broken', 'off', 'unproven', 'well'].map(address))
    await expectAccessible(page)
    await page.getByRole('searchbox', { name: 'Address or description' }).fill('one well')
    await expect.poll(shown, WAIT).toEqual([address('well')])
    expect(new URL(page.url()).search).toBe('?search=one+well')
    await page.getByRole('searchbox').fill('nowhere')
    await page.getByText('No endpoint was found').waitFor()
    for (const id of ids) await desk.service.call('DELETE', `/webhooks/${id}`)
  })

  test.each([390, 640])(
    'at %i pixels endpoints show their address first, and deliveries their event',
    async (width) => {
      const { id } = await register('/narrow')
      await post(1)
      const page = await desk.visit('/webhooks?search=narrow', { view: { width, theme: 'light' } })
      await expectInView(page.getByRole('row').getByRole('link', { name: '/narrow' }))
      await page.goto(`${desk.service.url}/console/webhooks/${id}`)
      const deliveries = page.getByRole('table', { name: 'Deliveries' })
      await expectInView(deliveries.getByRole('link', { name: 'comment_created' }).first())
      await expectInView(deliveries.getByRole('checkbox').nth(1))
      await desk.service.call('DELETE', `/webhooks/${id}`)
      await page.close()
    },
  )

  test('pauses an endpoint, whose deliveries wait, and resumes it', async () => {
    const { id } = await register('/paused')
    const page = await desk.visit(`/webhooks/${id}`)
    await button(page, 'Pause').click()
    await page.getByText('so that none is lost').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText('The endpoint is paused').waitFor()
    for (const name of ['Pause', 'Send a test event', 'Replay'])
      await expect.poll(() => button(page, name).isDisabled(), WAIT).toBe(true)
    await expectAccessible(page)
    await post(2)
    const deliveries = page.getByRole('table', { name: 'Deliveries' })
    await expect.poll(() => deliveries.getByText('pending', { exact: true }).count(), WAIT).toBe(2)
    expect(receiver.deliveries('/paused')).toEqual([])
    await button(page, 'Resume').click()
    await expect.poll(() => deliveries.getByText('delivered', { exact: true }).count(), WAIT).toBe(2)
    await page.getByText('it gets deliveries').waitFor()
    expect(receiver.deliveries('/paused')).toHaveLength(2)
  })

  test("shows a delivery's body, headers and attempts, and redelivers it; the URL filters the list", async () => {
    receiver.on('/filtered', ({ headers }, response) =>
      headers['x-service-event'] === 'comment_created' ? reply(response, 503, '<b>no</b>') : undefined,
    )
    const { id } = await register('/filtered', { policy: { maxAttempts: 1 } })
    for (const eventType of ['comment_created', 'reaction_toggled'])
      expect((await desk.service.call('POST', `/webhooks/${id}/test`, { body: { eventType } })).status).toBe(202)
    const page = await desk.visit(`/webhooks/${id}?status=failed`)
    const table = page.getByRole('table', { name: 'Deliveries' })
    await table.getByRole('link', { name: 'comment_created' }).waitFor()
    expect(await table.getByRole('link').count()).toBe(1)
    await tabTo(page.getByRole('combobox', { name: 'Event' }))
    await page.keyboard.type('reaction')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByText('No such delivery').waitFor()
    expect(new URL(page.url()).search).toBe('?status=failed&event=reaction_toggled')
    await page.goto(page.url().replace('&event=reaction_toggled', ''))

    await enter(table.getByRole('link', { name: 'comment_created' }))
    const attempts = page.getByRole('table', { name: 'Attempts' })
    await attempts.getByText('503', { exact: true }).waitFor()
    await attempts.getByText('<b>no</b>').waitFor()
    await enter(attempts.getByRole('button', { name: 'Headers of attempt 1' }))
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('table', { name: 'Sent' }).getByText('X-Service-Timestamp').waitFor()
    await dialog.getByRole('table', { name: 'Answered' }).getByText('connection').waitFor()
    expect(await dialog.getByRole('table').allInnerTexts()).not.toContainEqual(expect.stringMatching(/signature/i))
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /X-Service-Event comment_created/i }).waitFor()
    const [eventId = ''] = (await page.getByText(/^[0-9a-f]{8}-/).allTextContents()).slice(1)
    await page.getByRole('link', { name: 'Its deliveries to all endpoints' }).click()
    await page.getByRole('heading', { name: 'Deliveries to all endpoints' }).waitFor()
    await table.getByRole('link', { name: 'comment_created' }).waitFor()
    expect(new URL(page.url()).search).toBe(`?eventId=${eventId}`)
    expect(await table.getByRole('row').count()).toBe(2)
    await expectAccessible(page, 'webhooks-all-deliveries')
    await page.goto(page.url().replace('/deliveries?', `/${id}?`))
    await table.getByRole('link', { name: 'comment_created' }).waitFor()
    expect(await table.getByRole('link').count()).toBe(1)
    expect(await table.getByRole('row').nth(1).textContent()).toMatch(/1.*503.*\d ms/)
    await page.getByLabel('From').fill('2999-01-01')
    await page.getByText('No such delivery').waitFor()
    expect(new URL(page.url()).search).toBe(`?eventId=${eventId}&from=2999-01-01`)
    await page.getByLabel('From').fill('')
    await enter(table.getByRole('link', { name: 'comment_created' }))
    await attempts.getByText('503', { exact: true }).waitFor()
    const body = (await page.getByLabel('Body').textContent()) ?? ''
    expect(JSON.parse(body)).toMatchObject({ type: 'comment_created', seq: 0 })
    expect(body).toContain('\n  "type"')

    receiver.on('/filtered', null)
    const before = page.url()
    await enter(button(page, 'Redeliver'))
    await page.waitForURL((url) => url.href !== before)
    await page.getByText('delivered', { exact: true }).waitFor()
    const [first, second] = receiver.deliveries('/filtered').filter((each) => each.body.type === 'comment_created')
    expect(second?.headers['x-service-idempotency-key']).toBe(first?.headers['x-service-idempotency-key'])
  })

  test('lists deliveries by their last answer and by their comment', async () => {
    receiver.on('/answers', ({ headers }, response) =>
      headers['x-service-event'] === 'reaction_toggled' ? reply(response, 418) : undefined,
    )
    const { id } = await register('/answers', { policy: { maxAttempts: 1 } })
    await post(2)
    const { data } = await desk.ok('GET', '/discussions/by-external/page/comments?sort=newest')
    const react = { headers: await desk.service.as('bob'), body: { type: 'like' } }
    expect((await desk.service.call('POST', `/comments/${data[0].id}/reactions`, react)).status).toBe(200)
    const page = await desk.visit(`/webhooks/${id}`)
    const table = page.getByRole('table', { name: 'Deliveries' })
    const events = () => table.locator('td:nth-child(1)').allTextContents()
    await expect.poll(events, WAIT).toEqual(['reaction_toggled', 'comment_created', 'comment_created'])
    await page.getByRole('combobox', { name: 'Last answer' }).click()
    await page.getByRole('option', { name: '4xx' }).click()
    await expect.poll(events, WAIT).toEqual(['reaction_toggled'])
    expect(new URL(page.url()).search).toBe('?answer=http_4xx')
    await page.getByRole('combobox', { name: 'Last answer' }).click()
    await page.getByRole('option', { name: 'no answer' }).click()
    await page.getByText('No such delivery').waitFor()
    await page.goto(page.url().replace('?answer=none', `?commentId=${data[0].id}`))
    await expect.poll(events, WAIT).toEqual(['reaction_toggled', 'comment_created'])
    await page.getByRole('searchbox', { name: 'Comment id' }).fill('01900000-0000-7000-8000-000000000000')
    await page.getByText('There is no such comment').waitFor()
    await expectAccessible(page, 'webhooks-answers')
    const other = await register('/answers-elsewhere')
    await page.goto(page.url().replace(/\/webhooks.*/, `/discussions/${data[0].discussionId}`))
    await page
      .getByRole('button', { name: /^Actions on the comment of/ })
      .first()
      .click()
    await page.getByRole('menuitem', { name: 'Its webhook deliveries' }).click()
    const links = () => table.getByRole('link').allTextContents()
    const answers = `${receiver.url}/answers`
    const both = [answers, 'reaction_toggled', 'page', answers, 'comment_created', 'page']
    await expect.poll(links, WAIT).toEqual(expect.arrayContaining(both))
    expect(await links()).not.toContain(`${receiver.url}/answers-elsewhere`)
    await desk.ok('POST', `/webhooks/${other.id}/replay`, { from: new Date(Date.now() - 3_600_000).toISOString() })
    await expect.poll(links, WAIT).toContain(`${receiver.url}/answers-elsewhere`)
    expect(new URL(page.url()).search).toBe(`?commentId=${data[0].id}`)
  })

  test('redelivers what is chosen, and asks before more than ten', async () => {
    const { id } = await register('/several')
    await post(12)
    await vi.waitFor(() => expect(receiver.deliveries('/several')).toHaveLength(12), WAIT)
    const page = await desk.visit(`/webhooks/${id}?event=comment_created`)
    const table = page.getByRole('table', { name: 'Deliveries' })
    await expect.poll(() => table.getByText('delivered', { exact: true }).count(), WAIT).toBe(12)
    expect(await button(page, 'Redeliver').isDisabled()).toBe(true)
    for (const place of [2, 5]) await table.getByRole('checkbox').nth(place).click()
    await expectAccessible(page, 'webhooks-redeliver')
    await enter(button(page, 'Redeliver 2'))
    await vi.waitFor(() => expect(receiver.deliveries('/several')).toHaveLength(14), WAIT)
    await expect.poll(() => table.getByText('delivered', { exact: true }).count(), WAIT).toBe(14)
    expect(await table.getByRole('checkbox', { checked: true }).count()).toBe(0)
    await tabTo(table.getByRole('checkbox', { name: 'Choose all that are shown' }))
    await page.keyboard.press('Space')
    await enter(button(page, 'Redeliver 14'))
    await page.getByRole('heading', { name: 'Redeliver 14 deliveries?' }).waitFor()
    expect(receiver.deliveries('/several')).toHaveLength(14)
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Redeliver 14' }))
    await vi.waitFor(() => expect(receiver.deliveries('/several')).toHaveLength(28), WAIT)
    const keys = receiver.deliveries('/several').map(({ headers }) => headers['x-service-idempotency-key'])
    expect(new Set(keys).size).toBe(12)
  })

  test('draws success and latency of the last day', async () => {
    receiver.on('/hours', ({ headers }, response) =>
      headers['x-service-event'] === 'reaction_toggled' ? reply(response, 500) : undefined,
    )
    const { id } = await register('/hours', { policy: { maxAttempts: 1 } })
    const page = await desk.visit(`/webhooks/${id}`)
    await page.getByText('There was no attempt.').waitFor()
    for (const eventType of ['comment_created', 'comment_edited', 'comment_pinned', 'reaction_toggled'])
      expect((await desk.service.call('POST', `/webhooks/${id}/test`, { body: { eventType } })).status).toBe(202)
    const made = async () => (await desk.ok('GET', `/webhooks/${id}/health`)).data.at(-1).attempts as number
    // Two hours may meet in this test.
    await expect.poll(made, WAIT).toBeGreaterThan(0)
    await expect
      .poll(async () => (await desk.ok('GET', `/webhooks/${id}/deliveries?status=pending`)).data.length, WAIT)
      .toBe(0)
    await expect
      .poll(async () => (await desk.ok('GET', `/webhooks/${id}/deliveries?status=delivering`)).data.length, WAIT)
      .toBe(0)
    await page.reload()
    await page.getByText('75 % of 4 attempts succeeded.').waitFor()
    await expectAccessible(page, 'webhooks-hours')
    await enter(button(page, 'Show as table'))
    await page.getByRole('table', { name: 'Last 24 hours' }).getByText(/\d ms/).first().waitFor()
    await expectAccessible(page)
  })

  test('copies a delivery as a command that signs it in the shell, and is taken', async () => {
    const { id, kid, secret } = await register('/copied')
    const ann = await desk.service.as('ann', { name: `Ann "O'Neil" 日本` })
    const path = '/discussions/by-external/page/comments'
    const text = `It's "so" — naïve,\n\n'really' $(date) \\n 👩‍👧`
    expect((await desk.service.call('POST', path, { headers: ann, body: { body: text } })).status).toBe(201)
    await vi.waitFor(() => expect(receiver.deliveries('/copied')).toHaveLength(1), WAIT)
    const { data } = await desk.ok('GET', `/webhooks/${id}/deliveries`)
    const page = await desk.visit(`/webhooks/${id}/deliveries/${data[0].id}`)
    await enter(button(page, 'Copy as curl'))
    await button(page, 'Copied').waitFor()
    const command = String(await page.evaluate('navigator.clipboard.readText()'))
    expect(command).not.toContain(secret)
    expect(command).toContain('$SECRET')
    const env = { ...process.env, SECRET: secret, CURL_CA_BUNDLE: receiver.caFile }
    await promisify(execFile)('bash', ['-c', command], { env })
    const [sent, copied] = receiver.deliveries('/copied')
    expect(copied?.raw.equals(sent?.raw ?? Buffer.alloc(0))).toBe(true)
    for (const request of [sent, copied]) expect(isGenuine(request!, { [kid]: secret })).toBe(true)
    const { secret: another } = await register('/copied-elsewhere')
    expect(isGenuine(copied!, { [kid]: another })).toBe(false)
  })

  test('checks a pasted request in the browser alone', async () => {
    const { id, secret, standardSecret } = await register('/checked')
    await desk.service.call('POST', `/webhooks/${id}/test`, { body: { eventType: 'comment_created' } })
    await vi.waitFor(() => expect(receiver.deliveries('/checked')).toHaveLength(1), WAIT)
    const { headers, raw } = receiver.deliveries('/checked')[0]!
    const page = await desk.visit(`/webhooks/${id}`, { view: NARROW })
    await page.getByRole('heading', { name: 'Check a request' }).waitFor()
    const sent: string[] = []
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    await page.getByRole('textbox', { name: 'Request headers' }).fill(lines.join('\n'))
    await page.getByRole('textbox', { name: 'Raw body' }).fill(raw.toString())
    const field = page.getByLabel('Signing secret', { exact: true })
    for (const form of [secret, standardSecret]) {
      await field.fill(form)
      await enter(button(page, 'Check'))
      await page.getByText('Genuine', { exact: true }).waitFor()
    }
    await expectAccessible(page, 'webhooks-check')
    await page.getByRole('textbox', { name: 'Raw body' }).fill(`${raw.toString()} x`)
    expect(await page.getByText('Genuine', { exact: true }).count()).toBe(0)
    await enter(button(page, 'Check'))
    await page.getByText('The signature does not fit.').waitFor()
    // The page goes on asking for its endpoint, but with nothing of what was pasted.
    const hex = secret.slice('whs_'.length)
    for (const each of sent)
      for (const pasted of [hex, standardSecret, 'x-service-signature']) expect(each).not.toContain(pasted)
    expect(new URL(page.url()).search).toBe('')
  })

  test('counts down an open circuit and the next attempt, says the last error, and tries now', async () => {
    receiver.on('/slow', ({ headers }, response) =>
      headers['x-service-event'] === 'verification' ? undefined : reply(response, 500),
    )
    const policy = { backoffBaseMs: 60_000, breakerThreshold: 1, breakerCooldownMs: 3_600_000, disableThreshold: 5 }
    const { id } = await register('/slow', { policy })
    const page = await desk.visit(`/webhooks/${id}`, { pollsFast: true })
    await page.getByText('Nothing has been sent yet').waitFor()
    await desk.service.call('POST', `/webhooks/${id}/test`, { body: { eventType: 'comment_created' } })
    const circuit = page.getByRole('region', { name: 'Circuit', exact: true })
    await circuit.getByText('open', { exact: true }).waitFor()
    await circuit.getByText('1 of 1 to open the circuit').waitFor()
    const left = async () => (await circuit.getByRole('time').textContent()) ?? ''
    // Until a moment has passed it says `in 1 h 0 min`.
    await expect.poll(left, WAIT).toMatch(/^in 59 min \d+ s$/)
    const first = await left()
    await vi.waitFor(async () => expect(await left()).not.toBe(first), WAIT)
    const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row', { name: /500 \d+ ms/ })
    expect(await row.textContent()).toMatch(/pending.*in (\d+ min )?\d+ s$/)

    const notice = page.getByRole('alert').filter({ hasText: 'The circuit is open' })
    expect(await notice.textContent()).toMatch(/the last one now: .*500.*One delivery is tried in 59 min/)
    await expectAccessible(page)
    receiver.on('/slow', null)
    expect(await circuit.getByText(/500/).count()).toBe(1)
    await enter(button(page, 'Try now'))
    await page.getByText('The handshake succeeded: it gets deliveries.').waitFor()
    await page.getByRole('table', { name: 'Deliveries' }).getByText('delivered', { exact: true }).waitFor()
  })

  test('changes of others during an edit are not overwritten', async () => {
    const { id } = await register('/edited-by-two', { policy: { maxAttempts: 4 } })
    const page = await desk.visit(`/webhooks/${id}`, { pollsFast: true })
    await button(page, 'Edit').click()
    await page.getByRole('textbox', { name: 'Description' }).fill('The archive')
    const theirs = { url: `${receiver.url}/moved`, eventTypes: ['comment_created'], policy: { timeoutMs: 5000 } }
    expect((await desk.service.call('PATCH', `/webhooks/${id}`, { body: theirs })).status).toBe(200)
    await page.getByText(`${receiver.url}/moved`).first().waitFor()
    await type(page, 'Attempts', '5')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await desk.ok('GET', `/webhooks/${id}`)).toMatchObject({
      ...theirs,
      description: 'The archive',
      policy: { timeoutMs: 5000, maxAttempts: 5 },
    })
  })

  test('by keyboard alone: edit, test, replay, rotate the secret twice, delete', async () => {
    await post(1)
    const { id, kid } = await register('/kept')
    const page = await desk.visit(`/webhooks/${id}`)
    await enter(button(page, 'Edit'))
    await type(page, 'Description', 'The archive')
    await tabTo(page.getByRole('checkbox', { name: 'comment_created' }))
    await page.keyboard.press('Space')
    await enter(button(page, 'Delivery policy'))
    await type(page, 'Timeout', '0.099')
    await page.keyboard.press('Enter')
    await page.getByText('Give a time from 100 milliseconds to 30 seconds.').waitFor()
    await type(page, 'Timeout', '2')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'The archive' }).waitFor()
    expect(await desk.ok('GET', `/webhooks/${id}`)).toMatchObject({
      eventTypes: ['comment_created'],
      policy: { timeoutMs: 2000, maxAttempts: 3 },
    })

    await enter(button(page, 'Send a test event'))
    await enter(button(page, 'Send it'))
    await page.getByRole('heading', { name: 'Delivery of comment_created' }).waitFor()
    await page.getByText('delivered', { exact: true }).waitFor()
    await enter(page.getByRole('link', { name: 'The endpoint and its deliveries' }))

    await enter(button(page, 'Replay'))
    await tabTo(page.getByRole('dialog').getByLabel('From'))
    await enter(page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }))
    await page.getByText(/^\d+ (delivery was|deliveries were) queued\.$/).waitFor()
    await vi.waitFor(() => expect(receiver.deliveries('/kept').some(({ body }) => body.seq !== 0)).toBe(true), WAIT)
    await enter(button(page, 'Done'))

    await enter(button(page, 'Rotate the secret'))
    await enter(button(page, 'Rotate'))
    const second = (await page.getByLabel('The secret', { exact: true }).textContent()) ?? ''
    expect(second).toMatch(/^whs_[0-9a-f]{64}$/)
    await enter(button(page, 'I have stored it'))
    await page.getByText(`${kid}, expires in 23 h 59 min`).waitFor()
    const { secrets } = await desk.ok('GET', `/webhooks/${id}`)
    const { kid: lasting } = secrets.find((each: { kid: string }) => each.kid !== kid)
    await enter(button(page, `End ${lasting}`))
    const question = await page.getByRole('dialog').textContent()
    expect(question).toMatch(/Deliveries wait after .+, when [\da-f]{8} expires, unless you rotate the secret before\./)
    await enter(button(page, 'Cancel'))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await enter(button(page, 'Rotate the secret'))
    await enter(button(page, `End ${kid} and rotate`))
    await enter(button(page, 'I have stored it'))
    await page.getByText(kid, { exact: false }).waitFor({ state: 'detached' })

    await enter(button(page, 'Delete'))
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true })
    expect(await confirm.isDisabled()).toBe(true)
    await tabTo(page.getByRole('dialog').getByRole('textbox'))
    await page.keyboard.type(new URL(receiver.url).host)
    await enter(confirm)
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
    expect((await desk.service.call('GET', `/webhooks/${id}`)).status).toBe(404)
  })

  test('an unknown delivery leads to its endpoint, and an unknown endpoint to the list', async () => {
    const none = '01900000-0000-7000-8000-000000000000'
    const page = await desk.visit(`/webhooks/${none}/deliveries/none`)
    await page.getByRole('heading', { name: 'There is no such delivery', exact: true }).waitFor()
    await enter(page.getByRole('link', { name: 'The endpoint and its deliveries' }))
    await page.getByRole('heading', { name: 'There is no such endpoint', exact: true }).waitFor()
    await enter(page.getByRole('link', { name: 'All endpoints' }))
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/console/webhooks')
  })

  test('an address that the browser cannot read is shown as it is, and a row without its endpoint stands alone', async () => {
    const { id } = await register('/unreadable')
    await desk.ok('POST', `/webhooks/${id}/test`, { eventType: 'comment_created' })
    const page = await desk.visit(`/webhooks/${id}`)
    await changeAnswers(page, ({ webhookEndpoint, deliveries }) => {
      if (webhookEndpoint) webhookEndpoint.url = 'https://[fe80'
      if (deliveries) delete deliveries.nodes[0].endpoint
    })
    await page.reload()
    await page.getByRole('heading', { name: 'https://[fe80', level: 1 }).waitFor()
    await enter(button(page, 'Delete'))
    await page.getByRole('dialog').getByLabel('Type https://[fe80 to go on').waitFor()
    await page.goto(`${desk.service.url}/console/webhooks/deliveries`)
    await page.getByRole('cell', { name: 'This entry cannot be shown.' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Deliveries to all endpoints' }).count()).toBe(1)
    await page.unroute('**/graphql')
  })

  test(`the snippets accept genuine requests only${languagesMissing}`, async () => {
    const { id, secret } = await register('/signed')
    expect(
      (await desk.service.call('POST', `/webhooks/${id}/test`, { body: { eventType: 'comment_created' } })).status,
    ).toBe(202)
    await vi.waitFor(() => expect(receiver.deliveries('/signed')).toHaveLength(1), WAIT)
    const { headers, raw } = receiver.deliveries('/signed')[0]!
    const page = await desk.visit(`/webhooks/${id}`)
    const snippets = await copySnippets(page)
    await page.close()
    const body = raw.toString()
    const { 'x-service-signature': signature = '', ...unsigned } = headers
    const past = new Date(Date.now() - 600_000).toISOString()
    const pastSignature = createHmac('sha256', secret).update(`${past}.${body}`).digest('hex')
    const cases: [isGenuine: boolean, given: object][] = [
      [true, { headers, body, secrets: [secret] }],
      [true, { headers, body, secrets: ['whs_other', secret] }],
      [
        true,
        {
          headers: {
            ...headers,
            'x-service-signature-previous': signature,
            'x-service-signature': signature.replace(/v1=./, 'v1=!'),
          },
          body,
          secrets: [secret],
        },
      ],
      [false, { headers, body: `${body} `, secrets: [secret] }],
      [false, { headers, body, secrets: ['whs_other'] }],
      [false, { headers, body, secrets: [] }],
      [false, { headers: unsigned, body, secrets: [secret] }],
      [false, { headers: { ...headers, 'x-service-timestamp': 'yesterday' }, body, secrets: [secret] }],
      [
        false,
        {
          headers: { 'x-service-timestamp': past, 'x-service-signature': `t=0,v1=${pastSignature},kid=0` },
          body,
          secrets: [secret],
        },
      ],
      [false, { headers: {}, body, secrets: [secret] }],
    ]
    const files = { 'given.json': JSON.stringify(cases.map(([, given]) => given)) }
    for (const name of languagesHere) {
      const found = await runSnippet(name, { snippet: snippets[name], main: MAIN[name], files })
      expect(JSON.parse(found), name).toEqual(cases.map(([isGenuineCase]) => isGenuineCase))
    }
  })

  /** An endpoint that took some deliveries, and was then disabled for failing others. */
  async function registerBroken(): Promise<string> {
    const { id } = await register('/seen', {
      description: 'The newsroom',
      policy: { backoffBaseMs: 10, breakerThreshold: 3, breakerCooldownMs: 100, disableThreshold: 4 },
    })
    await post(3)
    await vi.waitFor(() => expect(receiver.deliveries('/seen')).toHaveLength(3), WAIT)
    receiver.on('/seen', (_request, response) => reply(response, 500, 'out of paper'))
    await post(4)
    const read = () => desk.service.call('GET', `/webhooks/${id}`)
    await vi.waitFor(async () => expect((await read()).json.state).toBe('disabled'), WAIT)
    return id
  }

  test('axe finds no violation and no view is wider than the screen', async () => {
    const id = await registerBroken()
    const { data } = await desk.ok('GET', `/webhooks/${id}/deliveries?limit=100`)
    const tried = data.find(({ attempts }: { attempts: { error: string | null }[] }) => attempts[0]?.error != null)
    const page = await desk.visit('/webhooks', { view: NARROW })
    await page.getByRole('table').waitFor()
    await expectAccessible(page, 'webhooks')
    await page.getByRole('button', { name: 'Register an endpoint' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page, 'webhooks-register')
    await page.goto(`${desk.service.url}/console/webhooks/${id}`)
    await page.getByRole('table', { name: 'Deliveries' }).waitFor()
    await expectAccessible(page, 'webhooks-endpoint')
    await page.goto(`${desk.service.url}/console/webhooks/${id}/deliveries/${tried.id}`)
    await page.getByRole('table', { name: 'Attempts' }).waitFor()
    await expectAccessible(page, 'webhooks-delivery')
  })
})
