import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { ask, backendFor, baseOf, identities, type Identity } from '../../src/clients/widget/backend.ts'
import { writesFor } from '../../src/clients/widget/writing/writes.ts'

const SITE = 'https://comments.example/engagement/pk_one'
const PAGE = 'https://news.example/a-story'

interface Asked {
  line: string
  token: string | null
  credentials: string | undefined
  key: string | null
}

const asked: Asked[] = []
/** The next answers of the service. Where none is left, it answers `{}`. */
const answers: Response[] = []
const warned: string[] = []

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.stubGlobal('navigator', { onLine: true })
  vi.stubGlobal('document', { title: 'A story & more' })
  vi.spyOn(console, 'warn').mockImplementation((text: string) => void warned.push(text))
  vi.stubGlobal('fetch', async (url: string, { method, headers, credentials }: RequestInit) => {
    const given = new Headers(headers)
    const token = given.get('authorization')
    asked.push({ line: `${method} ${url}`, token, credentials, key: given.get('idempotency-key') })
    return answers.shift() ?? Response.json({})
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  identities.clear()
  for (const list of [asked, answers, warned]) list.length = 0
})

/** What a request ends with: its answer, or the code of its refusal. All waits are over at once. */
async function outcomeOf(run: Promise<unknown>): Promise<unknown> {
  const ended = run.catch((error: Error) => error.message)
  let isOver = false
  void ended.then(() => (isOver = true))
  while (!isOver) {
    await vi.advanceTimersByTimeAsync(1000)
    await new Promise(setImmediate)
  }
  return ended
}

const refused = () => Response.json({ code: 'invalid_identity', detail: 'It has expired.' }, { status: 401 })
const page = () => backendFor(SITE, PAGE)
const post = () =>
  writesFor(ask, { backend: SITE, discussion: PAGE }).post({ body: 'a text' }, 'one-intent', () => true)
/** A function as a page gives it, which has these tokens, one after the other. */
function signIn(...tokens: (string | null)[]) {
  const identity = vi.fn<Identity>(async () => (tokens.length > 1 ? tokens.shift() : tokens[0]) ?? null)
  identities.set(SITE, identity)
  return identity
}

test("a page of a site has the service's paths: of the script's own, or of the attribute service", () => {
  const base = (attributes: Record<string, string>) =>
    baseOf({ getAttribute: (name: string) => attributes[name] ?? null } as Element)
  expect(base({ site: 'pk_one', service: 'https://comments.example/' })).toBe(SITE)
  expect(base({ site: 'pk_one', service: 'https://news.example/comments' })).toBe(
    'https://news.example/comments/engagement/pk_one',
  )
  expect(base({ site: 'pk_one' })).toMatch(/^file:.*\/src\/clients\/widget\/engagement\/pk_one$/)
  expect([base({}), base({ backend: '/talk/' })]).toEqual(['/engagement', '/talk'])
})

describe('of a reader who is not signed in', () => {
  test('requests have no cookies and no token, and one address for all', async () => {
    await outcomeOf(page().first({ sort: 'newest', limit: '20', replies: '3' }))
    const query = `externalId=${encodeURIComponent(PAGE)}&sort=newest&limit=20&replies=3`
    expect(asked).toEqual([{ line: `GET ${SITE}/thread?${query}`, token: null, credentials: 'omit', key: null }])
  })

  test('a page of no such site is unknown after one request, which is not sent again', async () => {
    answers.push(Response.json({ code: 'not_found' }, { status: 404 }))
    expect(await outcomeOf(page().first({}))).toBe('unknown_page')
    expect(asked).toHaveLength(1)
  })

  test('a site that is deleted while a reader writes is an unknown page, as it is at the next load', async () => {
    const errors = [{ pointer: '/publicKey', code: 'unknown_site', message: 'is the key of no site' }]
    signIn('a-token')
    answers.push(Response.json({ code: 'not_found', errors }, { status: 404 }))
    expect(await outcomeOf(post())).toBe('unknown_page')
    answers.push(Response.json({ code: 'not_found' }, { status: 404 }))
    expect(await outcomeOf(page().comment('one'))).toBe(null)
  })

  test('a backend of the publisher gets cookies, and no token', async () => {
    signIn('a-token')
    await outcomeOf(ask('/engagement/me'))
    expect(asked).toMatchObject([{ line: 'GET /engagement/me', token: null, credentials: 'include' }])
  })

  test('another site of the same service gets no token', async () => {
    signIn('a-token')
    await outcomeOf(ask(`${SITE}other/me`))
    expect(asked).toMatchObject([{ token: null }])
  })
})

