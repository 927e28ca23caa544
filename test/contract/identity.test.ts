import { createHmac } from 'node:crypto'

import { beforeAll, expect, test, vi } from 'vitest'

import { sha256 } from '../../src/core/secrets/crypto.ts'
import { BODY, type Change, expectRefusal, postAs, seconds, signAssertion, utf8 } from '../harness/assertions.ts'
import { bodySha256 } from '../harness/identity.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let other: TestTenant

beforeAll(async () => {
  other = await service.addTenant('identity-other')
})

const post = (token: string, tenant: TestTenant = service) => postAs(service, token, tenant)
const sign = (change: Change = {}, tenant: TestTenant = service) => signAssertion(tenant, change)

/** The same bytes in other letters: the last one of 43 has two bits that belong to no byte. */
const withSpareBits = (token: string): string =>
  token.slice(0, -1) + String.fromCodePoint((token.codePointAt(token.length - 1) ?? 0) + 1)

/** With a valid signature, which the library would refuse to make. These JSON texts come first. */
function signBefore(inHeader: string, inClaims = ''): string {
  const { kid } = service.identitySecret
  const header = encoded(`{${inHeader}"alg":"HS256","kid":"${kid}"}`)
  const claims = JSON.stringify({ sub: 'x', aud: service.tenant.slug, iat: seconds(), exp: seconds() + 60 })
  const signed = `${header}.${encoded(`{${inClaims}${claims.slice(1)}`)}`
  return `${signed}.${createHmac('sha256', service.identitySecret.secret).update(signed).digest('base64url')}`
}

const encoded = (text: string): string => Buffer.from(text).toString('base64url')
const part = (value: unknown): string => encoded(JSON.stringify(value))

test('an assertion identifies its reader', async () => {
  const claims = {
    sub: 'reader-ok',
    name: 'Ada',
    avatarUrl: 'https://a.example.com/a.png',
    profileUrl: 'https://a.example.com/',
  }
  const { status, json } = await post(await sign({ claims }))
  expect(status).toBe(201)
  const { sub, ...profile } = claims
  expect(json.author).toEqual({ id: expect.any(String) as string, externalId: sub, ...profile, badges: [] })
})

test('a write without an assertion: 403 identity_required', async () => {
  const { status, json } = await service.call('POST', '/discussions/by-external/identity/comments', { body: BODY })
  expect(json.code).toBe('identity_required')
  expect(status).toBe(403)
})

test('an assertion alone, without a key: 401 missing_credentials', async () => {
  const headers = { 'x-api-key': '', 'x-service-identity': await sign() }
  const response = await service.call('POST', '/discussions/by-external/identity/comments', { body: BODY, headers })
  expectRefusal(response, 'missing_credentials')
})

test('an assertion never grants a capability', async () => {
  const bare = await service.newKey()
  const token = await sign({ claims: { capabilities: ['manage_settings'], role: 'admin' } })
  const headers = { ...bare.headers, 'x-service-identity': token }
  expect((await service.call('GET', '/settings', { headers })).json.code).toBe('missing_capability')
})

// The fault, a word of the refusal (so that it is refused for this reason), the assertion.
const hostile: [string, string, () => Promise<string> | string][] = [
  [
    'alg none',
    'algorithm',
    () => `${part({ alg: 'none', kid: service.identitySecret.kid })}.${part({ sub: 'x', aud: service.tenant.slug })}.`,
  ],
  ['another algorithm of the family', 'algorithm', () => sign({ header: { alg: 'HS512' }, key: new Uint8Array(64) })],
  ['a signature by another secret', 'signature', () => sign({ key: utf8(other.identitySecret.secret) })],
  [
    'the kid and secret of another tenant',
    'is no live identity secret of the tenant',
    () => sign({ header: { kid: other.identitySecret.kid }, key: utf8(other.identitySecret.secret) }),
  ],
  ['an unknown kid', 'kid 00000000 is no live identity secret', () => sign({ header: { kid: '00000000' } })],
  ['no kid', 'kid', () => sign({ header: { kid: undefined } })],
  ['a kid that is no text', 'kid', () => sign({ header: { kid: 7 } })],
  ['a critical header that nobody knows', 'signature', () => signBefore('"crit":["x"],"x":1,')],
  ['a claim twice', 'each name once', () => signBefore('', '"sub":"another",')],
  ['a name twice within a claim', 'each name once', () => signBefore('', '"roles":{"a":1,"a":2},')],
  ['claims nested too deep', 'each name once', () => signBefore('', `"a":${'['.repeat(51)}${']'.repeat(51)},`)],
  ['a header name twice', 'each name once', () => signBefore('"kid":"00000000",')],
  ['another slug as aud', 'aud', () => sign({ claims: { aud: other.tenant.slug } })],
  ['several audiences', 'aud', () => sign({ claims: { aud: [service.tenant.slug, 'else'] } })],
  ['no aud', 'aud', () => sign({ claims: { aud: undefined } })],
  ['no sub', 'sub', () => sign({ claims: { sub: undefined } })],
  ['an empty sub', 'sub', () => sign({ claims: { sub: '' } })],
  ['a sub of 256 characters', 'sub', () => sign({ claims: { sub: 'x'.repeat(256) } })],
  ['NUL in sub', 'sub', () => sign({ claims: { sub: 'a\0b' } })],
  ['half a character in sub', 'sub', () => sign({ claims: { sub: 'a\ud800' } })],
  ['no iat', 'iat', () => sign({ claims: { iat: undefined } })],
  ['no exp', 'exp', () => sign({ claims: { exp: undefined } })],
  ['exp as a text', 'exp', () => sign({ claims: { exp: String(seconds() + 60) } })],
  ['a life of more than 1 h', '1 h', () => sign({ claims: { exp: seconds() + 3601, iat: seconds() } })],
  ['exp before iat', 'after iat', () => sign({ claims: { iat: seconds(), exp: seconds() - 1 } })],
  ['iat in the future', 'iat', () => sign({ claims: { iat: seconds() + 120, exp: seconds() + 600 } })],
  ['nbf in the future', 'nbf', () => sign({ claims: { nbf: seconds() + 120 } })],
  ['a name of 81 characters', 'name', () => sign({ claims: { name: 'x'.repeat(81) } })],
  ['an empty name', 'name', () => sign({ claims: { name: '' } })],
  ['NUL in the name', 'name', () => sign({ claims: { name: 'a\0' } })],
  ['an avatarUrl over http', 'avatarUrl', () => sign({ claims: { avatarUrl: 'http://a.example.com/a.png' } })],
  ['a profileUrl that is a script', 'profileUrl', () => sign({ claims: { profileUrl: 'javascript:alert(1)' } })],
  [
    'a profileUrl with a line break',
    'profileUrl',
    () => sign({ claims: { profileUrl: 'https://a.example.com/\njavascript:1' } }),
  ],
  ['badges that are a text', 'badges', () => sign({ claims: { badges: 'staff' } })],
  ['badges that are an object', 'badges', () => sign({ claims: { badges: { length: 1 } } })],
  ['a badge that is no text', 'badges', () => sign({ claims: { badges: ['staff', null] } })],
  ['1 000 badges', '8192', () => sign({ claims: { badges: Array(1000).fill('staff') } })],
  ['the digest of another body', 'bodySha256', () => sign({ claims: { bodySha256: bodySha256('{"body":"Bye"}') } })],
  ['a digest that is no text', 'bodySha256', () => sign({ claims: { bodySha256: true } })],
  ['claims that are a list', 'signature', async () => (await sign()).split('.').with(1, part([])).join('.')],
  [
    'changed claims',
    'signature',
    async () =>
      (await sign())
        .split('.')
        .with(1, part({ sub: 'root', aud: service.tenant.slug, iat: seconds(), exp: seconds() + 60 }))
        .join('.'),
  ],
  ['no signature', 'signature', async () => `${(await sign()).split('.').slice(0, 2).join('.')}.`],
  ['a signature that ends in padding', 'without padding', async () => `${await sign()}=`],
  ['a signature with spare bits', 'without padding', async () => withSpareBits(await sign())],
  ['claims that end in padding', 'without padding', async () => (await sign()).replace(/\.(?=[^.]*$)/, '=.')],
  ['more than 8 192 characters', '8192', () => sign({ claims: { more: 'x'.repeat(8192) } })],
  ['no JWT at all', 'compact JWT', () => 'hello'],
]

test.each(hostile)('an assertion with %s: 401 invalid_identity', async (_name, word, make) => {
  const refusal = await post(await make())
  expectRefusal(refusal, 'invalid_identity')
  expect(refusal.json.detail).toContain(word)
})

test('an assertion past exp and 60 s: 401 expired_identity', async () => {
  expectRefusal(await post(await sign({ claims: { iat: seconds() - 600, exp: seconds() - 61 } })), 'expired_identity')
})

test('60 s of clock skew are allowed both ways', async () => {
  expect((await post(await sign({ claims: { iat: seconds() - 600, exp: seconds() - 50 } }))).status).toBe(201)
  expect((await post(await sign({ claims: { iat: seconds() + 50, exp: seconds() + 600 } }))).status).toBe(201)
})

test('an assertion bound to a body is valid only for this body, the second time too', async () => {
  const token = await sign({ claims: { bodySha256: bodySha256(BODY) } })
  expect((await post(token)).status).toBe(201)
  const headers = { 'x-service-identity': token }
  const replay = await service.call('POST', '/discussions/by-external/identity/comments', {
    body: '{"body":"Bye"}',
    headers,
  })
  expectRefusal(replay, 'invalid_identity')
  expect((await post(token)).status).toBe(201)
})

test('an assertion of one tenant is invalid in another, also after it was cached', async () => {
  const token = await sign()
  expect((await post(token)).status).toBe(201)
  expectRefusal(await post(token, other), 'invalid_identity')
})

test('a profile is updated by a newer assertion, not by an older one or one without a profile', async () => {
  const author = async (claims: Record<string, unknown>) =>
    (await post(await sign({ claims: { sub: 'reader-profile', ...claims } }))).json.author as {
      id: string
      name: string | null
    }
  const now = seconds()
  const first = await author({ iat: now - 100 })
  expect(first.name).toBeNull()
  expect(await author({ iat: now - 100, name: 'Old' })).toMatchObject({ id: first.id, name: 'Old' })
  expect(await author({ iat: now - 50, name: 'New' })).toMatchObject({ id: first.id, name: 'New' })
  expect(await author({ iat: now - 70, name: 'Late' })).toMatchObject({ id: first.id, name: 'New' })
  expect(await author({ iat: now })).toMatchObject({ id: first.id, name: 'New' })
})

test.each(['   ', '\u200B', '\u3164', '\u2800', '\u2060\u180E', '\u00AD\uFE0F', '\u202E\t', '\u{E0020}'])(
  'a name that shows nothing counts as absent: %j',
  async (name) => {
    const { status, json } = await post(await sign({ claims: { sub: `reader-blank-${JSON.stringify(name)}`, name } }))
    expect([status, json.author]).toMatchObject([201, { name: null }])
    const signed = await sign({ claims: { sub: 'reader-visible', name: `A${name}` } })
    expect((await post(signed)).json.author).toMatchObject({ name: expect.stringMatching(/^A/) })
  },
)

test('concurrent first assertions create one reader', async () => {
  const token = await sign({ claims: { sub: 'reader-once', name: 'Once' } })
  const answers = await Promise.all(Array.from({ length: 12 }, () => post(token)))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 201))
  expect(new Set(answers.map(({ json }) => (json.author as { id: string }).id)).size).toBe(1)
})

