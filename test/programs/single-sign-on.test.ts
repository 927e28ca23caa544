import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { resumeTenant, suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { addMember, bearing, fromElsewhere, NOBODY, tokenFor } from '../harness/members.ts'
import {
  CLIENT,
  type FakeProvider,
  startFakeProvider,
  startProvider,
  type TestProvider,
} from '../harness/oidc-provider.ts'
import { type Headers, type TestResponse, type TestTenant, useService } from '../harness/service.ts'

const CONSOLE = { 'x-requested-with': 'engagement-console', 'sec-fetch-site': 'same-origin' }
const PATH = '/api/v1/admin/auth/oidc'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8', WEBHOOK_ALLOW_HTTP: 'true' } })
let provider: TestProvider
let fake: FakeProvider
let tenant: TestTenant
let owner: Headers

beforeAll(async () => {
  provider = await startProvider(`${service.url}${PATH}/callback`)
  fake = await startFakeProvider()
})
afterAll(async () => {
  await provider.close()
  await fake.close()
})

let tenants = 0
beforeEach(async () => {
  tenant = await service.addTenant(`sso-${tenants++}`)
  owner = bearing(await tokenFor(service, tenant.admin))
})
afterEach(() => Object.assign(fake, { claims: {}, isForger: false, tokenAnswer: null }))

const OIDC = { ...CLIENT, emailDomains: ['example.com'], roleClaim: 'groups', roles: { 'site-editors': 'editor' } }

const setStaff = (staff: object, headers = owner): Promise<TestResponse> =>
  service.call('PATCH', '/settings', { headers, body: { staff } })
async function setOidc(oidc: object | null): Promise<void> {
  const { status, text } = await setStaff({ oidc })
  expect(status, text).toBe(200)
}

/** A browser that follows redirects with its cookies, until one leads to the console. */
class Browser {
  readonly cookies = new Map<string, string>()
  readonly address = fromElsewhere()['x-forwarded-for']!
  /** The places that it went to. */
  readonly places: string[] = []

  async open(url: string, until: (url: string) => boolean = (next) => next.includes('/console/')): Promise<string> {
    if (until(url)) return url
    this.places.push(url)
    const { host } = new URL(url)
    const own = [...this.cookies].filter(([name]) => name.startsWith(`${host} `))
    const cookie = own.map(([name, value]) => `${name.split(' ')[1]}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie, 'x-forwarded-for': this.address } })
    for (const each of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      const isOver = /expires=thu, 01 jan 1970/i.test(each)
      if (isOver) this.cookies.delete(`${host} ${name}`)
      else this.cookies.set(`${host} ${name}`, value)
    }
    const next = answer.headers.get('location')
    if (next === null) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
    return this.open(new URL(next, url).href, until)
  }

  /** The headers of the console's requests. */
  get headers(): Headers {
    const token = this.cookies.get(`${new URL(service.url).host} engagement-console`)
    return { ...NOBODY, ...CONSOLE, cookie: `engagement-console=${token}` }
  }
}

const startUrl = (slug = tenant.tenant.slug): string => `${service.url}${PATH}/start?tenant=${slug}`
const outcomeIn = (url: string): string => new URL(url).hash.replace('#sign-on=', '')

async function signOn(browser = new Browser(), slug?: string): Promise<{ outcome: string; browser: Browser }> {
  return { outcome: outcomeIn(await browser.open(startUrl(slug))), browser }
}
const me = (headers: Headers) => service.call('GET', '/admin/me', { headers })
const expectEnded = (headers: Headers): Promise<void> =>
  vi.waitFor(async () => expect((await me(headers)).status).toBe(401))

const person = (more: object = {}) => ({
  email: `p-${newId()}@example.com`,
  email_verified: true,
  name: 'Pat Example',
  groups: ['all', 'site-editors'],
  ...more,
})

describe('single sign-on', () => {
  beforeEach(() => setOidc({ issuer: provider.issuer, ...OIDC }))

  test('makes a member of the role that the claim names, and signs them in', async () => {
    const claims = person({ email: 'Pat@Example.com' })
    provider.login('pat', claims)
    const { outcome, browser } = await signOn()
    expect(outcome).toBe('done')
    const { json } = await me(browser.headers)
    expect(json).toMatchObject({ email: 'pat@example.com', name: 'Pat Example', role: 'editor', signedOn: true })
    expect(json.tenants).toEqual([])
    const { json: members } = await service.call('GET', '/admin/members', { headers: owner })
    expect(members.data.find(({ id }: { id: string }) => id === json.id)).toMatchObject({ state: 'active' })
    const { json: log } = await service.call('GET', '/audit-log?action=member.sign_on', { headers: owner })
    expect(log.data).toMatchObject([{ actor: { kind: 'admin', id: json.id }, targetId: json.id, before: null }])
    // The same person again is the same member.
    const again = await signOn()
    expect((await me(again.browser.headers)).json.id).toBe(json.id)
  })

  test('signs in as the member whom an invitation makes meanwhile', async () => {
    provider.login('raced', person({ email: 'raced@example.com' }))
    const { db } = service.app
    const transaction = db.transaction.bind(db)
    const data = { tenantId: tenant.tenant.id, id: newId(), email: 'raced@example.com', role: 'analyst' } as const
    let looked = 0
    const spy = vi.spyOn(db, 'transaction').mockImplementation((work, ...more) =>
      transaction(
        (sql) =>
          work(
            sql.within(async ({ text }, run) => {
              const found = await run()
              // By the provider's id, and by the address.
              if (/SELECT.*members/s.test(text) && ++looked === 2) await sql.prisma.member.create({ data })
              return found
            }),
          ),
        ...more,
      ),
    )
    const { outcome, browser } = await signOn()
    spy.mockRestore()
    expect(outcome).toBe('done')
    expect((await me(browser.headers)).json).toMatchObject({ id: data.id, role: 'editor', signedOn: true })
  })

  test('sends PKCE, state and nonce, and its cookie is HttpOnly, SameSite=Lax, and serves once', async () => {
    const answer = await fetch(startUrl(), { redirect: 'manual' })
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([303, 'no-store'])
    const query = Object.fromEntries(new URL(answer.headers.get('location')!).searchParams)
    expect(query).toMatchObject({ response_type: 'code', code_challenge_method: 'S256', scope: 'openid email profile' })
    for (const name of ['state', 'nonce', 'code_challenge']) expect(query[name]).toMatch(/^[\w-]{43}$/)
    const cookie = answer.headers.get('set-cookie')!
    expect(cookie.split('; ').slice(2).toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Lax'])
    expect(cookie).not.toContain(query.state)
    provider.login('once', person())
    const { browser } = await signOn()
    expect([...browser.cookies.keys()].filter((name) => name.endsWith('engagement-sign-on'))).toEqual([])
  })

  test('asks for groups where the provider has a scope for them, as Okta has', async () => {
    const scope = async (): Promise<string | null> => {
      const answer = await fetch(startUrl(), { redirect: 'manual' })
      return new URL(answer.headers.get('location')!).searchParams.get('scope')
    }
    expect(await scope()).toBe('openid email profile')
    await setOidc({ issuer: fake.issuer, clientSecret: 'secret' })
    expect(await scope()).toBe('openid email profile groups')
    await setOidc({ roleClaim: 'roles' })
    expect(await scope()).toBe('openid email profile')
  })

  test('follows the claim at every sign-in, and ends what another role has open', async () => {
    const claims = person()
    provider.login('changes', claims)
    const first = await signOn()
    await setOidc({ roles: { 'site-editors': 'editor', 'site-owners': 'admin' } })
    provider.login('changes', { ...claims, groups: ['site-editors', 'site-owners'] })
    const second = await signOn()
    expect((await me(second.browser.headers)).json.role).toBe('admin')
    await expectEnded(first.browser.headers)
    provider.login('changes', { ...claims, groups: 'none of ours' })
    expect((await signOn()).outcome).toBe('no_role')
    await setOidc({ defaultRole: 'analyst' })
    expect((await me((await signOn()).browser.headers)).json.role).toBe('analyst')
  })

  test('reads a claim inside another, and no property that every object has', async () => {
    await setOidc({ roleClaim: 'access.roles', roles: { mod: 'moderator' } })
    provider.login('nested', person({ access: { roles: ['mod'] } }))
    expect((await me((await signOn()).browser.headers)).json.role).toBe('moderator')
    for (const roles of [['constructor'], '__proto__', { mod: true }, null]) {
      provider.login('nested', person({ access: { roles } }))
      expect((await signOn()).outcome, JSON.stringify(roles)).toBe('no_role')
    }
  })

  test.each<[string, object]>([
    ['no_email', { email_verified: false }],
    ['no_email', { email_verified: undefined }],
    ['no_email', { email: 'no address' }],
    // Lower case makes a k of the Kelvin sign, and so another person's address.
    ['no_email', { email: '\u212Aim@example.com' }],
    ['wrong_domain', { email: 'pat@example.com.evil.example' }],
    ['wrong_domain', { email: 'pat@sub.example.com' }],
    ['no_email', { email: '"pat@example.com"@evil.example' }],
  ])('is refused as %s for %o', async (reason, claims) => {
    provider.login(`refused-${newId()}`, person(claims))
    const { outcome, browser } = await signOn()
    expect(outcome).toBe(reason)
    expect((await me(browser.headers)).status).toBe(401)
  })

  test('binds to the issuer and `sub`: another person with the same address is refused', async () => {
    const claims = person()
    provider.login('first', claims)
    const { browser } = await signOn()
    const { id } = (await me(browser.headers)).json
    provider.login('second', claims)
    expect((await signOn()).outcome).toBe('other_person')
    // The same person with another address is the same member.
    provider.login('first', { ...claims, email: `other-${newId()}@example.com` })
    expect((await me((await signOn()).browser.headers)).json.id).toBe(id)
  })

  test('refuses owners, and members who are disabled', async () => {
    const chief = await addMember(service, tenant, 'owner', `chief-${newId()}@example.com`)
    provider.login('chief', person({ email: chief.email }))
    expect((await signOn()).outcome).toBe('owner')
    const member = await addMember(service, tenant, 'moderator', `m-${newId()}@example.com`)
    await service.call('PATCH', `/admin/members/${member.id}`, { headers: owner, body: { state: 'disabled' } })
    provider.login('disabled', person({ email: member.email }))
    expect((await signOn()).outcome).toBe('disabled')
  })

  test('ends an open invitation of the same address, and the invited are members then', async () => {
    const email = `invited-${newId()}@example.com`
    const invited = await service.call('POST', '/admin/members', { headers: owner, body: { email, role: 'analyst' } })
    provider.login('invited', person({ email }))
    const { browser } = await signOn()
    expect((await me(browser.headers)).json).toMatchObject({ id: invited.json.id, role: 'editor' })
    const token = new URL(invited.json.invitation.url).hash.slice(1)
    const body = { token, name: 'Somebody', password: 'a long password' }
    expect((await service.call('POST', '/admin/auth/accept', { headers: fromElsewhere(), body })).status).toBe(404)
  })

  test('is of its tenant alone: it opens nothing of the account of the same address', async () => {
    const elsewhere = await service.addTenant(`elsewhere-${newId().slice(-8)}`)
    const member = await addMember(service, tenant, 'editor', `both-${newId()}@example.com`)
    const there = bearing(await tokenFor(service, elsewhere.admin))
    const invited = await service.call('POST', '/admin/members', {
      headers: there,
      body: { email: member.email, role: 'admin' },
    })
    const token = new URL(invited.json.invitation.url).hash.slice(1)
    await service.ok('POST', '/admin/auth/accept', { token, password: member.password }, fromElsewhere())
    provider.login('both', person({ email: member.email }))
    const { browser } = await signOn()
    const call = (path: string, body?: object, method = 'POST') =>
      service.call(method, path, { headers: browser.headers, ...(body === undefined ? {} : { body }) })
    const switched = await call('/admin/auth/switch', { tenant: elsewhere.tenant.slug })
    expect([switched.status, switched.json.code]).toEqual([403, 'password_required'])
    const changed = await call('/admin/auth/password', { current: member.password, new: 'another password' })
    expect([changed.status, changed.json.code]).toEqual([403, 'password_required'])
    expect((await call('/admin/auth/totp')).json.code).toBe('password_required')
    expect((await call('/admin/auth/totp', undefined, 'DELETE')).json.code).toBe('password_required')
    // Everywhere is every sign-in of the member here, and none of the account elsewhere.
    const password = bearing(await tokenFor(service, { ...member, tenant: elsewhere.tenant.slug }))
    expect((await call('/admin/auth/logout-everywhere')).status).toBe(204)
    expect((await me(password)).status).toBe(200)
  })

  test('takes the place of a second factor that the tenant requires', async () => {
    await setStaff({ requireTwoFactor: true })
    provider.login('factor', person())
    const { browser } = await signOn()
    expect((await service.call('GET', '/moderation/queue', { headers: browser.headers })).status).toBe(200)
  })

  test('with `only`, passwords are for owners: others who have signed in by one are signed out', async () => {
    const member = await addMember(service, tenant, 'moderator', `only-${newId()}@example.com`)
    const invited = await service.call('POST', '/admin/members', {
      headers: owner,
      body: { email: `i-${newId()}@example.com`, role: 'analyst' },
    })
    provider.login('only', person())
    const { browser } = await signOn()
    await setOidc({ only: true })
    await expectEnded(member.headers)
    expect((await me(browser.headers)).status).toBe(200)
    expect((await me(owner)).status).toBe(200)
    const login = (body: object) => service.call('POST', '/admin/auth/login', { headers: fromElsewhere(), body })
    const refused = await login({ email: member.email, password: member.password })
    expect([refused.status, refused.json.code]).toEqual([403, 'sign_on_required'])
    // Who does not know the password learns nothing.
    expect((await login({ email: member.email, password: 'wrong password' })).json.code).toBe('invalid_admin_token')
    expect((await login({ ...tenant.admin })).status).toBe(200)
    const token = new URL(invited.json.invitation.url).hash.slice(1)
    const accepted = await service.call('POST', '/admin/auth/accept', {
      headers: fromElsewhere(),
      body: { token, name: 'Somebody', password: 'a long password' },
    })
    expect([accepted.status, accepted.json.code]).toEqual([403, 'sign_on_required'])
  })

  test('ends with its provider: another client or none signs out who came by it', async () => {
    provider.login('ends', person())
    const { browser } = await signOn()
    await setOidc(null)
    await expectEnded(browser.headers)
    expect((await signOn()).outcome).toBe('unknown_tenant')
    expect((await me(owner)).status).toBe(200)
  })

  test('is not taken up for a tenant, or with settings, other than it began with', async () => {
    provider.login('moved', person())
    const browser = new Browser()
    const callback = await browser.open(startUrl(), (url) => url.includes('/callback'))
    await setOidc({ issuer: fake.issuer, clientSecret: 'another' })
    expect(outcomeIn(await browser.open(callback))).toBe('expired')
  })

  test('is refused while the tenant is suspended, also where it began before', async () => {
    const { app } = service
    const { id } = tenant.tenant
    provider.login('patient', person())
    const browser = new Browser()
    const half = await browser.open(startUrl(), (next) => next.includes('code='))
    await suspendTenant(app, id, 'unpaid')
    expect(outcomeIn(await browser.open(half))).toBe('tenant_suspended')
    expect((await signOn()).outcome).toBe('tenant_suspended')
    expect([...browser.cookies.keys()].filter((name) => name.endsWith('engagement-console'))).toEqual([])
    await resumeTenant(app, id)
    expect((await signOn()).outcome).toBe('done')
  })

  test('with one code works once', async () => {
    provider.login('replayed', person())
    const browser = new Browser()
    const callback = await browser.open(startUrl(), (url) => url.includes('/callback'))
    const kept = new Map(browser.cookies)
    expect(outcomeIn(await browser.open(callback))).toBe('done')
    expect(outcomeIn(await browser.open(callback))).toBe('expired')
    for (const [name, value] of kept) browser.cookies.set(name, value)
    expect(outcomeIn(await browser.open(callback))).toBe('provider_failed')
  })

  test('without its cookie, with an altered one, or with that of another browser does not end', async () => {
    provider.login('stolen', person())
    const [one, other] = [new Browser(), new Browser()]
    const callback = await one.open(startUrl(), (url) => url.includes('/callback'))
    const name = `${new URL(service.url).host} engagement-sign-on`
    expect(outcomeIn(await new Browser().open(callback))).toBe('expired')
    await other.open(startUrl(), (url) => url.includes('/callback'))
    expect(outcomeIn(await other.open(callback))).toBe('provider_failed')
    const altered = one.cookies.get(name)!
    one.cookies.set(name, `${altered.slice(0, -2)}AA`)
    expect(outcomeIn(await one.open(callback))).toBe('expired')
  })

  test('of many first sign-ons of one person makes one member', async () => {
    provider.login('many', person())
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => signOn()))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'done'))
    const ids = await Promise.all(outcomes.map(async ({ browser }) => (await me(browser.headers)).json.id))
    expect(new Set(ids).size).toBe(1)
  })

  test('counts refusals by address', async () => {
    const browser = new Browser()
    const open = async () => outcomeIn(await browser.open(startUrl('no-such-tenant')))
    for (let n = 0; n < 30; n++) expect(await open()).toBe('unknown_tenant')
    expect(await open()).toBe('rate_limited')
  })
})

describe('an answer of a provider', () => {
  beforeEach(() => setOidc({ issuer: fake.issuer, ...OIDC }))

  const VALID = { sub: 'fake', email: 'fake@example.com', email_verified: true, groups: ['site-editors'] }

  /** Goes to the provider, and comes back with this answer. */
  async function comeBack(change: (answer: URLSearchParams) => void = () => undefined): Promise<string> {
    const browser = new Browser()
    const at = new URL(await browser.open(startUrl(), (url) => url.startsWith(`${fake.issuer}/authorize`)))
    fake.nonce = at.searchParams.get('nonce')!
    const back = new URL(at.searchParams.get('redirect_uri')!)
    const answer = new URLSearchParams({ code: 'code', state: at.searchParams.get('state')!, iss: fake.issuer })
    change(answer)
    back.search = answer.toString()
    return outcomeIn(await browser.open(back.href))
  }

  test('that is right signs in, also for an address of a domain that Entra ID has verified', async () => {
    fake.claims = VALID
    expect(await comeBack()).toBe('done')
    fake.claims = { ...VALID, email_verified: undefined, xms_edov: true }
    expect(await comeBack()).toBe('done')
  })

  test.each<[string, object]>([
    ['a wrong nonce', { nonce: 'another nonce, of another sign-on' }],
    ['another issuer', { iss: 'https://issuer.example' }],
    ['another audience', { aud: 'another client' }],
    ['the past', { iat: 1_000_000, exp: 1_000_060 }],
    ['no subject', { sub: undefined }],
  ])('with a token of %s is refused', async (_name, claims) => {
    fake.claims = { ...VALID, ...claims }
    expect(await comeBack()).toBe('provider_failed')
  })

  test.each<[string, (answer: URLSearchParams) => void]>([
    ['a wrong state', (answer) => answer.set('state', 'x'.repeat(43))],
    ['no state', (answer) => answer.delete('state')],
    ['two states', (answer) => answer.append('state', answer.get('state')!)],
    ['another issuer, which was mixed up', (answer) => answer.set('iss', 'https://issuer.example')],
    ['no issuer', (answer) => answer.delete('iss')],
    ['an error', (answer) => answer.set('error', 'access_denied')],
    ['no code', (answer) => answer.delete('code')],
  ])('with %s is refused', async (_name, change) => {
    fake.claims = VALID
    fake.requests.length = 0
    expect(await comeBack(change)).toBe('provider_failed')
    // The code is taken to no one.
    expect(fake.requests).not.toContain('/token')
  })

  test('signed by a key that it does not publish is refused; a new key of its own counts at once', async () => {
    fake.claims = VALID
    fake.isForger = true
    expect(await comeBack()).toBe('provider_failed')
    fake.isForger = false
    expect(await comeBack()).toBe('done')
    await fake.rotate('two')
    expect(await comeBack()).toBe('done')
    // Under the id of before.
    await fake.rotate('two')
    expect(await comeBack()).toBe('done')
  })

  test.each([
    [500, 'broken'],
    [200, 'no JSON'],
    [200, '{}'],
    [200, `{"access_token":"${'x'.repeat(100_000)}"}`],
    [302, ''],
    [400, '{"error":"invalid_client"}'],
  ])('that is no token (%i) is refused', async (status, body) => {
    fake.tokenAnswer = { status, body }
    expect(await comeBack()).toBe('provider_failed')
  })

  test('that does not come: the person is led back, and can try again', async () => {
    await setOidc({ issuer: 'http://127.0.0.1:9', clientSecret: 'secret' })
    expect(outcomeIn(await new Browser().open(startUrl()))).toBe('provider_failed')
  })
})

describe('the settings of single sign-on', () => {
  const GIVEN = { issuer: 'https://login.example.com', ...OIDC }

  test('do not show the secret; the audit log says only that it was replaced', async () => {
    await setOidc(GIVEN)
    const { clientSecret: secret, ...shown } = GIVEN
    const { json, text } = await service.call('GET', '/settings', { headers: owner })
    expect(json.staff.oidc).toEqual({ ...shown, defaultRole: null, only: false })
    await setOidc({ clientSecret: `${secret} 2` })
    const log = await service.call('GET', '/audit-log?action=settings.update', { headers: owner })
    expect(log.json.data[0].after).toEqual({ staff: { oidc: { clientSecret: 'replaced' } } })
    const rows = await service.app.prisma.oidcSecret.findMany({ where: { tenantId: tenant.tenant.id } })
    expect(rows).toHaveLength(1)
    expect(Buffer.from(rows[0]!.sealed).toString('latin1')).not.toContain(secret)
    expect(`${text}${log.text}`).not.toContain(secret)
  })

  test.each<[object, string]>([
    [{ ...GIVEN, clientSecret: undefined }, '/staff/oidc/clientSecret'],
    [{ ...GIVEN, roles: { all: 'owner' } }, '/staff/oidc/roles/all'],
    [{ ...GIVEN, defaultRole: 'owner' }, '/staff/oidc/defaultRole'],
    [{ ...GIVEN, emailDomains: [] }, '/staff/oidc/emailDomains'],
    [{ ...GIVEN, emailDomains: ['@example.com'] }, '/staff/oidc/emailDomains/0'],
    [{ ...GIVEN, issuer: 'https://10.0.0.1' }, '/staff/oidc/issuer'],
    [{ ...GIVEN, issuer: 'no url' }, '/staff/oidc/issuer'],
    [{ only: true }, '/staff/oidc/issuer'],
  ])('refuse %o at %s', async (oidc, pointer) => {
    const { status, json } = await setStaff({ oidc })
    expect(status).toBe(422)
    expect(json.errors.map((each: { pointer: string }) => each.pointer)).toContain(pointer)
  })

  test('want the secret of another client or issuer, so that none is sent to another provider', async () => {
    await setOidc(GIVEN)
    for (const other of [{ issuer: 'https://evil.example.com' }, { clientId: 'another' }]) {
      expect((await setStaff({ oidc: other })).json.errors).toMatchObject([{ pointer: '/staff/oidc/clientSecret' }])
      await setOidc(GIVEN)
    }
    await setOidc({ roles: { other: 'analyst' } })
    const { json } = await service.call('GET', '/settings', { headers: owner })
    expect(json.staff.oidc.roles).toEqual({ other: 'analyst' })
  })

  test('are changed by an owner alone', async () => {
    const admin = await addMember(service, tenant, 'admin')
    await setOidc(GIVEN)
    for (const headers of [admin.headers, { 'x-api-key': tenant.apiKey }]) {
      for (const oidc of [null, { only: true }, { clientSecret: 'theirs' }]) {
        const { status, json } = await setStaff({ oidc }, headers)
        expect([status, json.code]).toEqual([403, 'admin_only'])
      }
    }
  })

  test('of a member who was promoted to owner without a password: an invitation gives one', async () => {
    await setOidc({ issuer: provider.issuer, ...OIDC })
    const claims = person()
    provider.login('promoted', claims)
    const { browser } = await signOn()
    const { id } = (await me(browser.headers)).json
    await service.call('PATCH', `/admin/members/${id}`, { headers: owner, body: { role: 'owner' } })
    expect((await signOn()).outcome).toBe('owner')
    const again = await service.call('POST', `/admin/members/${id}/invitation`, { headers: owner })
    const token = new URL(again.json.invitation.url).hash.slice(1)
    const body = { token, name: 'Pat', password: 'a long password' }
    expect((await service.call('POST', '/admin/auth/accept', { headers: fromElsewhere(), body })).status).toBe(200)
    expect(
      (await me(bearing(await tokenFor(service, { email: claims.email, password: body.password })))).json.role,
    ).toBe('owner')
  })
})
