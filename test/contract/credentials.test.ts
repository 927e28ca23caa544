import { connect } from 'node:net'

import { decodeJwt, SignJWT } from 'jose'
import { expect, test, vi } from 'vitest'

import { deriveKey, newRawKey, sha256 } from '../../src/core/secrets/crypto.ts'
import { newId } from '../../src/core/ids.ts'
import { authenticate } from '../../src/api/http/credentials.ts'
import { DESCRIBED_ROUTES } from '../harness/routes.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

/** A refusal in the form of RFC 9457, with its code (docs/reference/errors.md). */
function expectProblem(response: TestResponse, status: number, code: string): void {
  expect(response.json).toMatchObject({ code, status })
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  const { type, title, detail, requestId } = response.json as Record<string, unknown>
  for (const text of [type, title, detail]) expect(text).toEqual(expect.stringMatching(/\w/))
  expect(requestId).toBe(response.headers.get('x-request-id'))
  if (status === 401) expect(response.headers.get('www-authenticate')).toContain(code)
}

const withKey = (key: string) => ({ headers: { 'x-api-key': key } })
const withToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

async function mintKey(body: object): Promise<{ id: string; key: string }> {
  return service.ok('POST', '/keys', { label: 'test', capabilities: [], ...body })
}

async function adminToken(): Promise<string> {
  const json = await service.ok('POST', '/admin/auth/login', service.admin, { 'x-api-key': '' })
  return (json as { token: string }).token
}

