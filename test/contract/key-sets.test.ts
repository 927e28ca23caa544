import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { statement } from '../../src/core/sql.ts'
import { refreshDueKeySets } from '../../src/domains/readers/key-sets.ts'
import { type Change, expectRefusal, postAs, seconds, signAssertion, utf8 } from '../harness/assertions.ts'
import { startService, type TestService, type TestTenant } from '../harness/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

const post = (token: string, tenant: TestTenant) => postAs(service, token, tenant)
const sign = (change: Change, tenant: TestTenant) => signAssertion(tenant, change)

const ISSUER = 'https://login.example.com'
const URL_OF_KEYS = 'https://login.example.com/jwks.json'

async function tenantWithKeySet(slug: string): Promise<TestTenant> {
  const tenant = await service.addTenant(slug)
  const body = { identity: { issuer: ISSUER, jwksUrl: URL_OF_KEYS } }
  const changed = await service.call('PATCH', '/settings', { body, headers: { 'x-api-key': tenant.apiKey } })
  expect(changed.status).toBe(200)
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

  // Without the address, the keys vouch for nobody.
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

test('an unknown kid has the key set fetched again, but not at every token', async () => {
  const tenant = await tenantWithKeySet('identity-new-kid')
  const pair = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'new' }
  const fetchJson = vi.fn(() => Promise.resolve({ keys: [jwk] }))
  await refreshDueKeySets(service.app, () => Promise.resolve({ keys: [] }))
  const fetchedLongAgo = statement(
    'test_age_key_set',
    `UPDATE identity_key_sets SET fetched_at = now() - interval '1 minute' WHERE tenant_id = $1`,
  )
  await service.app.db.query(fetchedLongAgo, [tenant.tenant.id])
  expect(await refreshDueKeySets(service.app, fetchJson)).toBe(0)

  expectRefusal(await post(await signAs(tenant, 'ES256', pair, 'new'), tenant), 'invalid_identity')
  expect(await refreshDueKeySets(service.app, fetchJson)).toBe(1)
  expect((await post(await signAs(tenant, 'ES256', pair, 'new'), tenant)).status).toBe(201)
  expectRefusal(await post(await signAs(tenant, 'ES256', pair, 'newer'), tenant), 'invalid_identity')
  expect(await refreshDueKeySets(service.app, fetchJson)).toBe(0)
})

test('a key set that cannot be fetched keeps its keys, and is left alone for a while', async () => {
  const tenant = await tenantWithKeySet('identity-down')
  const pair = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1' }
  await refreshDueKeySets(service.app, () => Promise.resolve({ keys: [jwk] }))
  const due = statement(
    'test_due_key_set',
    "UPDATE identity_key_sets SET due_at = now() - interval '1 second' WHERE tenant_id = $1",
  )
  await service.app.db.query(due, [tenant.tenant.id])
  expect(await refreshDueKeySets(service.app, () => Promise.reject(new Error('down')))).toBe(1)
  expect(await refreshDueKeySets(service.app, () => Promise.reject(new Error('down')))).toBe(0)
  expect((await post(await signAs(tenant, 'ES256', pair, 'k1'), tenant)).status).toBe(201)
})
