import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { startOwn, useService } from '../harness/service.ts'

const ORIGIN = 'https://www.example.com'
const FOREIGN = 'https://evil.example'
const PATHS = ['/graphql', '/graphql/stream', '/api/v1/stream/ticket'] as const

const service = useService()

beforeAll(async () => {
  await allow([ORIGIN])
})

const allow = (allowedOrigins: readonly string[]) => service.call('PATCH', '/settings', { body: { allowedOrigins } })

const preflight = (path: string, origin: string, asked?: string) =>
  fetch(service.url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      ...(asked === undefined ? {} : { 'access-control-request-headers': asked }),
    },
  })

/** The origin whose pages may read an answer. */
const readerOf = ({ headers }: Response) => headers.get('access-control-allow-origin')

describe('a preflight of an allowed origin', () => {
  // What Apollo Client, graphql-sse, OpenTelemetry, Sentry, New Relic and Datadog send.
  const SENT = [
    'apollo-require-preflight',
    'apollographql-client-name',
    'apollographql-client-version',
    'x-apollo-operation-name',
    'authorization',
    'baggage',
    'cache-control',
    'content-type',
    'idempotency-key',
    'last-event-id',
    'newrelic',
    'sentry-trace',
    'traceparent',
    'tracestate',
    'x-datadog-origin',
    'x-graphql-event-stream-token',
    'x-requested-with',
    'x-service-cost',
    'x-service-site',
  ]

  test.each(PATHS)('of %s allows any header but the credentials of a backend', async (path) => {
    const allowed = (asked: string) =>
      preflight(path, ORIGIN, asked).then(({ headers }) => headers.get('access-control-allow-headers')?.split(', '))
    expect(await allowed(SENT.join(','))).toEqual(SENT)
    expect(await allowed('x-api-key, X-Custom,X-Service-Identity')).toEqual(['x-custom'])
    expect(await allowed('a b, c"d, é, ok')).toEqual(['ok'])
    expect((await preflight(path, ORIGIN)).status).toBe(204)
  })

  test('is not granted to other origins', async () => {
    for (const path of PATHS) {
      const { status, headers } = await preflight(path, FOREIGN, 'content-type')
      expect([status, headers.get('access-control-allow-headers')]).toEqual([403, null])
    }
  })
})

describe('a refusal before the tenant is known', () => {
  const json = { 'content-type': 'application/json' }
  const long = 'x'.repeat(20_000)
  type Init = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }
  const CASES: [name: string, status: number, suffix: string, init: Init][] = [
    ['a long address', 414, `?query=${long}`, {}],
    ['long headers', 431, '', { headers: { 'x-long': long } }],
    ['two credentials', 400, '', { headers: { 'x-api-key': 'ek_x', authorization: 'Bearer ct_x' } }],
    ['an unknown key', 401, '', { headers: { 'x-api-key': `ek_${'0'.repeat(64)}` } }],
    ['an unknown type', 415, '', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }],
    ['malformed JSON', 400, '', { method: 'POST', headers: json, body: '{' }],
    ['a long body', 413, '', { method: 'POST', headers: json, body: `"${'x'.repeat(300_000)}"` }],
    ['a method that the path does not take', 405, '', { method: 'PATCH' }],
  ]

  /** The routes of REST ask for credentials before they look at a body. */
  const WITHOUT_CREDENTIALS = ['an unknown type', 'malformed JSON', 'a long body']
  const expected = (path: string, name: string, status: number) =>
    path.startsWith('/api/') && WITHOUT_CREDENTIALS.includes(name) ? 401 : status

  test.each(
    PATHS.flatMap((path) =>
      CASES.map(([name, status, ...rest]) => [path, name, expected(path, name, status), ...rest] as const),
    ),
  )('%s with %s, %i, is read by a page of an allowed origin alone', async (path, _name, status, suffix, init) => {
    const from = (origin?: string) =>
      fetch(service.url + path + suffix, {
        method: 'POST',
        ...init,
        headers: { ...init.headers, ...(origin === undefined ? {} : { origin }) },
      })
    const answers = await Promise.all([from(ORIGIN), from(FOREIGN), from()])
    expect(answers.map((answer) => answer.status)).toEqual([status, status, status])
    expect(answers.map(readerOf)).toEqual([ORIGIN, null, null])
    for (const { headers } of answers) expect(headers.get('vary')).toMatch(/\bOrigin\b/)
    const exposed = answers[0].headers.get('access-control-expose-headers')
    expect(exposed).toContain('X-Request-Id')
  })

  test('of a head that Node refuses is read too', async () => {
    const ask = async (origin: string): Promise<string> => {
      const { port, hostname } = new URL(service.url)
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      socket.write(`POST /graphql HTTP/1.1\r\nHost: x\r\nOrigin: ${origin}\r\nX-Long: ${'x'.repeat(60_000)}\r\n`)
      return text(socket)
    }
    const answer = await ask(ORIGIN)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toContain(`access-control-allow-origin: ${ORIGIN}\r\n`)
    expect(await ask(FOREIGN)).not.toContain('access-control-allow-origin')
  })

  test('of an address over its rate costs no query, however many origins it names', async () => {
    const limited = await startOwn({
      env: { UNAUTHENTICATED_RATE_PER_SECOND: '0.01', UNAUTHENTICATED_RATE_BURST: '5' },
    })
    const query = vi.spyOn(limited.app.db, 'query')
    for (let n = 0; n < 20; n++) {
      await fetch(`${limited.url}/graphql?query=${long}`, { headers: { origin: `https://${n}.example.com` } })
    }
    const looked = query.mock.calls.filter(([{ name }]) => name === 'find_origin')
    query.mockRestore()
    expect(looked).toHaveLength(5)
  })
})

