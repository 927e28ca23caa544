import { TOTP } from 'otpauth'
import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { operatorOf } from '../../src/domains/staff/membership.ts'
import { findByAddress, removeFactor } from '../../src/domains/staff/operators.ts'
import {
  addMember,
  bearing,
  codeOf,
  fromElsewhere,
  invitationIn,
  type TestMember,
  tokenFor,
} from '../harness/members.ts'
import { type TestResponse, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } })

interface WithFactor extends TestMember {
  secret: string
  recoveryCodes: string[]
}

/** A member with a second factor, whose codes of now and before are used. */
async function addProtected(tenant: TestTenant = service): Promise<WithFactor> {
  const member = await addMember(service, tenant, 'moderator')
  const begun = await service.ok('POST', '/admin/auth/totp', undefined, member.headers)
  const { secret } = begun as { secret: string }
  const body = { code: codeOf(secret) }
  const confirmed = await service.ok('POST', '/admin/auth/totp/confirm', body, member.headers)
  return { ...member, headers: bearing(confirmed.token), secret, recoveryCodes: confirmed.recoveryCodes }
}

/**
 * Sets the clock of the codes back to the beginning of a step of 30 s, so that the step does not
 * end during a test that counts steps.
 */
function beginStep(): { mockRestore(): void } {
  const now = Date.now.bind(Date)
  const sinceStepMs = now() % 30_000
  return vi.spyOn(Date, 'now').mockImplementation(() => now() - sinceStepMs)
}

const login = ({ email, password }: TestMember, code?: string): Promise<TestResponse> =>
  service.call('POST', '/admin/auth/login', { headers: fromElsewhere(), body: { email, password, code } })
const meOf = (headers: Record<string, string>) => service.call('GET', '/admin/me', { headers })

