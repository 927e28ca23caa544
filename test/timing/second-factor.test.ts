import { expect, test } from 'vitest'

import { findByAddress, removeFactor } from '../../src/domains/staff/operators.ts'
import { addMember, bearing, codeOf, tokenFor } from '../harness/members.ts'
import { useService } from '../harness/service.ts'
import { holdsWithin } from '../harness/standstill.ts'

// Sign-ins of before end within 1 s.

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } })

const expectEndWithinASecond = (headers: Record<string, string>): Promise<void> =>
  holdsWithin(1000, async () => expect((await service.call('GET', '/admin/me', { headers })).status).toBe(401))

/** Sets up the second factor of a member. Returns the headers of their new sign-in. */
async function protect(headers: Record<string, string>): Promise<Record<string, string>> {
  const { secret } = (await service.call('POST', '/admin/auth/totp', { headers })).json
  const body = { code: codeOf(secret as string) }
  const confirmed = await service.call('POST', '/admin/auth/totp/confirm', { headers, body })
  expect(confirmed.status, confirmed.text).toBe(200)
  return bearing(confirmed.json.token)
}

test('once a second factor is confirmed, and once its member removes it', async () => {
  const member = await addMember(service, service, 'moderator')
  const other = bearing(await tokenFor(service, member))
  const headers = await protect(member.headers)
  await expectEndWithinASecond(other)
  expect((await service.call('DELETE', '/admin/auth/totp', { headers })).status).toBe(204)
  await expectEndWithinASecond(headers)
})

test('once an operator removes a second factor', async () => {
  const member = await addMember(service, service, 'moderator')
  const headers = await protect(member.headers)
  const found = await findByAddress(service.app, service.tenant.id, member.email)
  if (found === null) throw new Error('no member')
  await removeFactor(service.app, found)
  await expectEndWithinASecond(headers)
})

test('once the tenant requires a second factor', async () => {
  const tenant = await service.addTenant('requires')
  const owner = bearing(await tokenFor(service, tenant.admin))
  const without = await addMember(service, tenant, 'owner')
  const body = { staff: { requireTwoFactor: true } }
  expect((await service.call('PATCH', '/settings', { headers: owner, body })).status).toBe(200)
  await expectEndWithinASecond(without.headers)
})
