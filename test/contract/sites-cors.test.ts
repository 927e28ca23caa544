import { beforeAll, expect, test } from 'vitest'

import { addressBucket } from '../../src/core/limits.ts'
import { useService } from '../harness/service.ts'

const ORIGIN = 'https://www.example.com'
const RATE = { perSecond: 1, burst: 100 }

const service = useService({
  env: { UNAUTHENTICATED_RATE_PER_SECOND: `${RATE.perSecond}`, UNAUTHENTICATED_RATE_BURST: `${RATE.burst}` },
})
let site: { id: string; publicKey: string }

beforeAll(async () => {
  site = (await service.call('POST', '/sites', { body: { name: 'Pages', origins: [ORIGIN] } })).json
})

const ask = (publicKey: string, origin: string, method = 'GET', headers: Record<string, string> = {}) =>
  fetch(`${service.url}/engagement/${publicKey}/settings`, { method, headers: { origin, ...headers } })

test('any page can read that there is no site with its key, and none can read the refusal of its origin', async () => {
  const gone = await ask(`pk_${'0'.repeat(64)}`, 'https://other.example')
  expect([gone.status, gone.headers.get('access-control-allow-origin')]).toEqual([404, '*'])
  const refused = await ask(site.publicKey, 'https://other.example')
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null])
  const served = await ask(site.publicKey, ORIGIN)
  expect([served.status, served.headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN])
})

test('a page of another origin pays as well, before it is refused', async () => {
  const other = (await service.call('POST', '/sites', { body: { name: 'Other', origins: [ORIGIN] } })).json
  service.app.limits.charge('site', `${other.id}/${addressBucket('127.0.0.1')}`, RATE, 100_000)
  const refused = await ask(other.publicKey, 'https://elsewhere.example')
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([429, null])
})

test('a limit of the address refuses the request, which the page can read, and not its preflight', async () => {
  service.app.limits.charge('site', `${site.id}/${addressBucket('127.0.0.1')}`, RATE, 100_000)
  const headers = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' }
  const preflight = await ask(site.publicKey, ORIGIN, 'OPTIONS', headers)
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN])
  const refused = await ask(site.publicKey, ORIGIN)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN)
  expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})
