import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { json as readJson } from 'node:stream/consumers'

import { beforeAll, describe, expect, test } from 'vitest'

import { createHealthServer } from '../../src/api/http/health.ts'
import { createServer } from '../../src/api/http/server.ts'
import { newId } from '../../src/core/ids.ts'
import { makeTlsSettings } from '../harness/certificates.ts'
import { refusalIn } from '../harness/refusal.ts'
import { startService, useService } from '../harness/service.ts'

const ORIGIN = 'https://www.example.com'
const FOREIGN = 'https://evil.example'
const EXPOSED = [
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Idempotency-Replayed',
  'ETag',
]

const service = useService()
let discussionId: string

beforeAll(async () => {
  await service.call('PATCH', '/settings', { body: { allowedOrigins: [ORIGIN] } })
  discussionId = (await service.call('POST', '/discussions', { body: { externalId: 'a' } })).json.id as string
})

interface Options {
  headers?: Record<string, string>
  body?: string
}

/** Any request, without the conveniences of `call`. */
async function request(method: string, path: string, { headers = {}, body }: Options = {}) {
  const init = { method, headers: { 'x-api-key': service.apiKey, ...headers }, ...(body === undefined ? {} : { body }) }
  const response = await fetch(service.url + path, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

/** What fetch would not send. */
function raw(head: string, body = '', host = '\r\nHost: a'): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${head}${host}\r\nX-API-Key: ${service.apiKey}\r\nConnection: close\r\n\r\n${body}`),
    )
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('close', () => resolve(text)).on('error', reject)
  })
}

function expectProblem({ status, headers, text }: Awaited<ReturnType<typeof request>>, code: string): void {
  const isGraphQL = headers.get('content-type') === 'application/graphql-response+json; charset=utf-8'
  const told = isGraphQL ? JSON.parse(text).errors[0].extensions : JSON.parse(text)
  expect(told, text).toMatchObject({ status, code, requestId: headers.get('x-request-id') })
  if (!isGraphQL) expect(headers.get('content-type')).toBe('application/problem+json')
}

test.each([
  ['GET', '/discussions', 200],
  ['GET', '/readers', 200],
  ['POST', '/discussions', 422],
  ['GET', `/comments/${newId()}`, 404],
])('shared caches must not store %s %s', async (method, path, status) => {
  const answer = await service.call(method, path, method === 'POST' ? { body: {} } : {})
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, 'private, no-store'])
})

test.each([
  ['GET', '/absent', 404],
  ['GET', '/api/v1/absent', 404],
  ['GET', '/api/v1/%E0%A4%A', 404],
  ['GET', '/widget/absent.js', 404],
  ['GET', '/console/assets/absent.js', 404],
  ['GET', '/docs/guides/absent.md', 404],
  ['GET', '/api/v1/stream/absent', 404],
  ['GET', `/api/v1/${'long/'.repeat(4000)}`, 414],
  ['PUT', '/healthz', 405],
  ['GET', '/healthz', 200],
  ['GET', '/readyz', 200],
])('nor what has no route or tenant: %s %s', async (method, path, status) => {
  const answer = await request(method, path)
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, 'private, no-store'])
})

describe('a method that a path does not take: 405 with Allow', () => {
  const PATHS: [path: string, allow: string[]][] = [
    ['/api/v1/discussions', ['GET', 'POST']],
    [`/api/v1/discussions/${newId()}`, ['DELETE', 'GET', 'PATCH']],
    [`/api/v1/comments/${newId()}/approve`, ['POST']],
    [`/api/v1/stream/${newId()}`, ['GET']],
    ['/api/v1/stream/ticket', ['POST']],
    ['/graphql', ['GET', 'POST']],
    ['/graphql/stream', ['GET', 'POST', 'PUT', 'DELETE']],
    ['/graphql/sdl', ['GET']],
    ['/healthz', ['GET']],
    ['/readyz', ['GET']],
    ['/metrics', ['GET']],
  ]

  test.each(PATHS)('%s', async (path, allow) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !allow.includes(name))) {
      const answer = await request(method, path)
      expect(answer.status, method).toBe(405)
      expectProblem(answer, 'method_not_allowed')
      expect(answer.headers.get('allow')?.split(', ')).toEqual(expect.arrayContaining(allow))
    }
    for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'PURGE']) {
      const answer = await raw(`${method} ${path} HTTP/1.1`)
      expect(answer, method).toMatch(/^HTTP\/1.1 405 /)
      expect(answer.toLowerCase()).toContain(`\r\nallow: `)
    }
    // HEAD is as GET, without a body.
    const { status } = await fetch(service.url + path, { method: 'HEAD', headers: { 'x-api-key': service.apiKey } })
    expect(status === 405).toBe(!allow.includes('GET') || path.includes('stream'))
  })
})

test('HTTP/1.1 without a Host is refused with a problem document, HTTP/1.0 is not', async () => {
  const refusal = await raw('GET /api/v1/discussions HTTP/1.1', '', '')
  expect(refusal).toMatch(/^HTTP\/1.1 400 /)
  expect(refusal).toMatch(/content-type: application\/problem\+json/i)
  expect(refusal).toContain('"code":"malformed_json"')
  expect(await raw('GET /api/v1/discussions HTTP/1.0', '', '')).toMatch(/^HTTP\/1.1 200 /)
})

test('two headers Host are refused: a proxy may take the other one', async () => {
  for (const version of ['1.1', '1.0']) {
    const refusal = await raw(`GET /api/v1/discussions HTTP/${version}`, '', '\r\nHost: a\r\nhost: b')
    expect(refusal).toMatch(/^HTTP\/1.1 400 /)
    expect(refusal).toContain('"code":"malformed_json"')
  }
})

test('a client that waits before it sends a body is refused by the head alone', async () => {
  const { hostname, port } = new URL(service.url)
  const answerTo = (head: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`${head}\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n\r\n`),
      )
      let text = ''
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      // The service ends the connection, as what follows may be the body or not.
      socket.on('close', () => resolve(text)).on('error', reject)
    })
  const path = 'POST /api/v1/discussions HTTP/1.1'
  expect(await answerTo(`${path}\r\nContent-Length: 2000`)).toMatch(/^HTTP\/1.1 401 /)
  const key = `X-API-Key: ${service.apiKey}`
  expect(await answerTo(`${path}\r\nContent-Length: 300000\r\n${key}`)).toMatch(/^HTTP\/1.1 413 /)
})

test('an unknown expectation is ignored', async () => {
  const body = '{"externalId":"expected"}'
  const head = `POST /api/v1/discussions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  expect(await raw(`${head}\r\nExpect: a-miracle`, body)).toMatch(/^HTTP\/1.1 201 /)
  expect(await raw(`${head}\r\nExpect: 100-continue`, body)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /)
})