describe('of a signed-in reader', () => {
  test('what is read has an address of its own, and writes have the token as well', async () => {
    signIn('a-token')
    await outcomeOf(page().comments({ sort: 'top' }))
    await outcomeOf(page().me())
    await outcomeOf(post())
    const id = encodeURIComponent(PAGE)
    expect(asked.map(({ line, token, credentials }) => [line.replace(SITE, ''), token, credentials])).toEqual([
      [`GET /comments?externalId=${id}&sort=top&signedIn=1`, 'Bearer a-token', 'omit'],
      ['GET /me?signedIn=1', 'Bearer a-token', 'omit'],
      [`POST /comments?externalId=${id}&title=A+story+%26+more`, 'Bearer a-token', 'omit'],
    ])
  })

  test('the function is asked for each request, and once more for a refused token', async () => {
    const identity = signIn('old', 'new')
    answers.push(refused())
    await outcomeOf(post())
    expect(identity.mock.calls).toEqual([[false], [true]])
    expect(asked.map(({ token, key }) => [token, key])).toEqual([
      ['Bearer old', 'one-intent'],
      ['Bearer new', 'one-intent'],
    ])
    expect(warned).toEqual([])
  })

  test('requests that are refused together ask once for the next token', async () => {
    const identity = signIn('old', 'old', 'old', 'new')
    answers.push(refused(), refused(), refused())
    await outcomeOf(Promise.all([page().me(), page().comments({}), post()]))
    expect(identity.mock.calls.filter(([isRefused]) => isRefused)).toHaveLength(1)
    expect(asked.slice(3).map(({ token }) => token)).toEqual(['Bearer new', 'Bearer new', 'Bearer new'])
  })

  test.each([
    ['there is none any more', ['old', null], 1],
    ['it is the same', ['old', 'old'], 1],
    ['it is refused as well', ['old', 'new'], 2],
  ])(
    'a page is read as nobody, and nothing is written, where a next token is asked for and %s',
    async (_, tokens, sent) => {
      signIn(...tokens)
      answers.push(...Array.from({ length: sent }, refused))
      await outcomeOf(page().comments({}))
      expect(asked.splice(0).at(-1)).toMatchObject({ line: expect.not.stringContaining('signedIn'), token: null })

      signIn(...tokens)
      answers.push(...Array.from({ length: sent }, refused))
      expect(await outcomeOf(post())).toBe('identity_required')
      expect(asked.map(({ token }) => token)).not.toContain(null)
      expect(asked).toHaveLength(sent)
      expect(
        warned.filter((text) => text.endsWith('refuses the token of setIdentity: It has expired.')).length,
      ).toBeLessThan(2)
    },
  )

  test('a function that fails, or does not answer within 10 s, leaves the page to nobody', async () => {
    identities.set(SITE, () => Promise.reject(new Error('login_required')))
    await outcomeOf(page().me())
    identities.set(SITE, () => {
      throw new Error('not yet')
    })
    await outcomeOf(page().me())
    identities.set(SITE, () => new Promise(() => null))
    await outcomeOf(page().me())
    expect(asked.map(({ line, token }) => [line, token])).toEqual(
      Array.from({ length: 3 }, () => [`GET ${SITE}/me`, null]),
    )
    expect(vi.getTimerCount()).toBe(0)
    expect(warned).toEqual(['engagement: the function given to setIdentity has failed, so nobody is signed in'])
  })

  test('a function that fails without a line is no sign-out: a text waits for the line', async () => {
    vi.stubGlobal('navigator', { onLine: false })
    identities.set(SITE, () => Promise.reject(new TypeError('Failed to fetch')))
    expect(await outcomeOf(post())).toBe('network')
    expect(asked).toEqual([])
  })

  test('a site that takes no writes has closed its comments', async () => {
    signIn('a-token')
    answers.push(Response.json({ code: 'missing_capability' }, { status: 403 }))
    expect(await outcomeOf(post())).toBe('locked')
    answers.push(Response.json({ code: 'reader_banned' }, { status: 403 }))
    expect(await outcomeOf(post())).toBe('reader_banned')
  })

  test('other refusals are those of the request, with their wait', async () => {
    const identity = signIn('a-token')
    answers.push(Response.json({ code: 'rate_limited' }, { status: 429, headers: { 'retry-after': '17' } }))
    await expect(post()).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 17 })
    expect(identity).toHaveBeenCalledTimes(1)
    expect(asked).toHaveLength(1)
  })
})
