import { afterAll, beforeAll, expect, test } from 'vitest'

import { startService, type TestService } from '../harness/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

const login = (body: object) => service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })

test('POST /admin/auth/login answers a token that is good for 12 h', async () => {
  const { status, json } = await login(service.admin)
  expect(status).toBe(200)
  expect(Object.keys(json as object).sort()).toEqual(['expiresAt', 'token'])
  const hours = (Date.parse(json.expiresAt as string) - Date.now()) / 3_600_000
  expect(hours).toBeGreaterThan(11.9)
  expect(hours).toBeLessThanOrEqual(12)
})

test('GET /admin/me answers who the token belongs to', async () => {
  const { json } = await login({ ...service.admin, email: service.admin.email.toUpperCase() })
  const me = await service.call('GET', '/admin/me', { headers: { authorization: `Bearer ${json.token}` } })
  expect(me.status).toBe(200)
  expect(me.json).toMatchObject({
    email: service.admin.email,
    tenant: service.tenant,
    expiresAt: json.expiresAt as string,
  })
})

test('after 10 failures an e-mail address is refused with 429 and Retry-After, the right password too', async () => {
  const other = await service.addTenant('login-limits')
  const attempts = await Promise.all(Array.from({ length: 14 }, () => login({ ...other.admin, password: 'guess' })))
  expect(attempts.filter(({ status }) => status === 401)).toHaveLength(10)
  const refusal = await login(other.admin)
  expect(refusal.json).toMatchObject({ status: 429, code: 'rate_limited' })
  expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await login(service.admin)).status).toBe(200)
})

test("login's refusals in GraphQL carry what those of REST carry", async () => {
  const other = await service.addTenant('login-graphql')
  const mutation = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const ask = (password: string) =>
    service.graphql(mutation, { input: { ...other.admin, password } }, { 'x-api-key': '' })
  const wrong = await ask('guess')
  expect(wrong.json.errors).toMatchObject([{ extensions: { code: 'invalid_admin_token', status: 401 } }])
  expect(wrong.headers.get('retry-after')).toBeNull()
  for (let n = 0; n < 9; n++) await ask('guess')
  const limited = await ask(other.admin.password)
  const [error] = limited.json.errors
  expect(error).toMatchObject({ extensions: { code: 'rate_limited', status: 429 } })
  expect(error.extensions.retryAfterSeconds).toBeGreaterThan(0)
  expect(limited.headers.get('retry-after')).toBe(String(error.extensions.retryAfterSeconds))
})

test.each([
  ['no password', { email: 'a@example.com' }, '/password'],
  ['an e-mail address with NUL', { email: 'a\0@example.com', password: 'x' }, '/email'],
  ['a number', { email: 1, password: 'x' }, '/email'],
])('login with %s: 422 validation_failed', async (_name, body, pointer) => {
  expect((await login(body)).json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer }] })
})
