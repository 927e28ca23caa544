import { beforeAll, describe, expect, test, vi } from 'vitest'

import { bearing, fromElsewhere, NOBODY, tokenFor } from '../harness/members.ts'
import { refusalIn } from '../harness/refusal.ts'
import { type Headers, type TestResponse, type TestTenant, startOwn, useService } from '../harness/service.ts'

const CONSOLE = { 'x-requested-with': 'engagement-console' }
const SAME = { 'sec-fetch-site': 'same-origin' }
const ALLOWED = 'https://site.example'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } })
let member: TestTenant['admin']

beforeAll(async () => {
  member = { ...service.admin }
  await service.call('PATCH', '/settings', { body: { allowedOrigins: [ALLOWED] } })
})

const loginWith = (headers: Headers, of = service): Promise<TestResponse> =>
  of.call('POST', '/admin/auth/login', { headers: { ...fromElsewhere(), ...headers }, body: member })
const cookieIn = ({ headers }: TestResponse): string => headers.get('set-cookie') ?? ''
const pairIn = (answer: TestResponse): string => cookieIn(answer).split(';')[0] ?? ''

async function signedIn(): Promise<{ cookie: string }> {
  return { cookie: pairIn(await loginWith({ ...CONSOLE, ...SAME })) }
}
const me = (headers: Headers, of = service) => of.call('GET', '/admin/me', { headers: { ...NOBODY, ...headers } })
const codeOf = ({ json }: TestResponse): unknown => json.code

