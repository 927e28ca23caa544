import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, onTestFinished, test, vi } from 'vitest'

import { refreshDueKeySets } from '../../src/domains/readers/key-sets.ts'
import { expectRefusal, postAs, seconds } from '../harness/assertions.ts'
import { startService } from '../harness/service.ts'

const ISSUER = 'https://login.example.com'

test('keys expire after 24 h even without a worker, including cached ones', async () => {
  const service = await startService({ worker: false })
  onTestFinished(() => service.close())
  const headers = { 'x-api-key': service.apiKey }
  const body = { identity: { issuer: ISSUER, jwksUrl: `${ISSUER}/jwks.json` } }
  expect((await service.call('PATCH', '/settings', { body, headers })).status).toBe(200)
  const pair = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1' }
  await refreshDueKeySets(service.app, () => Promise.resolve({ keys: [jwk] }))
  const tokenNow = async (): Promise<string> => {
    const claims = { iss: ISSUER, sub: 'ann', aud: service.tenant.slug, iat: seconds(), exp: seconds() + 600 }
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(pair.privateKey)
  }
  const post = async () => postAs(service, await tokenNow(), service)
  const hours = (n: number) => vi.setSystemTime(Date.now() + n * 3_600_000)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  try {
    expect((await post()).status).toBe(201)
    hours(23.9)
    expect((await post()).status).toBe(201)
    hours(0.2)
    expectRefusal(await post(), 'invalid_identity')
    const { json } = await service.call('GET', '/identity-key-set', { headers })
    expect(json).toMatchObject({ state: 'dropped', keyCount: 0 })
  } finally {
    vi.useRealTimers()
  }
})