describe('allowedOrigins', () => {
  test.each([
    ['capacitor://localhost', ['capacitor://localhost'], ['capacitor://localhost.example', 'ionic://other']],
    ['ionic://localhost', ['ionic://localhost'], []],
    ['tauri://localhost', ['tauri://localhost'], []],
    [
      'chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb',
      ['chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb'],
      [],
    ],
    [
      'moz-extension://1b2c3d4e-0000-4000-8000-000000000000',
      ['moz-extension://1b2c3d4e-0000-4000-8000-000000000000'],
      [],
    ],
    [
      'https://*.preview.example',
      ['https://a.preview.example', 'https://pr-12.preview.example'],
      [
        'https://preview.example',
        'https://a.b.preview.example',
        'http://a.preview.example',
        'https://a.preview.example:8443',
        'https://a.preview.example.evil.example',
        'https://evil-preview.example',
      ],
    ],
    ['http://*.dev.example:3000', ['http://a.dev.example:3000'], ['http://a.dev.example']],
    ['http://[::1]:3000', ['http://[::1]:3000'], []],
  ])('%s', async (allowed, taken, refused) => {
    const tenant = await service.addTenant(`origin-${allowed.replace(/[^a-z]/g, '')}`)
    const as = { headers: { 'x-api-key': tenant.apiKey } }
    const { status, text: told } = await service.call('PATCH', '/settings', {
      body: { allowedOrigins: [allowed] },
      ...as,
    })
    expect(status, told).toBe(200)
    const { json } = await service.call('POST', '/client-tokens', { body: {}, ...as })
    const ask = async (origin: string) => {
      const query = '{ publicSettings { maxDepth } }'
      const answer = await service.graphql(query, {}, { authorization: `Bearer ${json.token}`, origin })
      return [
        answer.status,
        answer.headers.get('access-control-allow-origin'),
        (await preflight(PATHS[0], origin)).status,
      ]
    }
    for (const origin of taken) expect(await ask(origin)).toEqual([200, origin, 204])
    for (const origin of refused) expect([origin, ...(await ask(origin))]).toEqual([origin, 403, null, 403])
  })

  test.each([
    '*',
    'https://*',
    'https://*.com',
    'https://*.*.example.com',
    'https://a*.example.com',
    'https://a.*.example.com',
    'https://*.example.com/',
    'https://*.Example.com',
    'capacitor://',
    'capacitor://localhost/',
    'file://',
    'null',
    'javascript://x',
    'https://x.example.com/a',
  ])('%j is refused when it is saved', async (origin) => {
    const { status, json } = await allow([origin])
    expect([status, json.errors]).toEqual([422, [expect.objectContaining({ pointer: '/allowedOrigins/0' })]])
  })
})