describe('a second factor', () => {
  test('is set up by an app, counts once it is confirmed, and ends the sign-ins of before', async () => {
    const member = await addMember(service, service, 'moderator')
    const other = bearing(await tokenFor(service, member))
    const begun = await service.call('POST', '/admin/auth/totp', { headers: member.headers })
    const { secret, otpauthUrl } = begun.json as { secret: string; otpauthUrl: string }
    // Base32 of 160 bits, as RFC 4226 wants.
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    const url = new URL(otpauthUrl)
    expect(decodeURIComponent(url.pathname)).toContain(member.email)
    const { issuer, algorithm, digits, period } = Object.fromEntries(url.searchParams)
    expect({ issuer, algorithm, digits, period }).toEqual({
      issuer: 'Engagement Service',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
    expect((await login(member)).status).toBe(200)
    for (const code of ['000000', '１２３４５６', '12345', 'x']) {
      const wrong = await service.call('POST', '/admin/auth/totp/confirm', { headers: member.headers, body: { code } })
      expect(wrong.json, code).toMatchObject({ status: 401, code: 'invalid_second_factor' })
    }
    const body = { code: codeOf(secret) }
    const confirmed = await service.call('POST', '/admin/auth/totp/confirm', { headers: member.headers, body })
    expect(confirmed.json.recoveryCodes).toHaveLength(10)
    expect(new Set(confirmed.json.recoveryCodes).size).toBe(10)
    await vi.waitFor(async () => expect((await meOf(other)).status).toBe(401))
    expect((await meOf(bearing(confirmed.json.token))).json).toMatchObject({ twoFactor: true })
    expect((await login(member)).json).toMatchObject({ status: 401, code: 'second_factor_required' })
    expect((await login(member, codeOf(secret, 1))).status).toBe(200)
    const stored = await service.app.db.query(unnamed('SELECT row_to_json(f)::text AS row FROM second_factors f'))
    const codes = await service.app.db.query(unnamed('SELECT row_to_json(r)::text AS row FROM recovery_codes r'))
    expect(JSON.stringify(stored)).not.toContain(secret)
    for (const code of confirmed.json.recoveryCodes) expect(JSON.stringify(codes)).not.toContain(code)
  })

  test('a login that has found none begins nothing once it is confirmed', async () => {
    const member = await addMember(service, service, 'moderator')
    const { secret } = (await service.call('POST', '/admin/auth/totp', { headers: member.headers })).json
    const { secondFactor } = service.app.prisma
    const find = secondFactor.findUnique.bind(secondFactor)
    const confirmAfter = async (args: Parameters<typeof find>[0]) => {
      const found = await find(args)
      const body = { code: codeOf(secret) }
      const path = '/admin/auth/totp/confirm'
      await service.ok('POST', path, body, member.headers)
      return found
    }
    const spy = vi.spyOn(secondFactor, 'findUnique').mockImplementationOnce(confirmAfter as never)
    try {
      expect((await login(member)).json).toMatchObject({ status: 401, code: 'second_factor_required' })
      expect(spy).toHaveBeenCalledTimes(2)
    } finally {
      spy.mockRestore()
    }
  })

  test('a code is good once, also for eight at once', async () => {
    const clock = beginStep()
    try {
      const member = await addProtected()
      const again = await login(member, codeOf(member.secret))
      expect(again.json).toMatchObject({ status: 401, code: 'invalid_second_factor' })
      const code = codeOf(member.secret, 1)
      const answers = await Promise.all(Array.from({ length: 8 }, () => login(member, code)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect((await login(member, code)).json.code).toBe('invalid_second_factor')
    } finally {
      clock.mockRestore()
    }
  })

  test('a code of two steps ago or ahead is refused', async () => {
    const clock = beginStep()
    try {
      const member = await addProtected()
      for (const steps of [-2, 2, 3]) expect((await login(member, codeOf(member.secret, steps))).status).toBe(401)
    } finally {
      clock.mockRestore()
    }
  })

  test('a recovery code signs in once, however it is written', async () => {
    const member = await addProtected()
    const [first = '', second = ''] = member.recoveryCodes
    const written = ` ${first.replaceAll('-', ' ').toUpperCase()} `
    const answers = await Promise.all(Array.from({ length: 4 }, () => login(member, written)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await login(member, first)).json.code).toBe('invalid_second_factor')
    expect((await login(member, second)).status).toBe(200)
  })

  test.each([
    ['in full width', 0xff10, ''],
    ['in Arabic', 0x660, ''],
    ['in Persian', 0x6f0, ''],
    ['with a space', 0x30, ' '],
    ['with a no-break space', 0x30, '\u00A0'],
    ['with a hyphen that does not break', 0x30, '\u2011'],
    ['with an invisible character', 0x30, '\u200B'],
  ])('a code of the app is taken %s', async (_how, zero, between) => {
    const write = (code: string): string =>
      Array.from(code, (digit) => String.fromCodePoint(zero + Number(digit)))
        .join('')
        .replace(/(?<=^...)/u, between)
    const member = await addMember(service, service, 'moderator')
    const { secret } = (await service.call('POST', '/admin/auth/totp', { headers: member.headers })).json
    const body = { code: write(codeOf(secret)) }
    const confirmed = await service.ok('POST', '/admin/auth/totp/confirm', body, member.headers)
    expect((await login(member, write(codeOf(secret, 1)))).status).toBe(200)
    const [first = ''] = confirmed.recoveryCodes as string[]
    expect((await login(member, first.replaceAll('-', '\u2011'))).status).toBe(200)
  })

  test('guesses are limited, also between requests without a code', async () => {
    const member = await addProtected()
    let guesses = 0
    for (let n = 0; n < 12; n++) {
      const { json } = await login(member, n % 2 === 0 ? undefined : String(n).padStart(6, '7'))
      if (json.code === 'rate_limited') break
      guesses++
    }
    expect(guesses).toBe(10)
    expect((await login(member, codeOf(member.secret, 1))).status).toBe(429)
  })

  test('of a wrong password nothing is said', async () => {
    const member = await addProtected()
    for (const code of [undefined, codeOf(member.secret, 1)]) {
      const { json } = await login({ ...member, password: 'wrong' }, code)
      expect(json).toMatchObject({ status: 401, code: 'invalid_admin_token' })
    }
  })

  test('cannot be set up again before it is removed; removing it ends all sign-ins', async () => {
    const member = await addProtected()
    const { headers } = member
    expect((await service.call('POST', '/admin/auth/totp', { headers })).json.code).toBe('invalid_transition')
    await service.ok('DELETE', '/admin/auth/totp', undefined, headers)
    await vi.waitFor(async () => expect((await meOf(headers)).status).toBe(401))
    const again = bearing((await login(member)).json.token)
    expect((await meOf(again)).json.twoFactor).toBe(false)
    // Without one it changes nothing.
    expect((await service.call('DELETE', '/admin/auth/totp', { headers: again })).status).toBe(204)
    expect((await meOf(again)).status).toBe(200)
  })

  test('an operator removes that of a member who has lost it', async () => {
    const member = await addProtected()
    const found = await findByAddress(service.app, service.tenant.id, member.email)
    if (found === null) throw new Error('no member')
    await removeFactor(service.app, found)
    await vi.waitFor(async () => expect((await meOf(member.headers)).status).toBe(401))
    expect((await login(member)).status).toBe(200)
    expect(operatorOf(service.tenant.id).tenantId).toBe(service.tenant.id)
  })

  test('of an account counts in every tenant, and where an invitation is accepted', async () => {
    const member = await addProtected()
    const other = await service.addTenant('second-tenant')
    const owner = bearing(await tokenFor(service, other.admin))
    const body = { email: member.email, role: 'analyst' }
    const token = invitationIn((await service.call('POST', '/admin/members', { headers: owner, body })).json)
    const accept = (code?: string) =>
      service.call('POST', '/admin/auth/accept', {
        headers: fromElsewhere(),
        body: { token, password: member.password, code },
      })
    expect((await accept()).json.code).toBe('second_factor_required')
    expect((await accept('000000')).json.code).toBe('invalid_second_factor')
    expect((await accept(codeOf(member.secret, 1))).status).toBe(200)
    // The code is used where the tenant is chosen, not where it is asked for.
    const [recovery] = member.recoveryCodes
    expect((await login(member, recovery)).json).toMatchObject({ status: 409, code: 'tenant_required' })
    const there = { email: member.email, password: member.password, code: recovery, tenant: 'second-tenant' }
    expect((await service.call('POST', '/admin/auth/login', { headers: fromElsewhere(), body: there })).status).toBe(
      200,
    )
  })
})

describe('the setting staff.requireTwoFactor', () => {
  let tenant: TestTenant
  let owner: Record<string, string>
  let without: TestMember

  beforeAll(async () => {
    tenant = await service.addTenant('requires')
    owner = bearing(await tokenFor(service, tenant.admin))
    without = await addMember(service, tenant, 'owner')
    const body = { staff: { requireTwoFactor: true } }
    expect((await service.call('PATCH', '/settings', { headers: owner, body })).status).toBe(200)
  })

  test('ends the sign-ins of members without one', async () => {
    await vi.waitFor(async () => expect((await meOf(without.headers)).status).toBe(401))
  })

  test('a member without one can do nothing but set it up, over REST, GraphQL and streams', async () => {
    const headers = bearing((await login(without)).json.token)
    const page = await service.call('POST', '/discussions', {
      headers: { 'x-api-key': tenant.apiKey },
      body: { externalId: newId() },
    })
    for (const [method, path] of [
      ['GET', '/keys'],
      ['GET', '/discussions'],
      ['GET', '/admin/members'],
      ['PATCH', '/settings'],
      ['GET', `/stream/${page.json.id}`],
      ['GET', `/exports/${newId()}/file`],
      ['PUT', `/import-uploads/${newId()}/parts/0`],
    ] as const) {
      const { json } = await service.call(method, path, { headers, ...(method === 'PATCH' && { body: {} }) })
      expect(json, path).toMatchObject({ status: 403, code: 'second_factor_setup_required' })
    }
    const asked = await service.graphql('{ settings { maxDepth } node(id: "x") { id } }', {}, headers)
    for (const error of asked.json.errors) expect(error.extensions.code).toBe('second_factor_setup_required')
    for (const [path, body] of [
      ['/admin/auth/password', { current: without.password, new: 'another password' }],
      ['/admin/auth/switch', { tenant: 'requires' }],
    ] as const) {
      const { json } = await service.call('POST', path, { headers, body })
      expect(json, path).toMatchObject({ status: 403, code: 'second_factor_setup_required' })
    }
    expect((await meOf(headers)).status).toBe(200)
    const { secret } = (await service.call('POST', '/admin/auth/totp', { headers })).json
    const body = { code: codeOf(secret) }
    const { json } = await service.call('POST', '/admin/auth/totp/confirm', { headers, body })
    expect((await service.call('GET', '/keys', { headers: bearing(json.token) })).status).toBe(200)
  })

  test('a member of another tenant cannot switch there without one', async () => {
    const person = await addMember(service, service, 'analyst')
    const asOwner = bearing(
      (await service.call('POST', '/admin/auth/login', { headers: fromElsewhere(), body: tenant.admin })).json.token,
    )
    const { secret } = (await service.call('POST', '/admin/auth/totp', { headers: asOwner })).json
    const confirmed = await service.call('POST', '/admin/auth/totp/confirm', {
      headers: asOwner,
      body: { code: codeOf(secret) },
    })
    const body = { email: person.email, role: 'analyst' }
    const headers = bearing(confirmed.json.token)
    const token = invitationIn((await service.call('POST', '/admin/members', { headers, body })).json)
    const accepted = { token, password: person.password }
    expect(
      (await service.call('POST', '/admin/auth/accept', { headers: fromElsewhere(), body: accepted })).status,
    ).toBe(200)
    const switched = await service.call('POST', '/admin/auth/switch', {
      headers: person.headers,
      body: { tenant: 'requires' },
    })
    expect(switched.json).toMatchObject({ status: 403, code: 'second_factor_setup_required' })
  })
})

test('codes are those of RFC 6238', () => {
  // Appendix B, SHA-1; the last six of its eight digits.
  const totp = new TOTP({ secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' })
  expect(totp.generate({ timestamp: 59_000 })).toBe('287082')
  expect(totp.generate({ timestamp: 1_111_111_109_000 })).toBe('081804')
})