describe('an unknown path: 404', () => {
  const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

  test.each(['/nothing', '/docs/nothing', '/consol'])('a browser gets a page at %s', async (path) => {
    const answer = await fetch(service.url + path, { headers: BROWSER })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect(answer.headers.get('vary')).toContain('Accept')
    const text = await answer.text()
    expect(text).toContain('<h1>Page not found</h1>')
    const [, main = ''] = text.split('<main')
    const links = [...main.matchAll(/<a href="([^"]*)"/g)].map(
      ([, href = '']) => new URL(href, service.url + path).href,
    )
    expect(links).toEqual(['/docs/guides/', '/docs/reference/', '/console/'].map((link) => service.url + link))
    const files = [...text.matchAll(/(?:<script src|rel="stylesheet" href)="([^"]*)"/g)]
    expect(files.length).toBe(3)
    for (const [, file = ''] of files) expect((await fetch(new URL(file, service.url + path))).status, file).toBe(200)
  })

  test.each(['/API/v1/x', '//api/v1/x', '/%61pi/v1/x'])('%s varies by Accept', async (path) => {
    for (const headers of [BROWSER, {}]) {
      const answer = await fetch(service.url + path, { headers })
      expect([answer.status, answer.headers.get('vary')]).toEqual([404, expect.stringContaining('Accept')])
      expect(await answer.text()).not.toBe('')
    }
  })

  test.each([
    ['/graphql/', '/graphql'],
    ['/graphql/?query=%7Bme%7D', '/graphql?query=%7Bme%7D'],
    ['/docs/guides/rest/', '/docs/guides/rest'],
  ])('%s leads to %s', async (path, there) => {
    const answer = await fetch(service.url + path, { redirect: 'manual' })
    expect([answer.status, await answer.text()]).toEqual([308, ''])
    expect(new URL(answer.headers.get('location') ?? '', service.url + path).href).toBe(service.url + there)
  })

  test('a problem document names the method and the path, and no query', async () => {
    const detailOf = async (method: string, path: string) => JSON.parse((await request(method, path)).text).detail
    expect(await detailOf('GET', '/api/v1/nope?x-api-key=ek_1')).toBe('There is no route GET /api/v1/nope.')
    expect(await detailOf('DELETE', '/api/v1/discussions/')).toBe('There is no route DELETE /api/v1/discussions/.')
    const long = `/api/v1/${'x'.repeat(200)}`
    expect(await detailOf('GET', long)).toBe(`There is no route GET ${long.slice(0, 100)}….`)
  })

  test.each(['/api/v1/nothing', '/api', '/graphql/nothing', '/engagement/nothing'])(
    'a browser gets a problem document at %s, which is of programs',
    async (path) => expectProblem(await request('GET', path, { headers: BROWSER }), 'not_found'),
  )

  test.each([
    '/nothing',
    '/api',
    '/api/v1',
    '/api/v1/nothing',
    '/api/v1/discussions/',
    '/graphql/nothing',
    '/%2e%2e/etc',
  ])('%s', async (path) => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
      const answer = await request(method, path)
      expect(answer.status, method).toBe(404)
      expectProblem(answer, 'not_found')
    }
    expect(await raw(`PROPFIND ${path} HTTP/1.1`)).toMatch(/^HTTP\/1.1 404 /)
  })
})

