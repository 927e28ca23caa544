import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { expect, test, vi } from 'vitest'

import { refreshDueKeySets } from '../../src/domains/readers/key-sets.ts'
import { type Change, expectRefusal, postAs, seconds, signAssertion, utf8 } from '../harness/assertions.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { ask, ORIGIN } from '../harness/sites.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const post = (token: string, tenant: TestTenant) => postAs(service, token, tenant)
const sign = (change: Change, tenant: TestTenant) => signAssertion(tenant, change)

const ISSUER = 'https://login.example.com'
const URL_OF_KEYS = 'https://login.example.com/jwks.json'

async function tenantWithKeySet(slug: string): Promise<TestTenant> {
  const tenant = await service.addTenant(slug)
  const body = { identity: { issuer: ISSUER, jwksUrl: URL_OF_KEYS } }
  await service.ok('PATCH', '/settings', body, { 'x-api-key': tenant.apiKey })
  return tenant
}

type Pair = Awaited<ReturnType<typeof generateKeyPair>>

async function signAs(tenant: TestTenant, alg: string, pair: Pair, kid: string, claims: object = {}): Promise<string> {
  const now = seconds()
  return new SignJWT({ iss: ISSUER, sub: 'reader-keys', aud: tenant.tenant.slug, iat: now, exp: now + 600, ...claims })
    .setProtectedHeader({ alg, kid })
    .sign(pair.privateKey)
}

test.each(['RS256', 'ES256', 'EdDSA'])('%s against the tenant’s key set, fetched by a worker', async (alg) => {
  const tenant = await tenantWithKeySet(`identity-${alg.toLowerCase()}`)
  const pair = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1', use: 'sig' }
  expectRefusal(await post(await signAs(tenant, alg, pair, 'k1'), tenant), 'invalid_identity')

  const urls: string[] = []
  const fetchJson = (url: string) => {
    urls.push(url)
    return Promise.resolve({ keys: [{ kty: 'oct', k: 'c2VjcmV0' }, jwk] })
  }
  expect(await refreshDueKeySets(service.app, fetchJson)).toBe(1)
  expect(urls).toEqual([URL_OF_KEYS])
  expect((await post(await signAs(tenant, alg, pair, 'k1'), tenant)).status).toBe(201)

  expectRefusal(
    await post(await signAs(tenant, alg, pair, 'k1', { iss: 'https://else.example.com' }), tenant),
    'invalid_identity',
  )
  expectRefusal(await post(await signAs(tenant, alg, pair, 'k1', { iss: undefined }), tenant), 'invalid_identity')
  expectRefusal(await post(await signAs(tenant, alg, pair, 'k2'), tenant), 'invalid_identity')
  expectRefusal(await post(await signAs(tenant, alg, await generateKeyPair(alg), 'k1'), tenant), 'invalid_identity')
  expect((await post(await sign({}, tenant), tenant)).status).toBe(201)

  // Without the address, the keys are no longer accepted.
  const cached = await signAs(tenant, alg, pair, 'k1', { sub: 'reader-cached' })
  expect((await post(cached, tenant)).status).toBe(201)
  const body = { identity: { issuer: null, jwksUrl: null } }
  await service.call('PATCH', '/settings', { body, headers: { 'x-api-key': tenant.apiKey } })
  expectRefusal(await post(cached, tenant), 'invalid_identity')
})

test('HS256 with a public key as its secret: 401 invalid_identity', async () => {
  const tenant = await tenantWithKeySet('identity-swap')
  const pair = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'abcdef01' }
  await refreshDueKeySets(service.app, () => Promise.resolve({ keys: [jwk] }))
  expect((await post(await signAs(tenant, 'RS256', pair, 'abcdef01'), tenant)).status).toBe(201)
  for (const key of [
    utf8(await exportSPKI(pair.publicKey)),
    utf8(JSON.stringify(jwk)),
    Buffer.from(jwk.n ?? '', 'base64url'),
  ]) {
    expectRefusal(
      await post(await sign({ claims: { iss: ISSUER }, header: { kid: 'abcdef01' }, key }, tenant), tenant),
      'invalid_identity',
    )
  }
})

test('an unknown kid makes a worker fetch the key set again, but not for every token', async () => {
  const tenant = await tenantWithKeySet('identity-new-kid')
  const pair = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'new' }
  const fetchJson = vi.fn(() => Promise.resolve({ keys: [jwk] }))
  await refreshDueKeySets(service.app, () => Promise.resolve({ keys: [] }))
  const fetchedLongAgo = unnamed(
    `UPDATE identity_key_sets SET tried_at = now() - interval '1 minute' WHERE tenant_id = $1`,
  )
  await service.app.db.query(fetchedLongAgo, [tenant.tenant.id])
  expect(await refreshDueKeySets(service.app, fetchJson)).toBe(0)

  expectRefusal(await post(await signAs(tenant, 'ES256', pair, 'new'), tenant), 'invalid_identity')
  expect(await refreshDueKeySets(service.app, fetchJson)).toBe(1)
  expect((await post(await signAs(tenant, 'ES256', pair, 'new'), tenant)).status).toBe(201)
  expectRefusal(await post(await signAs(tenant, 'ES256', pair, 'newer'), tenant), 'invalid_identity')
  expect(await refreshDueKeySets(service.app, fetchJson)).toBe(0)
})

/**
 * Moves everything that is stored of the tenant's key set into the past, so that it is due again.
 */