test('POST /identity-secrets: the new secret works at once, the old one for 24 h', async () => {
  const tenant = await service.addTenant('identity-rotation')
  const as = { headers: { 'x-api-key': tenant.apiKey } }
  const { status, json } = await service.call('POST', '/identity-secrets', as)
  expect(status).toBe(201)
  expect(Object.keys(json as object).sort()).toEqual(['createdAt', 'kid', 'secret'])
  expect(json.kid).toBe(
    sha256(json.secret as string)
      .toString('hex')
      .slice(0, 8),
  )
  const renewed = { ...tenant, identitySecret: { kid: json.kid as string, secret: json.secret as string } }
  expect((await post(await sign({}, renewed), tenant)).status).toBe(201)
  const before = await sign({ claims: { sub: 'reader-before' } }, tenant)
  expect((await post(before, tenant)).status).toBe(201)

  const list = await service.call('GET', '/identity-secrets', as)
  expect(list.text).not.toContain(json.secret)
  expect(list.json.data).toEqual([
    { kid: json.kid, createdAt: json.createdAt, expiresAt: null },
    {
      kid: tenant.identitySecret.kid,
      createdAt: expect.any(String) as string,
      expiresAt: expect.any(String) as string,
    },
  ])
  const hours = (Date.parse(list.json.data[1].expiresAt as string) - Date.now()) / 3_600_000
  expect(hours).toBeGreaterThan(23.9)
  expect(hours).toBeLessThanOrEqual(24)

  // A verified assertion that is cached ends with its secret.
  await service.app.db.query(
    unnamed('UPDATE identity_secrets SET expires_at = now() - make_interval(secs => 1) WHERE kid = $1'),
    [tenant.identitySecret.kid],
  )
  await vi.waitFor(async () => expectRefusal(await post(before, tenant), 'invalid_identity'), {
    timeout: 5000,
    interval: 100,
  })
})