/** The statuses on a connection that sends a request without its body, and then the rest. */
function statusesOf(head: string, length: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    let answers = ''
    const found = (): string[] => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status as string)
    socket.write(`${head}\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{`)
    socket.on('error', reject)
    socket.on('close', () => resolve(found()))
    socket.on('data', (data) => {
      const isFirst = answers === ''
      answers += String(data)
      // The next request on the same connection follows the rest of the body.
      if (isFirst)
        socket.write(`${' '.repeat(length - 1)}GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    })
  })
}

test.each(
  DESCRIBED_ROUTES.filter(({ route, access }) => route.method !== 'GET' && access !== 'public').map(
    ({ route: { method, path } }) => [method, path],
  ),
)('no credentials: 401 before the body is read, %s %s', async (method, path) => {
  const head = `${method} /api/v1${path.replaceAll(/:\w+/g, newId())} HTTP/1.1`
  expect(await statusesOf(head, 200_000)).toEqual(['401', '200'])
})

test('no credentials: 401 missing_credentials', async () => {
  expectProblem(await service.call('GET', '/keys', withKey('')), 401, 'missing_credentials')
})

test('an empty X-API-Key is no credentials', async () => {
  const headers = { 'x-api-key': '' }
  const response = await fetch(`${service.url}/api/v1/keys`, { headers })
  expect(response.status).toBe(401)
  expect(await response.json()).toMatchObject({ code: 'missing_credentials' })
  const asAdmin = { ...headers, authorization: `Bearer ${await adminToken()}` }
  expect((await fetch(`${service.url}/api/v1/keys`, { headers: asAdmin })).status).toBe(200)
  const stream = await fetch(`${service.url}/api/v1/stream/${newId()}`, { headers })
  expect(await stream.json()).toMatchObject({ code: 'missing_credentials' })
})

// GraphQL over HTTP: its clients read `errors`, and no problem document.
test.each(['/graphql', '/graphql/stream'])('GraphQL at %s: a wrong key is an error of GraphQL', async (path) => {
  const ask = (accept: string, body: object, key = 'ek_wrong') =>
    fetch(service.url + path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', accept },
      body: JSON.stringify(body),
    })
  const type = 'application/graphql-response+json'
  const accept = `${type}, application/json;q=0.9`
  const query = '{ __typename }'
  const refused = await ask(accept, { query })
  expect([refused.status, refused.headers.get('content-type')]).toEqual([401, `${type}; charset=utf-8`])
  expect(refused.headers.get('www-authenticate')).toContain('invalid_api_key')
  const requestId = refused.headers.get('x-request-id')
  const message = expect.stringMatching(/key/)
  expect(await refused.json()).toEqual({
    errors: [{ message, extensions: { code: 'invalid_api_key', status: 401, requestId } }],
  })
  const invalid = await ask(accept, { query, variables: 1 }, service.apiKey)
  expect(invalid.status).toBe(422)
  expect(await invalid.json()).toMatchObject({
    errors: [{ extensions: { code: 'validation_failed', errors: [{ pointer: '/variables' }] } }],
  })
  expect((await ask(accept.toUpperCase(), { query })).headers.get('content-type')).toContain(type)
  // The clients of graphql-sse, at /graphql/stream, read problem documents.
  for (const other of ['application/json', '*/*', 'text/event-stream', `application/json, ${type};q=0`]) {
    const answer = await ask(other, { query })
    const form = path === '/graphql' ? `${type}; charset=utf-8` : 'application/problem+json'
    expect([answer.status, answer.headers.get('content-type')]).toEqual([401, form])
  }
})

const NOBODY = { 'x-api-key': '' }
const bearing = (authorization: string) => ({ 'x-api-key': '', authorization })

type Named = readonly [what: string, path: string, headers: Record<string, string>, code: string, named: RegExp]

test.each<Named>([
  ['no credentials', '/keys', NOBODY, 'missing_credentials', /X-API-Key.+Authorization/],
  ['no credentials for an admin', '/admin/me', NOBODY, 'missing_credentials', /Authorization/],
  ['no credentials for a stream', `/stream/${newId()}`, NOBODY, 'missing_credentials', /X-API-Key.+ticket/],
  ['a key for an admin', '/admin/me', {}, 'admin_only', /Authorization/],
  [
    'both',
    '/keys',
    { 'x-api-key': 'ek_1', authorization: 'Bearer x' },
    'ambiguous_credentials',
    /X-API-Key.+Authorization/,
  ],
  ['a wrong key', '/keys', { 'x-api-key': 'ek_1' }, 'invalid_api_key', /^X-API-Key: /],
  [
    'a token that is not there',
    '/keys',
    bearing('Bearer undefined'),
    'missing_credentials',
    /^Authorization: .*no value/,
  ],
  ['a null token', '/keys', bearing('Bearer null'), 'missing_credentials', /^Authorization: .*no value/],
  ['no token', '/keys', bearing('Bearer'), 'missing_credentials', /^Authorization: .*no value/],
  ['a key that is not there', '/keys', { 'x-api-key': 'undefined' }, 'missing_credentials', /^X-API-Key: .*no value/],
  ['a wrong token', '/keys', bearing('Bearer x'), 'invalid_admin_token', /^Authorization: /],
  ['another scheme', '/keys', bearing('Basic eDp5'), 'invalid_admin_token', /^Authorization: .+Bearer/],
  ['a key as a token', '/keys', bearing('Bearer ek_1'), 'invalid_admin_token', /^Authorization: .+X-API-Key/],
  ['a wrong key in the query', `/stream/${newId()}?token=ek_1`, NOBODY, 'invalid_api_key', /^token: /],
  ['a wrong assertion', '/keys', { 'x-service-identity': 'x' }, 'invalid_identity', /^X-Service-Identity: /],
])('the detail names where credentials belong: %s', async (_what, path, headers, code, named) => {
  const { json } = await service.call('GET', path, { headers })
  expect(json.code).toBe(code)
  expect(json.detail).toMatch(named)
})

test('the detail of a write without an identity names the header of the assertion', async () => {
  const { json } = await service.call('POST', '/discussions/by-external/a/comments', { body: { body: 'text' } })
  expect(json).toMatchObject({ code: 'identity_required', detail: expect.stringContaining('X-Service-Identity') })
})

test.each([
  ['an unknown key', newRawKey()],
  ['a malformed key', 'ek_123'],
  ['an upper-case key', `ek_${'A'.repeat(64)}`],
])('%s: 401 invalid_api_key', async (_name, key) => {
  expectProblem(await service.call('GET', '/keys', withKey(key)), 401, 'invalid_api_key')
})

test('an expired key: 401 expired_api_key', async () => {
  const { key, id } = await mintKey({ expiresAt: new Date(Date.now() + 60_000).toISOString() })
  const END = unnamed('UPDATE api_keys SET expires_at = $1 WHERE id = $2')
  await service.app.db.query(END, [new Date(Date.now() - 1), id])
  expectProblem(await service.call('GET', '/keys', withKey(key)), 401, 'expired_api_key')
})

test('a revoked key: 401 revoked_api_key, also of another process', async () => {
  const { key, id } = await mintKey({ capabilities: ['manage_api_keys'] })
  // Caches are kept per app: this one has its own, and only the bus and the database in common.
  const elsewhere = { ...service.app }
  expect((await service.call('GET', '/keys', withKey(key))).status).toBe(200)
  await expect(authenticate(elsewhere, { apiKey: key })).resolves.toMatchObject({ actor: { id } })
  expect((await service.call('DELETE', `/keys/${id}`)).status).toBe(204)
  await vi.waitFor(async () => expectProblem(await service.call('GET', '/keys', withKey(key)), 401, 'revoked_api_key'))
  await vi.waitFor(() =>
    expect(authenticate(elsewhere, { apiKey: key })).rejects.toMatchObject({ code: 'revoked_api_key' }),
  )
})

test('an API key and an admin token in one request: 400 ambiguous_credentials', async () => {
  const headers = { 'x-api-key': service.apiKey, authorization: `Bearer ${await adminToken()}` }
  expectProblem(await service.call('GET', '/keys', { headers }), 400, 'ambiguous_credentials')
})

test('a key without the capability: 403 missing_capability that names it', async () => {
  const { key } = await mintKey({})
  const refusal = await service.call('GET', '/settings', withKey(key))
  expectProblem(refusal, 403, 'missing_capability')
  expect(refusal.json.detail).toContain('manage_settings')
})

test('a key on a route of admins: 403 admin_only', async () => {
  expectProblem(await service.call('GET', '/admin/keys'), 403, 'admin_only')
  expectProblem(await service.call('GET', '/admin/me'), 403, 'admin_only')
})

test('an admin token grants every capability', async () => {
  expect((await service.call('GET', '/settings', withToken(await adminToken()))).status).toBe(200)
})

const derived = () => deriveKey(service.app.settings.ADMIN_JWT_SECRET, 'admin-token')

/** A token with valid claims, of which each test spoils one. */
async function forge(change: Record<string, unknown>, key: Uint8Array = derived(), alg = 'HS256'): Promise<string> {
  const token = await adminToken()
  const me = await service.call('GET', '/admin/me', withToken(token))
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: 'engagement-service',
    aud: 'engagement-service/member',
    sub: me.json.id as string,
    tenantId: service.tenant.id,
    signInId: decodeJwt(token).signInId,
    iat: now,
    exp: now + 600,
    ...change,
  }
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(key)
}

test('a tampered admin token is refused (and accepted when intact)', async () => {
  expect((await service.call('GET', '/admin/me', withToken(await forge({})))).status).toBe(200)
})

test.each([
  ['signed with the raw secret', () => forge({}, Buffer.from(service.app.settings.ADMIN_JWT_SECRET))],
  ['signed with another algorithm', () => forge({}, Buffer.concat([derived(), derived()]), 'HS512')],
  ['past exp', () => forge({ exp: Math.floor(Date.now() / 1000) - 1 })],
  ['without exp', () => forge({ exp: undefined })],
  ['of another issuer', () => forge({ iss: 'else' })],
  ['for another audience', () => forge({ aud: 'demo' })],
  ['of another member', () => forge({ sub: '01980000-0000-7000-8000-000000000000' })],
  ['of a sign-in that does not exist', () => forge({ signInId: '01980000-0000-7000-8000-000000000000' })],
  ['without a sign-in', () => forge({ signInId: undefined })],
  ['of a tenant that is not the admin’s', async () => forge({ tenantId: (await service.addTenant('else')).tenant.id })],
  ['with a tenant that is no id', () => forge({ tenantId: '%' })],
  ['without signature', async () => `${(await forge({})).split('.').slice(0, 2).join('.')}.`],
  ['with alg none', () => Promise.resolve(`${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`)],
  ['that is no JWT', () => Promise.resolve('hello')],
])('an admin token %s: 401 invalid_admin_token', async (_name, make) => {
  expectProblem(await service.call('GET', '/admin/me', withToken(await make())), 401, 'invalid_admin_token')
})

test('a scheme other than Bearer: 401 invalid_admin_token', async () => {
  expectProblem(
    await service.call('GET', '/admin/me', { headers: { authorization: 'Basic YTpi' } }),
    401,
    'invalid_admin_token',
  )
})

test('the raw key is nowhere in the database', async () => {
  const { key } = await mintKey({})
  const rows = await service.app.db.query(unnamed('SELECT * FROM api_keys'))
  const audit = await service.app.db.query(unnamed('SELECT * FROM audit_log'))
  expect(JSON.stringify([rows, audit])).not.toContain(key.slice(11))
  const [row] = await service.app.db.query<{ n: number }>(
    unnamed('SELECT count(*) AS n FROM api_keys WHERE digest = $1'),
    [sha256(key)],
  )
  expect(row?.n).toBe(1)
})
