import { createHash } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'

import { decodeProtectedHeader, jwtVerify } from 'jose'
import { afterEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { at, fetchSite, open, shut, SITES, writesOf } from '../harness/backends.ts'
import { kidOf } from '../harness/identity.ts'
import { useService } from '../harness/service.ts'

const service = useService()

/** A service that notes what it is asked and answers what the test says. */
interface Upstream {
  url: string
  asked: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[]
  server: Server
}

async function startUpstream(
  answer: (response: ServerResponse) => unknown = (response) =>
    response.setHeader('content-type', 'application/json').end('{}'),
): Promise<Upstream> {
  const asked: Upstream['asked'] = []
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const { method = '', url = '', headers } = request
      asked.push({ method, url, headers, body: Buffer.concat(chunks as Buffer[]).toString() })
      return answer(response)
    })
  })
  upstreams.push(server)
  return { url: await open(server), asked, server }
}
const upstreams: Server[] = []
afterEach(async () => {
  await Promise.all(upstreams.splice(0).map(shut))
})

describe('the service gets', () => {
  test("a page's details once, even for concurrent requests, and again after a change or a failure", async () => {
    let status = 503
    const upstream = await startUpstream((response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
    let title = 'A'
    const onError = vi.fn<(error: unknown) => void>()
    const site = fetchSite(service, { url: upstream.url, onError, isPage: () => ({ title }) })
    const told = () => upstream.asked.filter(({ url }) => url.endsWith('/discussions')).map(({ body }) => body)
    const ask = () => site.ask('POST', `/ticket${at('a')}`)
    await ask()
    expect(onError).toHaveBeenCalledOnce()
    status = 200
    await Promise.all([ask(), ask(), ask()])
    await ask()
    const body = '{"externalId":"a","title":"A"}'
    expect(told()).toEqual([body, body])
    title = 'B'
    await ask()
    expect(told()).toEqual([body, body, '{"externalId":"a","title":"B"}'])
  })

  test("the key, the reader and nothing else of the browser's request", async () => {
    const upstream = await startUpstream()
    const site = fetchSite(service, { url: `${upstream.url}/`, headerPrefix: 'X-Acme-' })
    const headers = {
      authorization: 'Bearer a-session',
      'x-api-key': 'ek_other',
      'x-service-identity': 'forged',
      'x-acme-identity': 'forged',
      'x-forwarded-for': '10.0.0.1',
      'x-request-id': 'a-request',
      'if-none-match': '"a"',
      'proxy-authorization': 'Basic a',
      te: 'trailers',
    }
    await site.ask('POST', `/comments${at('a/b c')}`, { as: 'ann', body: { body: 'é' }, headers })
    const [{ method, url, body, headers: told }] = upstream.asked as [Upstream['asked'][number]]
    expect({ method, url, body }).toEqual({
      method: 'POST',
      url: '/api/v1/discussions/by-external/a%2Fb%20c/comments',
      body: '{"body":"é"}',
    })
    const own = [
      'accept',
      'accept-encoding',
      'accept-language',
      'connection',
      'content-length',
      'host',
      'sec-fetch-mode',
      'user-agent',
    ]
    expect(
      Object.keys(told)
        .filter((name) => !own.includes(name))
        .sort(),
    ).toEqual(['content-type', 'x-acme-identity', 'x-api-key', 'x-request-id'])
    expect(told).toMatchObject({ 'x-api-key': service.apiKey, 'x-request-id': 'a-request' })

    const assertion = String(told['x-acme-identity'])
    const { secret } = service.identitySecret
    const { payload } = await jwtVerify(assertion, new TextEncoder().encode(secret), { algorithms: ['HS256'] })
    expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'HS256', typ: 'JWT', kid: kidOf(secret) })
    expect(payload).toEqual({
      sub: 'ann',
      aud: service.tenant.slug,
      iat: expect.any(Number),
      exp: Number(payload.iat) + 60,
      name: 'Ann',
      avatarUrl: 'https://www.example.com/ann.png',
      profileUrl: null,
      bodySha256: createHash('sha256').update('{"body":"é"}').digest('base64url'),
    })
  })

  test('no reader where the answer is the same for all', async () => {
    const upstream = await startUpstream()
    const site = fetchSite(service, { url: upstream.url })
    for (const path of ['/settings', '/latest-comments', '/most-discussed'])
      await site.ask('GET', path, { as: 'broken' })
    expect(upstream.asked.map(({ headers }) => headers['x-service-identity'])).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('no request that is refused here', async () => {
    const upstream = await startUpstream()
    const site = fetchSite(service, { url: upstream.url })
    for (const [method, path, body] of writesOf(newId(), newId())) await site.ask(method, path, { body })
    await site.ask('GET', '/keys', { as: 'ann' })
    await site.ask('GET', '/me')
    expect(upstream.asked).toEqual([])
  })
})

describe('a service that', () => {
  const ask = async (url: string, timeoutMs = 10_000) => {
    const onError = vi.fn<(error: unknown) => void>()
    const answer = await fetchSite(service, { url, timeoutMs, onError }).ask('GET', `/comments${at('a')}`, {
      as: 'ann',
    })
    return { answer, onError }
  }
  const unavailable = {
    status: 503,
    json: {
      type: 'urn:engagement-service:error:unavailable',
      title: 'The service cannot answer now',
      status: 503,
      detail: expect.stringMatching(/^The service did not answer the backend/),
      code: 'unavailable',
      requestId: expect.any(String),
    },
  }

  test('is down answers 503 unavailable with Retry-After', async () => {
    const { url, server } = await startUpstream()
    await shut(server)
    const { answer, onError } = await ask(url)
    expect(answer).toMatchObject(unavailable)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.headers.get('x-request-id')).toBe(answer.json.requestId)
    expect(onError).toHaveBeenCalledOnce()
  })

  test.each<[string, (error: unknown) => unknown]>([
    [
      'throws',
      (error) => {
        throw error
      },
    ],
    ['rejects', (error) => Promise.reject(error)],
  ])('is down answers 503 unavailable, also where onError %s, which is logged', async (_what, onError) => {
    const log = vi.spyOn(console, 'error').mockReturnValue()
    const { url, server } = await startUpstream()
    await shut(server)
    expect(await fetchSite(service, { url, onError }).ask('GET', `/comments${at('a')}`)).toMatchObject(unavailable)
    expect(log).toHaveBeenCalledOnce()
    log.mockRestore()
  })

  test.each([
    ['says nothing', () => undefined],
    [
      'breaks off',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{')
        setImmediate(() => response.destroy())
      },
    ],
    [
      'is a proxy with a page of its own',
      (response: ServerResponse) => {
        response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
      },
    ],
    [
      "does not take this backend's key",
      (response: ServerResponse) => {
        response.writeHead(401, { 'content-type': 'application/problem+json' }).end('{"code":"revoked_api_key"}')
      },
    ],
  ])('%s: 503 unavailable', async (_what, respond) => {
    const { url } = await startUpstream(respond)
    const { answer, onError } = await ask(url, respond.length === 0 ? 50 : 10_000)
    expect(answer).toMatchObject(unavailable)
    expect(onError).toHaveBeenCalledOnce()
  })

  test('does not know the identity secret tells the publisher which kid it misses', async () => {
    const onError = vi.fn<(error: unknown) => void>()
    const site = fetchSite(service, { identitySecret: 'a'.repeat(64), onError })
    expect(await site.ask('GET', `/comments${at('a')}`, { as: 'ann' })).toMatchObject(unavailable)
    expect(onError.mock.calls.map(([error]) => String(error))).toEqual([
      'Error: the service refuses this backend: X-Service-Identity: ' +
        'kid ffe054fe is no live identity secret of the tenant: is identitySecret right?',
    ])
  })

  test('redirects is not followed: 503 unavailable', async () => {
    const elsewhere = await startUpstream()
    const { url } = await startUpstream((response) => response.writeHead(307, { location: elsewhere.url }).end())
    const { answer, onError } = await ask(url)
    expect(answer).toMatchObject(unavailable)
    expect(onError).toHaveBeenCalledOnce()
    expect(elsewhere.asked).toEqual([])
  })

  test('refuses for a while is passed on, without its limits and cookies', async () => {
    const { url } = await startUpstream((response) => {
      const headers = {
        'content-type': 'application/problem+json',
        'retry-after': '7',
        'ratelimit-limit': '500',
        'set-cookie': 'a=b',
        server: 'one',
      }
      response.writeHead(429, headers).end('{"code":"rate_limited"}')
    })
    const { answer } = await ask(url)
    expect(answer).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
    expect(Object.fromEntries(answer.headers)).toEqual({
      'cache-control': 'private, no-store',
      'content-type': 'application/problem+json',
      'retry-after': '7',
      vary: 'Cookie, Authorization, Accept-Encoding',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    })
  })

  test.each(['node', 'express', 'fastify'] as const)(
    'is slow is left alone when the browser goes (%s)',
    async (name) => {
      let isLeft = false
      const upstream = await startUpstream((response) => response.on('close', () => (isLeft = true)))
      const onError = vi.fn<(error: unknown) => void>()
      const site = await SITES[name](service, { url: upstream.url, onError })
      const leave = new AbortController()
      const asked = fetch(`${site.url}/engagement/discussion${at('a')}`, { signal: leave.signal })
      await vi.waitFor(() => expect(upstream.asked).toHaveLength(1))
      leave.abort()
      await expect(asked).rejects.toThrow('aborted')
      await vi.waitFor(() => expect(isLeft).toBe(true))
      await site.close()
      expect(onError).not.toHaveBeenCalled()
    },
  )
})
