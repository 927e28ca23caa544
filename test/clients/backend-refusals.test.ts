import { request as httpRequest } from 'node:http'

import { describe, expect, test } from 'vitest'

import { MAX_BODY_BYTES } from '../../src/clients/backend/requests.ts'
import { newId } from '../../src/core/ids.ts'
import { at, fetchSite, SITES, writesOf } from '../harness/backends.ts'
import { useService } from '../harness/service.ts'

const service = useService()

describe('mounted among other things', () => {
  test('under Express, leaves other paths to the site', async () => {
    const site = await SITES.express(service)
    expect(await (await fetch(`${site.url}/engagement-elsewhere`)).text()).toBe('the site')
    expect((await site.ask('GET', '/me')).headers.get('vary')).toBe('Origin, Cookie, Authorization, Accept-Encoding')
    await site.close()
  })

  test("under Fastify, keeps the site's own parsers and headers", async () => {
    const site = await SITES.fastify(service)
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${site.url}/elsewhere`, { method: 'POST', headers, body: '{"a":1}' })
    expect(await response.json()).toEqual({ a: 1 })
    expect((await site.ask('GET', '/me')).headers.get('vary')).toBe('Origin, Cookie, Authorization, Accept-Encoding')
    await site.close()
  })

  test.each(['node', 'express', 'fastify'] as const)(
    'by %s, no host and no form of an address leads elsewhere',
    async (name) => {
      const site = await SITES[name](service)
      const statusOf = (path: string, host: string): Promise<number | undefined> =>
        new Promise((resolve, reject) => {
          const options = { port: new URL(site.url).port, path, headers: { host }, agent: false }
          const request = httpRequest(options, (response) => resolve(response.resume().statusCode))
          request.on('error', reject).end()
        })
      expect(await statusOf('/engagement/me', 'www.example.com')).toBe(200)
      expect(await statusOf('/engagement/me', 'www.example.com:99999')).toBe(200)
      expect(await statusOf('/me', 'www.example.com/engagement')).toBe(404)
      expect(await statusOf('/x', 'www.example.com/engagement/me?')).toBe(404)
      expect(await statusOf('//engagement/me', 'www.example.com')).toBe(404)
      expect(await statusOf('//www.example.com/engagement/me', 'www.example.com')).toBe(404)
      await site.close()
    },
  )

  test.each(['node', 'fastify'] as const)('by %s, refuses an endless body at the bound', async (name) => {
    const site = await SITES[name](service)
    const answered = await new Promise<object>((resolve, reject) => {
      const headers = {
        cookie: 'reader=ann',
        'content-type': 'application/json',
        'x-requested-with': 'engagement',
      }
      const path = `${site.url}/engagement/comments${at(newId())}`
      const request = httpRequest(path, { method: 'POST', headers }, (response) => {
        resolve({ status: response.statusCode, connection: response.headers.connection })
        request.destroy()
      })
      request.on('error', reject)
      // Not more than the bound: during further writes, the end of the connection could arrive
      // before the answer.
      request.write('x'.repeat(MAX_BODY_BYTES + 1))
    })
    // The rest of the body would be parsed as the next request.
    expect(answered).toEqual({ status: 413, connection: 'close' })
    await site.close()
  })
})

describe('a page of another site', () => {
  const site = () => fetchSite(service, { origins: ['https://app.example.com'] })
  const write = async (headers: Record<string, string>) =>
    site().ask('POST', `/comments${at(newId())}`, { as: 'ann', body: { body: 'Hello' }, headers })

  test.each([
    ['without the header of writes', { 'x-requested-with': '' }],
    ['with another header of writes', { 'x-requested-with': 'XMLHttpRequest' }],
    ['by Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['by Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site', origin: 'https://blog.example.com' }],
    [
      'by Sec-Fetch-Site, whatever its origin says',
      { 'sec-fetch-site': 'same-site', origin: 'https://www.example.com' },
    ],
    ['by its origin alone', { origin: 'https://evil.example' }],
    ['by another port', { origin: 'https://www.example.com:8443' }],
    ['by an opaque origin', { origin: 'null' }],
    ['by an opaque origin, with a host that is none', { origin: 'null', host: 'a b' }],
  ])('is refused with 403 origin_not_allowed %s', async (_how, headers) => {
    expect(await write(headers)).toMatchObject({ status: 403, json: { code: 'origin_not_allowed' } })
  })

  test.each([
    ["the site's own", { 'sec-fetch-site': 'same-origin', origin: 'https://www.example.com' }],
    ["the site's own in an older browser", { origin: 'https://www.example.com' }],
    ["the site's own behind a proxy that ends TLS", { origin: 'http://www.example.com' }],
    ["the site's own by the host that its server is asked by", { origin: 'https://inner', host: 'inner' }],
    ['one that is named', { 'sec-fetch-site': 'same-site', origin: 'https://app.example.com' }],
    ['no browser', {}],
  ])('is not taken for %s', async (_whose, headers) => {
    expect((await write(headers)).status).toBe(201)
  })

  test('is refused for every write, and for a ticket', async () => {
    for (const [method, path, body] of [...writesOf(newId(), newId()), ['POST', `/ticket${at(newId())}`] as const]) {
      const refused = await site().ask(method, path, { as: 'ann', body, headers: { 'x-requested-with': '' } })
      expect(refused).toMatchObject({ status: 403, json: { code: 'origin_not_allowed' } })
    }
  })

  test('is granted no preflight', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const { status, headers: answered } = await site().ask('OPTIONS', '/comments', { headers })
    expect(status).toBe(405)
    expect([...answered.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})

describe('a hostile path', () => {
  const site = () => fetchSite(service)

  test.each([
    '/',
    '/settings/public',
    '/keys',
    '/moderation/queue',
    '/discussions/by-external/x',
    '/comments/bulk',
    `/comments/${newId()}/approve`,
    `/comments/${newId()}/revisions`,
    `/comments/${newId()}/`,
    `/comments/${newId().toUpperCase()}`,
    '/comments/..%2Fsettings',
    '/comments/%2e%2e/keys',
    '/comments/../../api/v1/settings',
    '//comments',
    '/me/',
    '/constructor',
  ])('GET %s answers 404 not_found', async (path) => {
    expect(await site().ask('GET', path, { as: 'ann' })).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })

  test.each(['.', '..', '%2e%2e', '%2E.'])('the page %s answers 422, not another route', async (externalId) => {
    expect(await site().ask('GET', `/comments?externalId=${externalId}`)).toMatchObject({ status: 422 })
  })

  test.each(['../../settings', '..%2F..%2Fsettings', 'a/../b', 'a?limit=1', '$&', '\0', '%', 'é🙂'])(
    'the page %j is a page like others',
    async (externalId) => {
      const { status, json } = await site().ask('GET', `/comments${at(externalId)}`)
      if (status === 200) expect(json).toEqual({ data: [], nextCursor: null, hasMore: false })
      else expect([status, json.code]).toEqual([422, 'validation_failed'])
    },
  )

  test.each([
    ['/comments', { pointer: '/externalId', code: 'required' }],
    ['/comments?externalId=', { pointer: '/externalId', code: 'required' }],
    ['/comments?externalId=a&externalId=b', { pointer: '/externalId', code: 'wrong_type' }],
    ['/comments?externalId=a&limit=1&limit=2', { pointer: '/limit', code: 'wrong_type' }],
    ['/comments?externalId=a&token=b', { pointer: '/token', code: 'unknown_parameter' }],
    ['/me?externalId=a', { pointer: '/externalId', code: 'unknown_parameter' }],
    ['/counts?externalId=a&sort=top', { pointer: '/sort', code: 'unknown_parameter' }],
  ])('GET %s answers 422 with the place', async (path, error) => {
    expect(await site().ask('GET', path)).toMatchObject({
      status: 422,
      json: { code: 'validation_failed', errors: [error] },
    })
  })

  test('another method answers 405 with Allow', async () => {
    const { status, headers, json } = await site().ask('PUT', `/comments/${newId()}`, { as: 'ann', body: {} })
    expect({ status, allow: headers.get('allow'), code: json.code }).toEqual({
      status: 405,
      allow: 'GET, PATCH, DELETE',
      code: 'method_not_allowed',
    })
  })

  test("does not lead to another tenant's comment", async () => {
    const other = await service.addTenant('backend-other')
    const { id } = await service.ok(
      'POST',
      '/discussions/by-external/theirs/comments',
      { body: 'Theirs' },
      { 'x-api-key': other.apiKey, ...(await other.as('zoe')) },
    )
    expect(await site().ask('GET', `/comments/${id}`, { as: 'ann' })).toMatchObject({ status: 404 })
    const none = { status: 200, json: { data: [], hasMore: false } }
    expect(await site().ask('GET', `/comments${at('theirs')}`, { as: 'ann' })).toMatchObject(none)
    for (const [method, path, body] of writesOf(newId(), id).slice(1)) {
      expect(await site().ask(method, path, { as: 'ann', body })).toMatchObject({ status: 404 })
    }
  })
})