describe.each([
  ['/api/v1/discussions', '{"externalId":"a"}', 200],
  ['/graphql', '{"query":"{ __typename }"}', 200],
  ['/graphql/stream', '{"query":"{ __typename }"}', 200],
])('POST %s', (path, body, status) => {
  const accept = path.endsWith('stream') ? { accept: 'text/event-stream' } : {}

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'Application/JSON',
  ])('takes %s', async (type) => {
    const answer = await request('POST', path, { headers: { 'content-type': type, ...accept }, body })
    expect(answer.status, answer.text).toBe(status)
  })

  test.each([
    'text/plain',
    'text/json',
    'application/jsonx',
    'application/graphql',
    'application/vnd.api+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'json',
    '',
  ])('refuses %s with 415', async (type) => {
    const answer = await request('POST', path, { headers: { 'content-type': type, ...accept }, body })
    expect(answer.status, answer.text).toBe(415)
    expectProblem(answer, 'unsupported_media_type')
  })

  // Some payment gateways and proxies send utf-8, which is no coding.
  test.each(['gzip', 'br', 'utf-8'])(
    'refuses a body in the coding %s with 415, and names the header',
    async (coding) => {
      const headers = { 'content-type': 'application/json', 'content-encoding': coding }
      const answer = await request('POST', path, { headers, body })
      expectProblem(answer, 'unsupported_media_type')
      expect(answer.text).toContain('Content-Encoding: ')
    },
  )

  test('says of a body in another charset that it is the charset', async () => {
    const headers = { 'content-type': 'application/json; charset=latin1', ...accept }
    expect((await request('POST', path, { headers, body })).text).toContain('the charset must be UTF-8')
  })

  test('refuses a body over 256 KiB with 413, with or without Content-Length', async () => {
    const large = JSON.stringify({ query: 'x'.repeat(256 * 1024) })
    const answer = await request('POST', path, { headers: { 'content-type': 'application/json' }, body: large })
    expect(answer.status).toBe(413)
    expectProblem(answer, 'body_too_large')
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json' },
      body: new Blob([large]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(response.status).toBe(413)
  })

  test.each(['{', '[1,', 'nothing', '{"a":1}}'])('refuses %s with 400', async (text) => {
    const answer = await request('POST', path, { headers: { 'content-type': 'application/json' }, body: text })
    expect(answer.status).toBe(400)
    expectProblem(answer, 'malformed_json')
  })
})

test.each(['/api/v1/discussions', '/healthz', '/graphql', '/graphql/stream', '/api/v1/stream/x'])(
  'GET %s with a body: 422',
  async (path) => {
    const head = `GET ${path} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: text/html`
    for (const [line, body] of [
      ['Content-Length: 2', '{}'],
      ['Transfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'],
    ] as const) {
      const answer = await raw(`${head}\r\n${line}`, body)
      expect(answer).toMatch(/^HTTP\/1.1 422 /)
      expect(answer).toContain('"code":"validation_failed"')
    }
    expect(await raw(`${head}\r\nContent-Length: 0`)).not.toMatch(/^HTTP\/1.1 422 .*takes no body/s)
  },
)