const age = (tenant: TestTenant, hours: number) =>
  service.app.db.query(
    unnamed(`UPDATE identity_key_sets SET
         due_at = now() - interval '1 second', tried_at = tried_at - $2::int * interval '1 hour',
         fetched_at = fetched_at - $2::int * interval '1 hour',
         failing_since = failing_since - $2::int * interval '1 hour'
       WHERE tenant_id = $1`),
    [tenant.tenant.id, hours],
  )
const stateOf = async ({ apiKey }: TestTenant) =>
  (await service.call('GET', '/identity-key-set', { headers: { 'x-api-key': apiKey } })).json
const down = () => Promise.reject(new Error('connection refused'))
const TIME = expect.stringMatching(/^\d{4}-/)

test('a key set that cannot be fetched is kept for 24 h; then its assertions are refused until a fetch succeeds', async () => {
  const tenant = await tenantWithKeySet('identity-down')
  const pair = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1' }
  const up = () => Promise.resolve({ keys: [jwk] })
  const token = await signAs(tenant, 'ES256', pair, 'k1')
  const empty = { url: URL_OF_KEYS, keyCount: 0, fetchedAt: null, expiresAt: null, failingSince: null, error: null }
  expect(await stateOf(tenant)).toEqual({ ...empty, state: 'waiting' })
  await refreshDueKeySets(service.app, up)
  expect(await stateOf(tenant)).toEqual({ ...empty, state: 'ready', keyCount: 1, fetchedAt: TIME, expiresAt: TIME })

  await age(tenant, 23)
  expect(await refreshDueKeySets(service.app, down)).toBe(1)
  // It is not tried again for a while.
  expect(await refreshDueKeySets(service.app, down)).toBe(0)
  const failing = { state: 'failing', keyCount: 1, failingSince: TIME, error: 'connection refused' }
  expect(await stateOf(tenant)).toMatchObject(failing)
  expect((await post(token, tenant)).status).toBe(201)

  await age(tenant, 2)
  expect(await refreshDueKeySets(service.app, down)).toBe(1)
  expect(await stateOf(tenant)).toMatchObject({
    ...failing,
    state: 'dropped',
    keyCount: 0,
    fetchedAt: TIME,
    expiresAt: null,
  })
  const refused = await post(token, tenant)
  expectRefusal(refused, 'invalid_identity')
  expect(refused.json.detail).toContain('could not be fetched from login.example.com: connection refused.')
  const stored = unnamed('SELECT jwks FROM identity_key_sets WHERE tenant_id = $1')
  expect(await service.app.db.query(stored, [tenant.tenant.id])).toEqual([{ jwks: null }])
  // The tenant's secret is still accepted.
  expect((await post(await sign({}, tenant), tenant)).status).toBe(201)

  await age(tenant, 0)
  expect(await refreshDueKeySets(service.app, up)).toBe(1)
  expect(await stateOf(tenant)).toMatchObject({ state: 'ready', keyCount: 1, failingSince: null, error: null })
  expect((await post(token, tenant)).status).toBe(201)
})

test('without identity.jwksUrl there is no key set; a new URL starts without keys', async () => {
  const tenant = await service.addTenant('identity-none')
  expect(await stateOf(tenant)).toMatchObject({ url: null, state: 'none', keyCount: 0 })
  const other = await tenantWithKeySet('identity-moved')
  await refreshDueKeySets(service.app, down)
  expect(await stateOf(other)).toMatchObject({ state: 'failing', keyCount: 0, fetchedAt: null, expiresAt: null })
  const body = { identity: { issuer: ISSUER, jwksUrl: `${URL_OF_KEYS}?moved` } }
  await service.call('PATCH', '/settings', { body, headers: { 'x-api-key': other.apiKey } })
  expect(await stateOf(other)).toMatchObject({ state: 'waiting', error: null, failingSince: null })
})

test('a refusal says why the keys are missing; to a page of a site, where anyone asks, not from which host', async () => {
  const tenant = await service.addTenant('identity-why')
  const headers = { 'x-api-key': tenant.apiKey }
  const pair = await generateKeyPair('ES256', { extractable: true })
  const token = await signAs(tenant, 'ES256', pair, 'k1')
  const detail = async () => String((await post(token, tenant)).json.detail)
  expect(await detail()).toContain('identity.jwksUrl is not set.')
  const body = { identity: { issuer: ISSUER, jwksUrl: URL_OF_KEYS } }
  await service.call('PATCH', '/settings', { body, headers })
  expect(await detail()).toContain('has not been fetched yet.')
  await refreshDueKeySets(service.app, down)
  expect(await detail()).toContain('could not be fetched from login.example.com: connection refused.')

  const site = await service.call('POST', '/sites', { body: { name: 'Pages', origins: [ORIGIN] }, headers })
  const url = `${service.url}/engagement/${site.json.publicKey}`
  const told = (await ask(url + '/me?signedIn=1', 'GET', { token })).json.detail
  expect(told).toContain('could not be fetched. The page Identity of the console says why.')

  await age(tenant, 0)
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k2' }
  await refreshDueKeySets(service.app, () => Promise.resolve({ keys: [jwk] }))
  expect(await detail()).toContain('kid k1 is no live ES256 key')
})

test('a failure of the database while keys are stored is no failure of the fetch, and reveals nothing', async () => {
  const tenant = await tenantWithKeySet('identity-database')
  const { db } = service.app
  const query: typeof db.query = (text, params) =>
    text.name === 'store_key_set' ? Promise.reject(new Error('password of postgres')) : db.query(text, params)
  const app = { ...service.app, db: { ...db, query } }
  await expect(refreshDueKeySets(app, () => Promise.resolve({ keys: [] }))).rejects.toThrow('password of postgres')
  expect(await stateOf(tenant)).toMatchObject({ state: 'waiting', error: null })
})
