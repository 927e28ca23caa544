import { expect, test, vi } from 'vitest'

import { operatorOf, removeMember } from '../../src/domains/staff/membership.ts'
import { findByAddress, setPassword } from '../../src/domains/staff/operators.ts'
import { createAdmin } from '../../src/domains/bootstrap/bootstrap.ts'
import { useService, withPassword } from '../harness/service.ts'

const service = useService()

const login = (body: object) => service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })

test('POST /admin/auth/login answers a token that is valid for 12 h', async () => {
  const { status, json } = await login(service.admin)
  expect(status).toBe(200)
  expect(Object.keys(json as object).sort()).toEqual(['expiresAt', 'token'])
  const hours = (Date.parse(json.expiresAt as string) - Date.now()) / 3_600_000
  expect(hours).toBeGreaterThan(11.9)
  expect(hours).toBeLessThanOrEqual(12)
})

test('GET /admin/me answers the admin of the token', async () => {
  const { json } = await login({ ...service.admin, email: service.admin.email.toUpperCase() })
  const me = await service.ok('GET', '/admin/me', undefined, { authorization: `Bearer ${json.token}` })
  expect(me).toMatchObject({
    email: service.admin.email,
    tenant: service.tenant,
    expiresAt: json.expiresAt as string,
  })
})

test('a new password ends sessions of the old one, and no others', async () => {
  const { app, tenant, admin } = service
  const before = withPassword(await createAdmin(app, tenant.id, 'forgetful@example.com'))
  const me = async (token: string) =>
    (await service.call('GET', '/admin/me', { headers: { authorization: `Bearer ${token}` } })).status
  const [theirs, other] = [(await login(before)).json.token, (await login(admin)).json.token]
  expect([await me(theirs), await me(other)]).toEqual([200, 200])

  const after = await setPassword(app, tenant.id, 'Forgetful@example.com')
  expect(after).toEqual({ email: before.email, password: expect.not.stringContaining(before.password) })
  expect((await login(before)).status).toBe(401)
  const { token } = (await login(after ?? {})).json
  // At once, although the process may have cached an older state of the admin.
  expect(await me(token)).toBe(200)
  await vi.waitFor(async () => expect(await me(theirs)).toBe(401))
  expect([await me(token), await me(other)]).toEqual([200, 200])
  // A chosen password, and another one.
  const chosen = await setPassword(app, tenant.id, before.email, 'a password of their own')
  expect((await login(chosen ?? {})).status).toBe(200)
  await vi.waitFor(async () => expect(await me(token)).toBe(401))
})

test('a new password for an account that goes meanwhile finds none', async () => {
  const { app, tenant } = service
  const { email } = await createAdmin(app, tenant.id, 'leaving@example.com')
  const db = {
    ...app.db,
    // Where the hash is made, between the look-up and the write.
    transaction: async (run: Parameters<typeof app.db.transaction>[0]) => {
      await removeMember(app, operatorOf(tenant.id), { id: (await findByAddress(app, tenant.id, email))?.id ?? '' })
      return app.db.transaction(run)
    },
  } as typeof app.db
  expect(await setPassword({ ...app, db }, tenant.id, email)).toBeNull()
})

test('the password of an admin of another tenant cannot be changed', async () => {
  const other = await service.addTenant('passwords')
  expect(await setPassword(service.app, service.tenant.id, other.admin.email)).toBeNull()
  expect((await login(other.admin)).status).toBe(200)
})

test('after 10 failures an e-mail address is refused with 429 and Retry-After, even with the right password', async () => {
  const other = await service.addTenant('login-limits')
  const attempts = await Promise.all(Array.from({ length: 14 }, () => login({ ...other.admin, password: 'guess' })))
  expect(attempts.filter(({ status }) => status === 401)).toHaveLength(10)
  const refusal = await login(other.admin)
  expect(refusal.json).toMatchObject({ status: 429, code: 'rate_limited' })
  expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await login(service.admin)).status).toBe(200)
})

test("login's refusals in GraphQL have the same fields as those in REST", async () => {
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
])('login with %s: 422 validation_failed', async (_name, body, pointer) => {
  expect((await login(body)).json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer }] })
})

test.each(['', 'unknown', '%00', 'demo%00', 'x'.repeat(5000), 'a&tenant=b'])(
  'a sign-on at the tenant %s goes back to the console, which says that it is unknown',
  async (tenant) => {
    const url = `${service.url}/api/v1/admin/auth/oidc/start?tenant=${tenant}`
    const answer = await fetch(url, { redirect: 'manual' })
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toMatch(/\/console\/#sign-on=unknown_tenant$/)
  },
)