describe('POST /graphql, asked for', () => {
  test.each([
    ['application/json', 200, 'application/json'],
    ['application/graphql-response+json', 200, 'application/graphql-response+json'],
    ['application/graphql-response+json, application/json;q=0.9', 200, 'application/graphql-response+json'],
    ['*/*', 200, 'json'],
  ])('%s', async (accept, status, type) => {
    const body = '{"query":"{ __typename }"}'
    const answer = await request('POST', '/graphql', { headers: { accept, 'content-type': 'application/json' }, body })
    expect(answer.status, answer.text).toBe(status)
    expect(answer.headers.get('content-type')).toContain(type)
    expect(JSON.parse(answer.text)).toEqual({ data: { __typename: 'Query' } })
  })

  test('an unsupported type: 406', async () => {
    const headers = { accept: 'image/png', 'content-type': 'application/json' }
    const answer = await request('POST', '/graphql', { headers, body: '{"query":"{ __typename }"}' })
    expect(answer.status).toBe(406)
    expectProblem(answer, 'not_acceptable')
  })
})

describe('CORS', () => {
  const json = { 'content-type': 'application/json' }
  /** What pages may call, each with an answer that is one and one that is a refusal. */
  const OPEN: [name: string, method: string, path: string, options: Options][] = [
    ['GraphQL', 'POST', '/graphql', { headers: json, body: '{"query":"{ __typename }"}' }],
    ['a refused document', 'POST', '/graphql', { headers: json, body: `{"query":"${'{'.repeat(2000)}"}` }],
    ['a malformed request', 'POST', '/graphql', { headers: json, body: '{' }],
    ['a GraphQL stream', 'PUT', '/graphql/stream', {}],
    ['an unknown GraphQL stream', 'DELETE', '/graphql/stream', {}],
    ['a ticket', 'POST', '/api/v1/stream/ticket', { headers: json, body: '{"externalId":"a"}' }],
    ['a refused ticket', 'POST', '/api/v1/stream/ticket', { headers: json, body: '{}' }],
  ]

  test.each(OPEN)('%s may be read only by the tenant’s origins', async (_name, method, path, options) => {
    const from = (origin: string) => request(method, path, { ...options, headers: { ...options.headers, origin } })
    const allowed = (await from(ORIGIN)).headers
    expect(allowed.get('access-control-allow-origin')).toBe(ORIGIN)
    const exposed = allowed.get('access-control-expose-headers')?.split(', ')
    expect(exposed).toEqual(expect.arrayContaining(EXPOSED))
    const foreign = (await from(FOREIGN)).headers
    expect(foreign.get('access-control-allow-origin')).toBeNull()
    const none = (await request(method, path, options)).headers
    for (const headers of [allowed, foreign, none]) {
      expect(headers.get('vary')).toMatch(/\bOrigin\b/)
      expect(headers.get('access-control-allow-credentials')).toBe(headers === allowed ? 'true' : null)
    }
  })

  test('a ticket’s stream too, including its refusals', async () => {
    const { ticket } = (await service.call('POST', '/stream/ticket', { body: { discussionId } })).json
    const from = async (path: string, origin: string) => {
      const abort = new AbortController()
      const response = await fetch(`${service.url}/api/v1/stream/${path}`, {
        headers: { origin },
        signal: abort.signal,
      })
      abort.abort()
      return response
    }
    const opened = await from(`${discussionId}?ticket=${ticket}`, ORIGIN)
    expect(opened.status).toBe(200)
    expect(opened.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(opened.headers.get('access-control-allow-credentials')).toBe('true')
    expect(opened.headers.get('access-control-expose-headers')).toContain('X-Request-Id')
    const foreign = await from(`${discussionId}?ticket=${ticket}`, FOREIGN)
    expect(foreign.status).toBe(403)
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    for (const { headers } of [opened, foreign, await from(`${discussionId}?ticket=x`, ORIGIN)]) {
      expect(headers.get('vary')).toBe('Origin')
    }
  })

  test('refused credentials and a key over its rate vary by origin', async () => {
    const headers = { ...json, 'x-api-key': 'ek_x', origin: ORIGIN }
    const { status, headers: given } = await request('POST', '/graphql', { headers, body: '{}' })
    expect(status).toBe(401)
    expect(given.get('vary')).toBe('Origin')
  })

  test.each([
    ['/graphql', 'POST'],
    ['/graphql/stream', 'PUT'],
    ['/api/v1/stream/ticket', 'POST'],
  ])('a preflight of %s', async (path, method) => {
    const ask = (origin: string) =>
      fetch(service.url + path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': method,
          'access-control-request-headers': 'content-type,x-api-key,x-service-identity',
        },
      })
    const allowed = await ask(ORIGIN)
    expect(allowed.status).toBe(204)
    expect(allowed.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(allowed.headers.get('access-control-allow-methods')).toContain(method)
    const names = allowed.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(names).toEqual(['content-type'])
    const foreign = await ask(FOREIGN)
    expect(foreign.status).toBe(403)
    expect(refusalIn(await foreign.json())).toMatchObject({ code: 'origin_not_allowed' })
    for (const { headers } of [allowed, foreign]) {
      expect(headers.get('vary')).toBe('Origin')
      expect(headers.get('access-control-allow-credentials')).toBe(headers === allowed.headers ? 'true' : null)
      expect(headers.get('access-control-allow-origin')).not.toBe('*')
    }
  })

  test.each([
    ['GET', '/api/v1/discussions'],
    ['POST', '/api/v1/discussions'],
    ['GET', '/api/v1/settings'],
    ['GET', '/healthz'],
    ['GET', '/metrics'],
  ])('%s %s does not answer it', async (method, path) => {
    const ask = { origin: ORIGIN, 'access-control-request-method': method }
    for (const each of [method, 'OPTIONS']) {
      const { headers } = await request(each, path, { headers: ask })
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
    expect((await request('OPTIONS', path, { headers: ask })).status).toBe(405)
  })
})

describe('a request that is too large, but for its body', () => {
  /** Below and above what Node's parser takes. */
  const SIZES = [20_000, 200_000]

  test.each(SIZES)('an address of %d characters: 414 uri_too_long', async (size) => {
    for (const path of ['/api/v1/discussions', '/graphql', '/api/v1/stream/x', '/healthz', '/nowhere'])
      for (const long of [`${path}?a=${'a'.repeat(size)}`, `${path}/${'a'.repeat(size)}`]) {
        const answer = await raw(`GET ${long} HTTP/1.1`)
        expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 414 URI Too Long')
        expect(answer).toMatch(/content-type: application\/(problem|graphql-response)\+json/i)
        expect(answer).toContain('"code":"uri_too_long"')
      }
  })

  test.each(SIZES)('headers of %d characters: 431 headers_too_large', async (size) => {
    const one = `X-Long: ${'a'.repeat(size)}`
    const many = Array.from({ length: 100 }, (_, n) => `X-Long-${n}: ${'a'.repeat(size / 100)}`).join('\r\n')
    for (const path of ['/api/v1/discussions', '/graphql', '/api/v1/stream/x', '/healthz', '/nowhere'])
      for (const headers of [one, many]) {
        const answer = await raw(`GET ${path} HTTP/1.1\r\n${headers}`)
        expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 431 Request Header Fields Too Large')
        expect(answer).toMatch(/content-type: application\/(problem|graphql-response)\+json/i)
        expect(answer).toContain('"code":"headers_too_large"')
      }
  })

  test('what fits is served', async () => {
    const path = `/healthz?a=${'a'.repeat(16_000)}`
    expect(await raw(`GET ${path} HTTP/1.1\r\nCookie: ${'a'.repeat(16_000)}`)).toMatch(/^HTTP\/1.1 (200|422) /)
  })

  test('the same over HTTP/2', async () => {
    const { env, remove } = makeTlsSettings()
    const tls = await startService({ env, worker: false })
    const session = connectHttp2(tls.url.replace('http:', 'https:'), { rejectUnauthorized: false })
    const ask = async (headers: Record<string, string>) => {
      const stream = session.request(headers)
      const [answered] = (await once(stream, 'response')) as [Record<string, unknown>]
      return [answered[':status'], await readJson(stream)]
    }
    try {
      const long = 'a'.repeat(20_000)
      expect(await ask({ ':path': `/healthz?a=${long}` })).toMatchObject([414, { code: 'uri_too_long' }])
      expect(await ask({ ':path': '/healthz', 'x-long': long })).toMatchObject([431, { code: 'headers_too_large' }])
      expect(await ask({ ':path': '/healthz' })).toMatchObject([200, { status: 'ok' }])
    } finally {
      session.close()
      await tls.close()
      remove()
    }
  })
})

test.each([
  ['the service', () => createServer(service.app)],
  ['health checks', async () => createHealthServer(service.app, { hasMetrics: false })],
])('the listener of %s outlives a connection that it cannot accept', async (_what, create) => {
  const server = await create()
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  // As Node does where the system gives no socket. Without a handler `emit` throws.
  server.server.emit('error', Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' }))
  expect((await fetch(`${address}/healthz`)).status).toBe(200)
  await server.close()
})
