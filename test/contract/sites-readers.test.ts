import { createHmac } from 'node:crypto'

import { exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'

import { addSite, keyOf, now, ORIGIN, page, type TestSite } from '../harness/sites.ts'
import { startOwn, useService } from '../harness/service.ts'

const service = useService()
let site: TestSite

beforeAll(async () => {
  site = await addSite(service, service)
})

let pages = 0
const newPage = (): string => `${ORIGIN}/page-${++pages}`

const me = (token: string, of = site) => of.ask('GET', '/me?signedIn=1', { token })
const post = (token: string | undefined, address = newPage(), of = site) =>
  of.ask('POST', `/comments${page(address)}`, { body: { body: 'Hello' }, ...(token !== undefined && { token }) })

describe('the token of the issuer', () => {
  test('names the reader, by sub and the configured claims', async () => {
    const { json } = await me(
      await site.token({
        sub: 'u|1',
        name: ' Zoë ',
        picture: 'https://a.example/p.png',
        profile: 'https://a.example/z',
      }),
    )
    expect(json.reader).toEqual({
      id: 'u|1',
      name: 'Zoë',
      avatarUrl: 'https://a.example/p.png',
      profileUrl: 'https://a.example/z',
      ban: null,
    })
  })

  test('may have other claims and another audience, by the settings', async () => {
    const tenant = await service.addTenant('claims-of-sites')
    const claims = { name: 'user_metadata.full_name', avatarUrl: 'https://a.example/picture' }
    const own = await addSite(service, tenant, { settings: { identity: { audience: 'app-1', claims } } })
    const given = {
      aud: ['other', 'app-1'],
      user_metadata: { full_name: 'Nested' },
      'https://a.example/picture': 'https://a.example/p.png',
      profile: 'https://a.example/z',
    }
    expect((await me(await own.token(given), own)).json.reader).toMatchObject({
      name: 'Nested',
      avatarUrl: 'https://a.example/p.png',
      profileUrl: 'https://a.example/z',
    })
    expect((await me(await own.token(), own)).json.code).toBe('invalid_identity')
    // Another audience from now on: a token that was verified before is refused.
    const token = await own.token(given)
    expect((await me(token, own)).status).toBe(200)
    const body = { identity: { audience: 'app-2' } }
    await service.call('PATCH', '/settings', { body, headers: keyOf(tenant) })
    expect((await me(token, own)).json.code).toBe('invalid_identity')
  })

  test('keeps nobody from writing by a profile that cannot be shown', async () => {
    const profile = { name: 'n'.repeat(90), picture: 'http://a.example/p.png', profile: 7 }
    const posted = await post(await site.token({ sub: 'odd', ...profile }))
    expect(posted.status, posted.text).toBe(201)
    expect(posted.json.author).toMatchObject({ name: 'n'.repeat(80), avatarUrl: null, profileUrl: null })
    const nameless = await post(await site.token({ sub: 'nameless', name: '\u200B' }))
    expect(nameless.json.author.name).toBe(null)
  })

  test('is taken until identity.maxAgeSeconds after its iat, though its exp is later', async () => {
    const long = { exp: now() + 86_400 }
    expect((await me(await site.token({ ...long, iat: now() - 3000 }))).status).toBe(200)
    expect((await me(await site.token({ ...long, iat: now() - 3700 }))).json.code).toBe('invalid_identity')
    const tenant = await service.addTenant('old-tokens')
    const own = await addSite(service, tenant, { settings: { identity: { maxAgeSeconds: 86_400 } } })
    expect((await me(await own.token({ ...long, iat: now() - 80_000 }), own)).status).toBe(200)
    const tooLong = { identity: { maxAgeSeconds: 86_401 } }
    const refused = await service.call('PATCH', '/settings', { body: tooLong, headers: keyOf(tenant) })
    expect(refused.status).toBe(422)
  })

  test('of a tenant without an issuer is refused', async () => {
    const tenant = await service.addTenant('no-issuer')
    const own = await addSite(service, tenant)
    const body = { identity: { issuer: null, jwksUrl: null } }
    await service.call('PATCH', '/settings', { body, headers: keyOf(tenant) })
    expect((await me(await own.token(), own)).json.code).toBe('invalid_identity')
  })
})

describe('a token that is not the issuer’s is refused with 401 invalid_identity', () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = () => ({
    iss: 'https://login.example.com',
    sub: 'ann',
    aud: service.tenant.slug,
    iat: now(),
    exp: now() + 600,
  })
  const hs256 = (secret: string | Uint8Array, kid: string): string => {
    const signed = `${part({ alg: 'HS256', kid })}.${part(claims())}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }

  test.each<[string, () => Promise<string> | string]>([
    ['alg none', () => `${part({ alg: 'none', kid: 'k1' })}.${part(claims())}.`],
    [
      'alg none with a signature',
      async () => {
        const [, payload, signature] = (await site.token()).split('.')
        return `${part({ alg: 'none', kid: 'k1' })}.${payload}.${signature}`
      },
    ],
    ['HS256 with the public key', async () => hs256(await exportSPKI(site.pair.publicKey), 'k1')],
    ['HS256 with the identity secret', () => hs256(service.identitySecret.secret, service.identitySecret.kid)],
    [
      'another key',
      async () =>
        new SignJWT(claims())
          .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
          .sign((await generateKeyPair('RS256')).privateKey),
    ],
    ['another kid', () => site.token({}, { kid: 'k2' })],
    ['a kid that is no text', () => site.token({}, { kid: 1 })],
    ['a foreign issuer', () => site.token({ iss: 'https://elsewhere.example' })],
    ['no issuer', () => site.token({ iss: undefined })],
    ['a foreign audience', () => site.token({ aud: 'another' })],
    ['the digest of one body', () => site.token({ bodySha256: 'A'.repeat(43) })],
    ['foreign audiences', () => site.token({ aud: ['another', 'more'] })],
    ['an object as audience', () => site.token({ aud: { 0: service.tenant.slug } })],
    ['no audience', () => site.token({ aud: undefined })],
    ['an exp that is over', () => site.token({ iat: now() - 700, exp: now() - 61 })],
    ['no exp', () => site.token({ exp: undefined })],
    ['no iat', () => site.token({ iat: undefined })],
    ['an iat in the future', () => site.token({ iat: now() + 120 })],
    ['an nbf in the future', () => site.token({ nbf: now() + 120 })],
    ['no sub', () => site.token({ sub: undefined })],
    ['an empty sub', () => site.token({ sub: '' })],
    ['a sub of 256 characters', () => site.token({ sub: 's'.repeat(256) })],
    ['a sub with NUL', () => site.token({ sub: 'a\0' })],
    ['a huge token', () => site.token({ padding: 'x'.repeat(7000) })],
    [
      'an admin token',
      async () => {
        const body = service.admin
        return (await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })).json.token
      },
    ],
    ['an assertion', async () => (await service.as('ann'))['x-service-identity'] ?? ''],
    ['an API key', () => service.apiKey],
    ['the public key of the site', () => site.publicKey],
    ['three dots', () => '...'],
  ])('%s', async (_what, make) => {
    const token = await make()
    for (const { status, json, headers } of [await me(token), await post(token)]) {
      expect([status, json.code]).toEqual([401, 'invalid_identity'])
      expect(headers.get('www-authenticate')).toContain('invalid_identity')
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    }
  })

  test('and so is another scheme', async () => {
    const headers = { authorization: 'Basic YTpi' }
    expect((await site.ask('GET', '/me?signedIn=1', { headers })).json.code).toBe('invalid_identity')
  })
})

test('without a token a page reads, and writes nothing: 403 identity_required', async () => {
  const { json: comment } = await post(await site.token())
  for (const [method, path] of [
    ['POST', `/comments${page()}`],
    ['PATCH', `/comments/${comment.id}`],
    ['DELETE', `/comments/${comment.id}`],
    ['PUT', `/comments/${comment.id}/reaction`],
    ['DELETE', `/comments/${comment.id}/reaction`],
    ['POST', `/comments/${comment.id}/report`],
    ['PUT', `/readers/${comment.author.id}/mute`],
    ['POST', '/me/notifications/read'],
    ['PATCH', '/me/preferences'],
    ['GET', '/me/notifications'],
  ] as const) {
    const { status, json } = await site.ask(method, path)
    expect([status, json.code], `${method} ${path}`).toEqual([403, 'identity_required'])
  }
  expect((await site.ask('GET', `/comments/${comment.id}`)).status).toBe(200)
})

test('a cookie, an API key and an assertion count for nothing', async () => {
  const headers = { cookie: 'engagement=x', 'x-api-key': service.apiKey, ...(await service.as('ann')) }
  expect((await site.ask('GET', '/me?signedIn=1', { headers })).json).toEqual({ reader: null })
  const posted = await site.ask('POST', `/comments${page()}`, { headers, body: { body: 'x' } })
  expect(posted.json.code).toBe('identity_required')
})

test('a site moderates nothing, and sees what waits no more than its author does', async () => {
  const tenant = await service.addTenant('held-sites')
  const own = await addSite(service, tenant, { settings: { moderationMode: 'pre' } })
  const address = newPage()
  const token = await own.token()
  const { json: comment } = await post(token, address, own)
  expect(comment.status).toBe('pending')
  expect((await own.ask('GET', `/comments/${comment.id}`)).status).toBe(404)
  expect((await own.ask('GET', `/comments/${comment.id}?signedIn=1`, { token })).status).toBe(200)
  expect((await own.ask('GET', `/thread${page(address)}`)).json.comments.data).toEqual([])
  const thread = await own.ask('GET', `/thread${page(address, { signedIn: '1' })}`, { token })
  expect(thread.json.own).toEqual([expect.objectContaining({ id: comment.id })])
  expect((await own.ask('POST', `/comments/${comment.id}/approve`, { token })).status).toBe(404)
})

test('a banned reader is refused', async () => {
  const token = await site.token({ sub: 'banned' })
  const { json: comment } = await post(token)
  await service.call('POST', `/readers/${comment.author.id}/ban`, { body: {} })
  expect((await post(token)).json.code).toBe('reader_banned')
  expect((await me(token)).json.reader.ban).toMatchObject({ until: null })
})

describe('limits', () => {
  test('a reader begins five discussions, then 429 with Retry-After; others go on', async () => {
    const token = await site.token({ sub: 'eager' })
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(token)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    const refused = answers.filter(({ json }) => json.code === 'rate_limited')
    expect(refused).toHaveLength(3)
    for (const { headers } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(300)
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    }
    // A page with a discussion takes comments, also those of this reader.
    const address = newPage()
    expect((await post(await site.token({ sub: 'calm' }), address)).status).toBe(201)
    expect((await post(token, address)).status).toBe(201)
  })

  test('what a reader begins has a bucket of its own, which empties none of the others', async () => {
    const { limits } = service.app
    const name = `${service.tenant.id}/busy`
    limits.charge('client', name, { perSecond: 1, burst: 1 }, 1000)
    limits.charge('caller', name, { perSecond: 1, burst: 1 }, 1000)
    const token = await site.token({ sub: 'busy' })
    const address = newPage()
    expect((await post(token, address)).status).toBe(201)
    limits.charge('beginning', name, { perSecond: 5 / 3600, burst: 5 }, 1000)
    expect((await post(token)).json.code).toBe('rate_limited')
    expect((await post(token, address)).status).toBe(201)
    limits.charge('siteReader', name, { perSecond: 1, burst: 1 }, 100_000)
    expect((await post(token, address)).json.code).toBe('rate_limited')
  })

  test('a comment that is refused begins none, and costs none', async () => {
    const token = await site.token({ sub: 'wordless' })
    for (let n = 0; n < 7; n++) {
      const refused = await site.ask('POST', `/comments${page(newPage())}`, { token, body: { body: '' } })
      expect(refused.status).toBe(422)
    }
    expect((await post(token)).status).toBe(201)
  })

  test('a reader has the bucket of a client token, over all addresses of the site', async () => {
    const tenant = await service.addTenant('limited-sites')
    const own = await addSite(service, tenant, { settings: { clientToken: { perSecond: 1, burst: 2 } } })
    const token = await own.token()
    const answers = await Promise.all(Array.from({ length: 30 }, () => me(token, own)))
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(30)
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.json.code).toBe('rate_limited')
    expect(refused?.headers.get('retry-after')).not.toBe(null)
    // Neither nobody nor another reader nor the tenant's key pays.
    expect((await own.ask('GET', '/me', { token })).status).toBe(200)
    expect((await me(await own.token({ sub: 'bob' }), own)).status).toBe(200)
    expect((await service.call('GET', '/discussions', { headers: keyOf(tenant) })).status).toBe(200)
  })

  test('an address has a bucket at each site, and empties no other', async () => {
    const strict = await startOwn({ env: { UNAUTHENTICATED_RATE_PER_SECOND: '1', UNAUTHENTICATED_RATE_BURST: '2' } })
    const [own, other] = [await addSite(strict, strict), await addSite(strict, strict)]
    const answers = await Promise.all(Array.from({ length: 30 }, () => own.ask('GET', '/settings')))
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0)
    // Before the token is looked at, and before any work.
    const all = await Promise.all(Array.from({ length: 30 }, () => me('not a token', own)))
    expect(all.filter(({ status }) => status === 429).length).toBeGreaterThan(0)
    expect((await other.ask('GET', '/settings')).status).toBe(200)
    expect((await strict.call('GET', '/discussions')).status).toBe(200)
    expect((await own.ask('GET', '/settings')).headers.get('access-control-allow-origin')).toBe(ORIGIN)
  })

  test('made-up keys are at the expense of their address, and lock out no site', async () => {
    const strict = await startOwn({ env: { UNAUTHENTICATED_RATE_PER_SECOND: '1', UNAUTHENTICATED_RATE_BURST: '2' } })
    const own = await addSite(strict, strict)
    expect((await own.ask('GET', '/settings')).status).toBe(200)
    const guess = (n: number) => fetch(`${strict.url}/engagement/pk_${String(n).padStart(64, '0')}/settings`)
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => guess(n)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404, 429]))
    expect((await own.ask('GET', '/settings')).status).toBe(200)
  })
})

test('a body that is no JSON, too large or of another type is refused as elsewhere', async () => {
  const token = await site.token()
  const send = (body: string, headers: Record<string, string> = {}) =>
    site.ask('POST', `/comments${page()}`, { token, body, headers })
  expect((await send('{')).json.code).toBe('malformed_json')
  expect((await send('x', { 'content-type': 'text/plain' })).json.code).toBe('unsupported_media_type')
  expect((await send(JSON.stringify({ body: 'x'.repeat(300_000) }))).json.code).toBe('body_too_large')
  expect((await send('{"body":"x","guest":1}')).json.code).toBe('validation_failed')
})