describe('the cookie of the console', () => {
  test('is HttpOnly, SameSite=Strict, and the answer has no token', async () => {
    const answer = await loginWith({ ...CONSOLE, ...SAME })
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({ token: null, expiresAt: expect.any(String) })
    const [pair = '', ...attributes] = cookieIn(answer).split('; ')
    expect(pair).toMatch(/^engagement-console=eyJ/)
    expect(attributes.toSorted()).toEqual([
      `Expires=${new Date(answer.json.expiresAt).toUTCString()}`,
      'HttpOnly',
      'Path=/',
      'SameSite=Strict',
    ])
    expect((await me({ ...CONSOLE, ...SAME, cookie: pair })).json.email).toBe(member.email)
    const { json } = await service.graphql(
      '{ me { member { email } } }',
      {},
      { ...NOBODY, ...CONSOLE, ...SAME, cookie: pair },
    )
    expect(json.data.me.member.email).toBe(member.email)
  })

  test('has the prefix __Host- and Secure under https, and no other name counts there', async () => {
    const secure = await startOwn({ env: { BASE_URL: 'https://comments.example' } })
    const answer = await secure.call('POST', '/admin/auth/login', {
      headers: { ...NOBODY, ...CONSOLE, ...SAME },
      body: secure.admin,
    })
    expect(cookieIn(answer)).toMatch(/^__Host-engagement-console=eyJ.+; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
    const cookie = pairIn(answer)
    expect((await me({ ...CONSOLE, ...SAME, cookie }, secure)).status).toBe(200)
    // A sibling subdomain can set a cookie without the prefix for the whole domain.
    const tossed = cookie.replace('__Host-', '')
    expect(codeOf(await me({ ...CONSOLE, ...SAME, cookie: tossed }, secure))).toBe('missing_credentials')
    expect(
      (await me({ ...CONSOLE, ...SAME, cookie: `${tossed.replace(/=.+/, '=x')}; ${cookie}` }, secure)).status,
    ).toBe(200)
    // A browser that sends no Sec-Fetch-Site sends the origin with what changes something.
    const withOrigin = (origin: string) => me({ ...CONSOLE, origin, cookie }, secure)
    expect((await withOrigin('https://comments.example')).status).toBe(200)
    for (const other of ['https://evil.example', 'http://comments.example', 'https://comments.example:8443', 'null'])
      expect(codeOf(await withOrigin(other)), other).toBe('missing_credentials')
  })

  test.each<[string, Headers]>([
    ['a sibling subdomain', { ...CONSOLE, 'sec-fetch-site': 'same-site', origin: 'https://other.comments.example' }],
    ['an origin that the tenant allows', { ...CONSOLE, 'sec-fetch-site': 'cross-site', origin: ALLOWED }],
    ['a form', { ...SAME, 'sec-fetch-mode': 'navigate' }],
    ['a form of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['an address that is typed', { ...CONSOLE, 'sec-fetch-site': 'none' }],
    ['another program in the page', { ...SAME, 'x-requested-with': 'XMLHttpRequest' }],
    ['an old browser at another origin', { ...CONSOLE, origin: 'https://evil.example' }],
    ['an old browser that names no origin', { ...CONSOLE }],
  ])('does not count from %s', async (_from, headers) => {
    const { cookie } = await signedIn()
    expect(codeOf(await me({ ...headers, cookie }))).toBe('missing_credentials')
    const write = await service.call('PATCH', '/settings', {
      headers: { ...NOBODY, ...headers, cookie },
      body: { maxLinks: 7 },
    })
    expect(codeOf(write)).toBe('missing_credentials')
    const asked = await service.graphql('{ settings { maxLinks } }', {}, { ...NOBODY, ...headers, cookie })
    expect(asked.json.errors[0].extensions.code).toBe('missing_credentials')
    const answer = await loginWith(headers)
    expect([answer.headers.get('set-cookie'), typeof answer.json.token]).toEqual([null, 'string'])
  })

  test('does not count from a page of an allowed origin that sends the header of the console', async () => {
    const { cookie } = await signedIn()
    const headers = { ...CONSOLE, origin: ALLOWED, cookie }
    for (const site of [{}, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
      expect(codeOf(await me({ ...headers, ...site }))).toBe('missing_credentials')
  })

  test.each(['x-api-key', 'authorization'])('beside %s: 400 ambiguous_credentials', async (name) => {
    const { cookie } = await signedIn()
    const second = name === 'x-api-key' ? service.apiKey : `Bearer ${await tokenFor(service, member)}`
    const headers = { ...CONSOLE, ...SAME, cookie, [name]: second }
    expect((await service.call('GET', '/keys', { headers })).json).toMatchObject({
      status: 400,
      code: 'ambiguous_credentials',
    })
    const { json } = await service.call('POST', '/discussions', { body: { externalId: `cookie-${name}` } })
    const stream = await fetch(`${service.url}/api/v1/stream/${json.id}`, { headers })
    expect(refusalIn(await stream.json())).toMatchObject({ code: 'ambiguous_credentials' })
  })

  test('a program that signs in gets a token, and no cookie', async () => {
    const answer = await loginWith({})
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect((await me(bearing(answer.json.token))).status).toBe(200)
  })

  test('follows a new password and a switch, and is removed by signing out', async () => {
    const { cookie } = await signedIn()
    const from = { ...CONSOLE, ...SAME }
    const body = { current: member.password, new: 'the next password' }
    const changed = await service.call('POST', '/admin/auth/password', {
      headers: { ...NOBODY, ...from, cookie },
      body,
    })
    expect(changed.json.token).toBeNull()
    member.password = body.new
    await vi.waitFor(async () => expect((await me({ ...from, cookie })).status).toBe(401))
    const next = { ...from, cookie: pairIn(changed) }
    const switched = await service.call('POST', '/admin/auth/switch', {
      headers: { ...NOBODY, ...next },
      body: { tenant: service.tenant.slug },
    })
    expect([switched.json.token, pairIn(switched)]).toEqual([null, expect.stringContaining('=eyJ')])
    const out = await service.call('POST', '/admin/auth/logout', { headers: { ...NOBODY, ...next } })
    expect([out.status, cookieIn(out)]).toEqual([
      204,
      expect.stringMatching(/^engagement-console=; Expires=Thu, 01 Jan 1970/),
    ])
    await vi.waitFor(async () => expect((await me(next)).status).toBe(401))
  })

  test('with a wrong value, or of a sign-in that has ended, is ignored: the next login works beside it', async () => {
    const stale = { ...CONSOLE, ...SAME, cookie: 'a=b; engagement-console=nonsense' }
    expect(codeOf(await me(stale))).toBe('missing_credentials')
    expect((await loginWith(stale)).status).toBe(200)
  })
})
