import { createServer, type ServerResponse } from 'node:http'

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { ServiceError } from '../../src/core/errors.ts'
import { askOutside, inOneTransaction } from '../../src/core/scope.ts'
import { open, shut } from '../harness/backends.ts'
import { startOwn, useService } from '../harness/service.ts'
import { keyOf } from '../harness/sites.ts'

const service = useService({ env: { WEBHOOK_ALLOW_HTTP: 'true' } })
let url: string
let answer: (response: ServerResponse, path: string) => void

const backend = createServer((request, response) => answer(response, request.url ?? ''))

beforeAll(async () => {
  url = await open(backend)
})
afterAll(async () => {
  await shut(backend)
})

let tenants = 0
/** A tenant of its own, because one can ask ten times at once. */
const headersOfAnother = async () => keyOf(await service.addTenant(`pages-${++tenants}`))

const check = async (address: string, headers?: Record<string, string>) =>
  service.call('POST', '/backend-check', { body: { url: address }, headers: headers ?? (await headersOfAnother()) })

test('a backend that gives pages their settings answers', async () => {
  let asked = ''
  answer = (response, path) => {
    asked = path
    response.end(JSON.stringify({ reactionTypes: ['like'], editWindowSeconds: 900 }))
  }
  const { status, json } = await check(`${url}/engagement/?of=it#top`)
  expect([status, json]).toEqual([
    200,
    {
      url: `${url}/engagement/settings`,
      answers: true,
      finding: 'The backend answers: it gives pages their settings.',
    },
  ])
  expect(asked).toBe('/engagement/settings')
})

const NOT_HERE =
  'its routes are not at this address. They are below /engagement of the site, unless it has another basePath.'

test.each<[string, (response: ServerResponse) => void, string]>([
  ['404', (response) => response.writeHead(404).end(), `The backend answers 404: ${NOT_HERE}`],
  [
    'a refusal of the service',
    (response) => response.writeHead(401).end('{"code":"invalid_api_key","detail":"secret words"}'),
    'The backend answers 401 invalid_api_key: it must let readers read without a sign-in, by a valid key.',
  ],
  [
    'a redirect',
    (response) => response.writeHead(302, { location: 'https://www.example.com/' }).end(),
    'The backend answers 302, which leads elsewhere: name the address that it leads to.',
  ],
  [
    'a failure',
    (response) => response.writeHead(500).end('secret words'),
    'The backend answers 500: its log says why.',
  ],
  [
    'a page',
    (response) => response.end('<html>secret words</html>'),
    `The backend answers 200 without JSON: ${NOT_HERE}`,
  ],
  [
    'other JSON',
    (response) => response.end('{"other":"secret words"}'),
    `The backend answers 200 with other JSON than the settings of pages: ${NOT_HERE}`,
  ],
  ['nothing', (response) => response.destroy(), 'The backend does not answer: connection closed by the receiver.'],
])('%s is told in words, without the answer', async (_what, reply, finding) => {
  answer = reply
  const { status, json, text } = await check(`${url}/engagement`)
  expect([status, json]).toEqual([200, { url: `${url}/engagement/settings`, answers: false, finding }])
  expect(text).not.toContain('secret words')
})

test('with an Idempotency-Key it holds no transaction while the backend is slow, and is asked once', async () => {
  const asked: ServerResponse[] = []
  answer = (response) => void asked.push(response)
  const headers = await headersOfAnother()
  const keyed = () => check(url, { ...headers, 'idempotency-key': 'slow' })
  const checking = keyed()
  await vi.waitFor(() => expect(asked).toHaveLength(1))
  // The embedded database has one connection.
  const { json: log } = await service.call('GET', '/audit-log?action=backend.check', { headers })
  expect(log.data).toMatchObject([{ after: { url: `${url}/settings` } }])
  asked[0]?.writeHead(404).end()
  const { status, json } = await checking
  expect([status, json.answers]).toEqual([200, false])
  const again = await keyed()
  expect([again.headers.get('idempotency-replayed'), again.json]).toEqual(['true', json])
  expect(asked).toHaveLength(1)
})

