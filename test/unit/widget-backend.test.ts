import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { ask, backendFor } from '../../src/clients/widget/backend.ts'
import { writesFor } from '../../src/clients/widget/writing/writes.ts'

const asked: string[] = []

/** The next answers of the site's backend. Where none is left, the connection fails. */
const answers: Response[] = []

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    asked.push(`${init.method} ${url} ${new Headers(init.headers).get('idempotency-key') ?? ''}`.trim())
    const answer = answers.shift()
    if (answer === undefined) throw new TypeError('fetch failed')
    return answer
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  asked.length = 0
  answers.length = 0
})

/** Its code, with all waits over at once. */
async function codeOf(run: Promise<unknown>): Promise<string> {
  const ended = run.then(
    () => 'answered',
    (error: Error) => error.message,
  )
  await vi.runAllTimersAsync()
  return ended
}

const PAGE = { backend: 'https://news.example/engagement', discussion: 'a-story' }
const backend = () => backendFor(PAGE.backend, PAGE.discussion)

test('a page is requested four times before it fails', async () => {
  expect(await codeOf(backend().comments({}))).toBe('network')
  expect(asked).toEqual(
    Array.from({ length: 4 }, () => 'GET https://news.example/engagement/comments?externalId=a-story'),
  )
})

test('the first look is one request, and several where the backend is of an earlier release', async () => {
  const ofJson = (body: object | null, status = 200) => Response.json(body, { status })
  const first = { settings: {}, reader: null, discussion: { id: 'd' }, comments: { data: [] }, ticket: null }
  answers.push(ofJson({ ...first, ticket: { ticket: 't' } }))
  expect(await backend().first({ sort: 'newest' })).toEqual({ ...first, ticket: { ticket: 't' } })
  expect(asked.splice(0)).toEqual(['GET https://news.example/engagement/thread?externalId=a-story&sort=newest'])

  answers.push(ofJson({ code: 'not_found' }, 404), ofJson({ reader: null }), ofJson({}))
  answers.push(ofJson({ id: 'd' }), ofJson({ data: [] }))
  expect(await backend().first({ sort: 'newest' })).toEqual(first)
  expect(asked.splice(0).map((each) => each.replace('GET https://news.example/engagement', ''))).toEqual([
    '/thread?externalId=a-story&sort=newest',
    '/me',
    '/settings',
    '/discussion?externalId=a-story',
    '/comments?externalId=a-story&sort=newest',
  ])

  // The site has no such page, whatever its release.
  answers.push(ofJson({ code: 'not_found', errors: [{ code: 'unknown_page' }] }, 404))
  expect(await codeOf(backend().first({}))).toBe('unknown_page')
  expect(asked).toHaveLength(1)
})

test("a ticket is requested once: the stream's client retries by itself, at growing intervals", async () => {
  expect(await codeOf(backend().ticket())).toBe('network')
  expect(asked).toHaveLength(1)
  answers.push(new Response('<h1>Bad gateway</h1>', { status: 502 }))
  expect(await codeOf(backend().ticket())).toBe('unavailable')
  expect(asked).toHaveLength(2)
})

test('a retry has the same idempotency key, and refusals are not retried', async () => {
  answers.push(new Response('{"code":"internal"}', { status: 500 }), new Response('{"code":"banned"}', { status: 403 }))
  expect(await codeOf(writesFor(ask, PAGE).post({ body: 'a text' }, 'one-intent', () => true))).toBe('banned')
  expect(asked.map((each) => each.split(' ').at(-1))).toEqual(['one-intent', 'one-intent'])
})

test('a post that its reader has taken back is not sent again', async () => {
  answers.push(new Response('{"code":"internal"}', { status: 500 }))
  expect(await codeOf(writesFor(ask, PAGE).post({ body: 'a text' }, 'one-intent', () => false))).toBe('internal')
  expect(asked).toHaveLength(1)
})
