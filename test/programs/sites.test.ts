import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { type Balancer, NGINX, startCachingNginx } from '../harness/balancers.ts'
import { CLIENT, startProvider, type TestProvider } from '../harness/oidc-provider.ts'
import { addSite, ORIGIN, page, type TestSite } from '../harness/sites.ts'
import { useService } from '../harness/service.ts'

const skipped = NGINX === undefined ? ' (skipped: there is no nginx here)' : ''
const CACHE_SECONDS = 5
describe.skipIf(NGINX === undefined)(`pages of a site behind nginx${skipped}`, () => {
  const service = useService()
  let nginx: Balancer
  let site: TestSite

  beforeAll(async () => {
    nginx = await startCachingNginx(service.url)
    site = await addSite(service, service)
  })
  afterAll(async () => {
    await nginx?.close()
  })

  async function read(address: string, headers: Record<string, string> = {}, more = {}) {
    const url = `${nginx.url}/engagement/${site.publicKey}/thread${page(address, more)}`
    const response = await fetch(url, { headers: { origin: ORIGIN, ...headers } })
    const text = await response.text()
    const cache = response.headers.get('x-cache')
    return { status: response.status, cache, text, headers: response.headers }
  }

  const post = async (address: string, body: string) => {
    const posted = await site.ask('POST', `/comments${page(address)}`, { token: await site.token(), body: { body } })
    expect(posted.status, posted.text).toBe(201)
  }

  /** How many requests of pages the service has answered. */
  async function answered(): Promise<number> {
    const counts = (await service.scrape()).matchAll(
      /^http_request_duration_seconds_count\{[^}]*method="GET"[^}]*route="\/engagement[^}]*\} (\d+)/gm,
    )
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  test('a thousand readers of a page cost the service at most one request in each five seconds', async () => {
    const address = `${ORIGIN}/crowd`
    await post(address, 'Hello')
    const before = await answered()
    const began = performance.now()
    for (let crowd = 0; crowd < 20; crowd++) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => read(address)))
      expect(answers.every(({ status, text }) => status === 200 && text.includes('Hello'))).toBe(true)
    }
    const seconds = (performance.now() - began) / 1000
    // The figures may be a second old.
    await vi.waitFor(async () => expect(await answered()).toBeGreaterThan(before))
    expect((await answered()) - before).toBeLessThanOrEqual(1 + Math.ceil(seconds / CACHE_SECONDS))
  })

  test('a new comment shows once the time of the setting is over', async () => {
    const address = `${ORIGIN}/news`
    await post(address, 'First')
    expect((await read(address)).cache).toBe('MISS')
    await post(address, 'Second')
    const shown = await vi.waitFor(async () => {
      const answer = await read(address)
      expect(answer.text).toContain('Second')
      return answer
    })
    expect(shown.status).toBe(200)
  })

  test('a page of another origin, and a signed-in reader, get none of it', async () => {
    const address = `${ORIGIN}/own`
    await post(address, 'Hello')
    await read(address)
    expect((await read(address)).cache).toBe('HIT')
    expect((await read(address, { origin: 'https://elsewhere.example' })).status).toBe(403)
    const bearer = { authorization: `Bearer ${await site.token()}` }
    for (let n = 0; n < 2; n++) {
      const own = await read(address, bearer, { signedIn: '1' })
      expect([own.cache, JSON.parse(own.text).reader.id]).toEqual(['MISS', 'ann'])
    }
    // Without signedIn=1 the token counts for nothing.
    const plain = await read(address, bearer)
    expect([plain.cache, JSON.parse(plain.text).reader]).toEqual(['HIT', null])
    expect(plain.headers.get('access-control-allow-origin')).toBe(ORIGIN)
  })

  test('a browser that has the page gets 304', async () => {
    const address = `${ORIGIN}/known`
    await post(address, 'Hello')
    const { headers } = await read(address)
    const again = await read(address, { 'if-none-match': headers.get('etag') ?? '' })
    expect([again.status, again.cache, again.text]).toEqual([304, 'HIT', ''])
  })
})

describe('readers of an identity provider', () => {
  const service = useService({ env: { WEBHOOK_ALLOW_HTTP: 'true' }, worker: true })
  let provider: TestProvider
  const callback = `${ORIGIN}/signed-in`

  beforeAll(async () => {
    provider = await startProvider(callback)
  })
  afterAll(async () => {
    await provider.close()
  })

  /** Signs in as a browser does, and gets the ID token. */
  async function signIn(subject: string): Promise<string> {
    provider.login(subject, { name: 'Pat Example' })
    const query = {
      client_id: CLIENT.clientId,
      redirect_uri: callback,
      response_type: 'code',
      scope: 'openid profile',
      state: 'a state',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    }
    const cookies = new Map<string, string>()
    let url = `${provider.issuer}/auth?${String(new URLSearchParams(query))}`
    while (!url.startsWith(callback)) {
      const cookie = [...cookies].map((each) => each.join('=')).join('; ')
      const answer = await fetch(url, { redirect: 'manual', headers: { cookie } })
      for (const each of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
        cookies.set(name, value)
      }
      const next = answer.headers.get('location')
      if (next === null) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
      url = new URL(next, url).href
    }
    const answer = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${CLIENT.clientId}:${encodeURIComponent(CLIENT.clientSecret)}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: new URL(url).searchParams.get('code') ?? '',
        redirect_uri: callback,
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      }),
    })
    return ((await answer.json()) as { id_token: string }).id_token
  }

  test('write by their ID tokens, once the keys are fetched', async () => {
    const identity = { issuer: provider.issuer, jwksUrl: `${provider.issuer}/jwks`, audience: CLIENT.clientId }
    const site = await addSite(service, service, { settings: { identity }, keys: false })
    const token = await signIn('pat')
    const posted = await vi.waitFor(async () => {
      const answer = await site.ask('POST', `/comments${page()}`, { token, body: { body: 'Hello' } })
      expect(answer.status, answer.text).toBe(201)
      return answer
    })
    expect(posted.json.author.externalId).toBe('pat')
    await service.call('PATCH', '/settings', { body: { identity: { audience: 'another' } } })
    const refused = await site.ask('GET', '/me?signedIn=1', { token })
    expect(refused.json.code).toBe('invalid_identity')
  })
})