test('each field of a query is answered in its place, with an entry of its own, up to the ten', async () => {
  answer = (response, path) => response.writeHead(path.startsWith('/1/') ? 404 : 500).end()
  const headers = await headersOfAnother()
  const fields = Array.from({ length: 12 }, (_, n) => `of${n}: backendCheck(url: "${url}/${n % 2}") { url finding }`)
  const { json } = await service.graphql(`{ ${fields.join(' ')} }`, {}, headers)
  const names = Object.keys(json.data)
  expect(names).toEqual(fields.map((_, n) => `of${n}`))
  const answered = names.filter((name) => json.data[name] !== null)
  for (const name of answered) {
    const isOdd = Number(name.slice(2)) % 2 === 1
    const { url: asked, finding } = json.data[name]
    expect([asked, finding]).toEqual([
      `${url}/${isOdd ? 1 : 0}/settings`,
      expect.stringContaining(isOdd ? '404' : '500'),
    ])
  }
  expect(answered.length).toBeGreaterThanOrEqual(10)
  const codes = (json.errors ?? []).map((error: { extensions: { code: string } }) => error.extensions.code)
  expect(codes).toEqual(Array(12 - answered.length).fill('rate_limited'))
  const { json: log } = await service.call('GET', '/audit-log?action=backend.check', { headers })
  expect(log.data).toHaveLength(answered.length)
})

test('a transaction that asks several servers is run once more, and asks each once', async () => {
  const { app } = service
  const asked: string[] = []
  const ask = (view: App, what: string) =>
    askOutside(view, what, async (outside) => {
      asked.push(what)
      expect(outside.scope).toBeUndefined()
      if (what === 'refused') throw new ServiceError('rate_limited', { retryAfterSeconds: 5 })
      return Promise.resolve(`answer of ${what}`)
    })
  let runs = 0
  const settled = await inOneTransaction(app, (_sql, attempt) =>
    attempt(async (view) => {
      runs++
      const all = ['a', 'refused', 'b', 'a'].map(async (what) => ask(view, what))
      const [first, refused, ...others] = await Promise.allSettled(all)
      // As an answer of GraphQL with a failure that passes, which is no outcome.
      if (first?.status === 'rejected') throw first.reason
      return [first, refused, ...others]
    }),
  )
  const value = (what: string) => ({ status: 'fulfilled', value: `answer of ${what}` })
  const refusal = { status: 'rejected', reason: { code: 'rate_limited' } }
  expect(settled).toMatchObject([value('a'), refusal, value('b'), value('a')])
  expect([runs, asked]).toEqual([2, ['a', 'refused', 'b']])
})

test('an answer that goes on is read up to 64 KiB', async () => {
  answer = (response) => {
    response.on('error', () => undefined)
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    }
    response.on('drain', more)
    more()
  }
  const { json } = await check(`${url}/engagement`)
  expect(json.finding).toBe(`The backend answers 200 without JSON: ${NOT_HERE}`)
})

test('an address is refused as that of a webhook is', async () => {
  const { status, json } = await check('https://10.0.0.1/engagement')
  expect([status, json.errors]).toMatchObject([422, [{ pointer: '/url', code: 'address_not_allowed' }]])
})

test('the refusal of an address of this machine says what to do in development', async () => {
  const closed = await startOwn({ env: { WEBHOOK_ALLOWED_CIDRS: '' } })
  const settings = 'WEBHOOK_ALLOW_HTTP=true and WEBHOOK_ALLOWED_CIDRS=127.0.0.0/8'
  const of = (address: string) => closed.call('POST', '/backend-check', { body: { url: address } })
  for (const address of ['http://localhost:3000/engagement', 'https://127.0.0.1:3000/engagement']) {
    const { json } = await of(address)
    expect(json.errors[0].message, address).toContain(settings)
  }
  expect((await of('http://www.example.com/engagement')).json.errors[0].message).toBe('must be an https URL')
  const { json } = await of('https://localhost:3000/engagement')
  expect([json.answers, json.finding]).toEqual([false, expect.stringContaining(settings)])
})

test('it needs manage_api_keys, and ten at once are the most', async () => {
  answer = (response) => response.writeHead(404).end()
  const headers = await headersOfAnother()
  const { json } = await service.call('POST', '/keys', { body: { label: 'Pages', capabilities: [] }, headers })
  expect((await check(url, { 'x-api-key': json.key })).status).toBe(403)
  const statuses: number[] = []
  while (statuses.at(-1) !== 429 && statuses.length < 40) statuses.push((await check(url, headers)).status)
  expect(statuses.length).toBeGreaterThan(10)
  expect(statuses.at(-1)).toBe(429)
})
