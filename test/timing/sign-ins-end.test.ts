import { expect, test } from 'vitest'

import { setPassword } from '../../src/domains/staff/operators.ts'
import { createAdmin } from '../../src/domains/bootstrap/bootstrap.ts'
import { addMember, bearing, fromElsewhere, NOBODY, tokenFor } from '../harness/members.ts'
import { type TestResponse, useService, withPassword } from '../harness/service.ts'
import { holdsWithin } from '../harness/standstill.ts'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } })

const statusOf = async (headers: Record<string, string>): Promise<number> =>
  (await service.call('GET', '/admin/me', { headers: { ...NOBODY, ...headers } })).status

test('an operator who sets a password ends sessions of the old one within 5 s', async () => {
  const { app, tenant } = service
  const before = withPassword(await createAdmin(app, tenant.id, 'forgetful@example.com'))
  const theirs = bearing(await tokenFor(service, before))
  expect(await statusOf(theirs)).toBe(200)
  const after = withPassword((await setPassword(app, tenant.id, before.email))!)
  const token = bearing(await tokenFor(service, after))
  expect(await statusOf(token)).toBe(200)
  await holdsWithin(5000, async () => expect(await statusOf(theirs)).toBe(401))
  await setPassword(app, tenant.id, before.email, 'a password of their own')
  await holdsWithin(5000, async () => expect(await statusOf(token)).toBe(401))
})

test("the console's cookie ends within 1 s of a new password, and of signing out", async () => {
  const member = await addMember(service, service, 'owner')
  const from = { ...NOBODY, 'x-requested-with': 'engagement-console', 'sec-fetch-site': 'same-origin' }
  const cookieIn = ({ headers }: TestResponse) => (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const login = await service.call('POST', '/admin/auth/login', {
    headers: { ...fromElsewhere(), ...from },
    body: { email: member.email, password: member.password },
  })
  const cookie = cookieIn(login)
  expect(await statusOf({ ...from, cookie })).toBe(200)
  const changed = await service.call('POST', '/admin/auth/password', {
    headers: { ...from, cookie },
    body: { current: member.password, new: 'the next password' },
  })
  expect(changed.status, changed.text).toBe(200)
  await holdsWithin(1000, async () => expect(await statusOf({ ...from, cookie })).toBe(401))
  const next = { ...from, cookie: cookieIn(changed) }
  expect(await statusOf(next)).toBe(200)
  expect((await service.call('POST', '/admin/auth/logout', { headers: next })).status).toBe(204)
  await holdsWithin(1000, async () => expect(await statusOf(next)).toBe(401))
})
