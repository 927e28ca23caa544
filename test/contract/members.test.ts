import { beforeAll, describe, expect, test, vi } from 'vitest'

import type { Access } from '../../src/core/access.ts'
import { ROLES, type Role } from '../../src/core/capabilities.ts'
import { newId } from '../../src/core/ids.ts'
import { setPassword } from '../../src/domains/staff/operators.ts'
import { ACCESS_EXTENSION } from '../../src/graphql/access.ts'
import { deleteOldSignIns } from '../../src/domains/staff/sign-ins.ts'
import { effort } from '../harness/effort.ts'
import {
  addMember,
  bearing,
  codeOf,
  fromElsewhere,
  invitationIn,
  NOBODY,
  type TestMember,
  tokenFor,
} from '../harness/members.ts'
import { DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { callOf, fieldsOf } from '../harness/root-fields.ts'
import { type TestResponse, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { openStream } from '../harness/stream-client.ts'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } })
let owner: Record<string, string>

beforeAll(async () => {
  owner = bearing(await tokenFor(service, service.admin))
})

const asOwner = (method: string, path: string, body?: object): Promise<TestResponse> =>
  service.call(method, path, { headers: owner, ...(body === undefined ? {} : { body }) })
const newAddress = (): string => `${newId()}@example.com`
const invite = async (body: object = {}): Promise<TestResponse> =>
  asOwner('POST', '/admin/members', { email: newAddress(), role: 'moderator', ...body })
const accept = (body: object): Promise<TestResponse> =>
  service.call('POST', '/admin/auth/accept', { headers: fromElsewhere(), body })
const PASSWORD = 'a password of their own'
const NAME_AND_PASSWORD = { name: 'A name', password: PASSWORD }
const statusOf = async (headers: Record<string, string>): Promise<number> =>
  (await service.call('GET', '/admin/me', { headers })).status

// Written out, to compare the code with.
const MAY: Readonly<Record<Role, readonly string[]>> = {
  owner: ['moderate_content', 'manage_settings', 'manage_api_keys', 'manage_webhooks', 'view_analytics', 'admin'],
  admin: ['moderate_content', 'manage_settings', 'manage_api_keys', 'manage_webhooks', 'view_analytics', 'admin'],
  editor: ['moderate_content', 'manage_settings', 'view_analytics'],
  moderator: ['moderate_content'],
  developer: ['manage_api_keys', 'manage_webhooks', 'view_analytics'],
  analyst: ['view_analytics'],
}
const FOR_ALL: ReadonlySet<Access> = new Set(['public', 'key', 'member', 'reader'])
const refusalOf = (role: Role, access: Access): string | null =>
  FOR_ALL.has(access) || MAY[role].includes(access) ? null : access === 'admin' ? 'admin_only' : 'missing_capability'
/** Each field asks for a capability: with all fields, or none, it needs `manage_settings`. */
const BY_FIELD: ReadonlySet<string> = new Set(['PATCH /discussions/:id', 'updateDiscussion'])
const accessOf = (name: string, access: Access): Access => (BY_FIELD.has(name) ? 'manage_settings' : access)
const isRefusal = (code: unknown): boolean => code === 'admin_only' || code === 'missing_capability'

/** The fields of GraphQL that have a route. */
const ROUTED: ReadonlySet<string> = new Set(DESCRIBED_ROUTES.map(({ field }) => field))

/**
 * On the embedded defaults a moderator asks for every route, and each other role for every third
 * one. On servers each role asks for all of them.
 */
const isShareOf = (role: Role, n: number): boolean =>
  effort(1, 0) > 0 || role === 'moderator' || (Object.keys(ROLES).indexOf(role) + n) % 3 === 0

describe.each(Object.keys(ROLES) as Role[])('the role %s', (role) => {
  let tenant: TestTenant
  let member: TestMember
  let reader: Record<string, string>

  beforeAll(async () => {
    tenant = await service.addTenant(`of-${role}`)
    member = await addMember(service, tenant, role)
    reader = await tenant.as('a reader')
  })

  const again = async (): Promise<Record<string, string>> => bearing(await tokenFor(service, member))
  let mayHaveEnded = false
  const headersFor = async (access: Access): Promise<Record<string, string>> => {
    // Some of those for members end the sign-in, or all of them.
    if (access === 'member') {
      mayHaveEnded = true
      return { ...(await again()), ...reader }
    }
    if (mayHaveEnded) member.headers = await again()
    mayHaveEnded = false
    return { ...member.headers, ...reader }
  }

  test('opens the REST routes of its capabilities, and no others', async () => {
    const wrong: string[] = []
    for (const [n, described] of DESCRIBED_ROUTES.entries()) {
      if (!isShareOf(role, n)) continue
      const { path, body } = requestOf(described, (slot) => (slot.isId ? newId() : sampleOf(slot)))
      const headers = { ...fromElsewhere(), ...(await headersFor(described.access)) }
      const { json } = await service.call(described.route.method, path, { headers, body })
      const code = isRefusal(json?.code) ? (json.code as string) : null
      if (code !== refusalOf(role, accessOf(described.title, described.access)))
        wrong.push(`${described.title}: ${json?.code}`)
    }
    expect(wrong).toEqual([])
  })

  // A route runs the field that it stands for: on the embedded defaults one role asks for these
  // again.
  const isAsked = (field: string): boolean => effort(1, 0) > 0 || role === 'moderator' || !ROUTED.has(field)
  test('opens the fields of GraphQL of its capabilities, and no others', async () => {
    const wrong: string[] = []
    for (const root of ['Query', 'Mutation'] as const) {
      for (const field of fieldsOf(root).filter(({ name }) => isAsked(name))) {
        const access = field.extensions[ACCESS_EXTENSION] as Access
        const headers = { ...fromElsewhere(), ...(await headersFor(access)) }
        const { json } = await service.graphql(`${root.toLowerCase()} { ${callOf(field)} }`, {}, headers)
        const refused = json.errors?.map(({ extensions }: { extensions: { code: string } }) => extensions.code) ?? []
        const code = refused.find(isRefusal) ?? null
        if (code !== refusalOf(role, accessOf(field.name, access))) wrong.push(`${field.name}: ${code}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('is shown by GET /admin/me, with its capabilities', async () => {
    const { json } = await service.call('GET', '/admin/me', { headers: await again() })
    const { id, email } = member
    expect(json).toMatchObject({
      id,
      email,
      name: `The ${role}`,
      role,
      state: 'active',
      tenant: { slug: `of-${role}` },
    })
    expect(json.capabilities.toSorted()).toEqual(MAY[role].filter((each) => each !== 'admin').toSorted())
    expect(json.tenants).toEqual([{ slug: `of-${role}`, name: `of-${role}` }])
  })

  test('grants no capability that it lacks', async () => {
    for (const capability of MAY.owner.filter((each) => each !== 'admin')) {
      const body = { label: 'A key', capabilities: [capability] }
      const { json } = await service.call('POST', '/keys', { headers: await headersFor('manage_api_keys'), body })
      const lacks = MAY[role].includes('manage_api_keys') ? 'capability_escalation' : 'missing_capability'
      expect(json.code, capability).toBe(
        MAY[role].includes('manage_api_keys') && MAY[role].includes(capability) ? undefined : lacks,
      )
    }
  })
})

describe('an invitation', () => {
  test('is a link that is shown once, and lets one person in', async () => {
    const email = newAddress().toUpperCase()
    const invited = await invite({ email, role: 'editor' })
    expect(invited.status).toBe(201)
    expect(invited.json).toMatchObject({ email: email.toLowerCase(), role: 'editor', name: null, state: 'invited' })
    const { url, expiresAt } = invited.json.invitation
    expect(url).toMatch(new RegExp(`^${service.url}/console/invitation#in_[0-9a-f]{64}$`))
    const hours = (Date.parse(expiresAt) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(71.9)
    expect(hours).toBeLessThanOrEqual(72)
    const token = invitationIn(invited.json)
    const rows = await service.app.db.query(unnamed('SELECT row_to_json(m)::text AS row FROM members m'))
    const audit = await service.app.db.query(unnamed('SELECT row_to_json(a)::text AS row FROM audit_log a'))
    expect(JSON.stringify([rows, audit])).not.toContain(token.slice(3))
    const accepted = await accept({ token, ...NAME_AND_PASSWORD })
    expect(accepted.status, accepted.text).toBe(200)
    const me = await service.call('GET', '/admin/me', { headers: bearing(accepted.json.token) })
    expect(me.json).toMatchObject({ id: invited.json.id, name: 'A name', role: 'editor', state: 'active' })
    expect((await accept({ token, ...NAME_AND_PASSWORD })).json).toMatchObject({ status: 404, code: 'not_found' })
    await tokenFor(service, { email, password: PASSWORD })
  })

  test('is accepted once, by however many at once', async () => {
    const token = invitationIn((await invite()).json)
    const answers = await Promise.all(Array.from({ length: 6 }, () => accept({ token, ...NAME_AND_PASSWORD })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('ends with the next one, after 72 h, and with the member', async () => {
    const { json } = await invite()
    const first = invitationIn(json)
    const renewed = await asOwner('POST', `/admin/members/${json.id}/invitation`)
    expect(renewed.status).toBe(201)
    const second = invitationIn(renewed.json)
    expect((await accept({ token: first, ...NAME_AND_PASSWORD })).status).toBe(404)
    const expire = unnamed('UPDATE members SET invitation_expires_at = now() - make_interval(secs => 1) WHERE id = $1')
    await service.app.db.query(expire, [json.id])
    expect((await accept({ token: second, ...NAME_AND_PASSWORD })).status).toBe(404)
    const third = invitationIn((await asOwner('POST', `/admin/members/${json.id}/invitation`)).json)
    expect((await asOwner('PATCH', `/admin/members/${json.id}`, { state: 'disabled' })).json.state).toBe('disabled')
    expect((await accept({ token: third, ...NAME_AND_PASSWORD })).status).toBe(404)
    expect((await asOwner('PATCH', `/admin/members/${json.id}`, { state: 'active' })).json.state).toBe('invited')
    expect((await asOwner('DELETE', `/admin/members/${json.id}`)).status).toBe(204)
    expect((await accept({ token: third, ...NAME_AND_PASSWORD })).status).toBe(404)
  })

  test('of an active member cannot be renewed', async () => {
    const { id } = await addMember(service, service, 'analyst')
    const { json } = await asOwner('POST', `/admin/members/${id}/invitation`)
    expect(json).toMatchObject({ status: 409, code: 'invalid_transition' })
  })

  test.each([
    ['an address that the tenant has', { email: null }, '/email', 'taken'],
    ['what is no address', { email: 'nobody' }, '/email', 'wrong_format'],
    ['a letter that lower case makes another one', { email: '\u212Aim@example.com' }, '/email', 'wrong_format'],
    ['an empty name', { name: ' ' }, '/name', 'too_short'],
    ['a role that there is not', { role: 'god' }, '/role', undefined],
  ])('of %s: 422 validation_failed', async (_what, body, pointer, code) => {
    const { json } = await invite({
      ...body,
      ...('email' in body && { email: body.email ?? service.admin.email.toUpperCase() }),
    })
    const errors = [{ pointer, ...(code === undefined ? {} : { code }) }]
    expect(json).toMatchObject({ status: 422, code: 'validation_failed', errors })
  })

  test.each([
    ['a short password', { name: 'A name', password: 'short' }, '/password'],
    ['no name', { password: PASSWORD }, '/name'],
  ])('is not accepted with %s, and stays', async (_what, body, pointer) => {
    const token = invitationIn((await invite()).json)
    expect((await accept({ token, ...body })).json).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] })
    expect((await accept({ token, ...NAME_AND_PASSWORD })).status).toBe(200)
  })

  test('guesses at tokens are limited', async () => {
    const token = 'in_guess'
    const guesses = await Promise.all(Array.from({ length: 12 }, () => accept({ token, ...NAME_AND_PASSWORD })))
    expect(guesses.filter(({ status }) => status === 404)).toHaveLength(10)
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(2)
  })
})

describe('one address in several tenants', () => {
  let other: TestTenant
  let person: TestMember
  let elsewhere: Record<string, string>

  beforeAll(async () => {
    other = await service.addTenant('several')
    person = await addMember(service, service, 'moderator')
    elsewhere = bearing(await tokenFor(service, other.admin))
  })

  const loginTo = (tenant?: string, password = person.password) =>
    service.call('POST', '/admin/auth/login', {
      headers: fromElsewhere(),
      body: { email: person.email, password, tenant },
    })

  test('an invitation elsewhere takes the present password, and changes nothing of the account', async () => {
    const body = { email: person.email, role: 'admin' }
    const invited = await service.call('POST', '/admin/members', { headers: elsewhere, body })
    const token = invitationIn(invited.json)
    const wrong = await accept({ token, password: 'another password', name: 'Somebody else' })
    expect(wrong.json).toMatchObject({ status: 401, code: 'invalid_admin_token' })
    expect((await accept({ token, password: person.password })).status).toBe(200)
    expect((await loginTo('several', 'another password')).status).toBe(401)
  })

  test('an operator sets the password of an address that somebody else has taken in advance', async () => {
    const email = newAddress()
    const byOther = { email, role: 'analyst' }
    const taken = (await service.call('POST', '/admin/members', { headers: elsewhere, body: byOther })).json
    expect((await accept({ token: invitationIn(taken), ...NAME_AND_PASSWORD })).status).toBe(200)
    const token = invitationIn((await invite({ email })).json)
    const own = await setPassword(service.app, service.tenant.id, email, 'a password of the person')
    expect(own).toEqual({ email, password: 'a password of the person' })
    expect((await accept({ token, password: PASSWORD })).status).toBe(401)
    expect((await accept({ token, password: 'a password of the person' })).status).toBe(200)
  })

  test('a member who is removed while they accept leaves no account behind', async () => {
    for (let n = 0; n < 5; n++) {
      const { json } = await invite()
      const body = { token: invitationIn(json), ...NAME_AND_PASSWORD }
      await Promise.all([accept(body), asOwner('DELETE', `/admin/members/${json.id}`)])
      const left = unnamed(
        `SELECT (SELECT count(*)::int FROM accounts WHERE email = $1) AS accounts,
                (SELECT count(*)::int FROM members WHERE email = $1) AS members`,
      )
      const [row] = await service.app.db.query<{ accounts: number; members: number }>(left, [json.email])
      expect(row?.accounts).toBe(row?.members)
    }
  })

  test('login asks for the tenant, by a right password alone', async () => {
    const { slug } = service.tenant
    const asked = await loginTo()
    expect(asked.json).toMatchObject({ status: 409, code: 'tenant_required' })
    expect(asked.json.tenants).toEqual([slug, 'several'].sort().map((name) => ({ slug: name, name })))
    expect((await loginTo(undefined, 'wrong')).json.tenants).toBeUndefined()
    const inGraphQL = await service.graphql(
      'mutation ($input: LoginInput!) { login(input: $input) { token } }',
      { input: { email: person.email, password: person.password } },
      fromElsewhere(),
    )
    expect(inGraphQL.json.errors).toMatchObject([
      { extensions: { code: 'tenant_required', tenants: asked.json.tenants } },
    ])
    const answer = await loginTo('several')
    const me = await service.call('GET', '/admin/me', { headers: bearing(answer.json.token) })
    expect(me.json).toMatchObject({ role: 'admin', tenant: { slug: 'several' } })
    expect(me.json.tenants).toHaveLength(2)
    expect((await loginTo('nowhere')).status).toBe(401)
  })

  test('a token opens its own tenant alone, and can be switched to the other', async () => {
    const { token } = (await loginTo(service.tenant.slug)).json
    const headers = bearing(token)
    expect((await service.call('GET', '/keys', { headers })).json.code).toBe('missing_capability')
    const switchTo = (tenant: string) => service.call('POST', '/admin/auth/switch', { headers, body: { tenant } })
    const switched = await switchTo('several')
    expect((await service.call('GET', '/keys', { headers: bearing(switched.json.token) })).status).toBe(200)
    expect((await switchTo('nowhere')).json.code).toBe('not_found')
    const never = await service.addTenant('never-joined')
    expect((await switchTo(never.tenant.slug)).json.code).toBe('not_found')
  })

  test('a new password ends the sign-ins of all tenants; leaving one tenant leaves the other', async () => {
    const [here, there] = [
      bearing((await loginTo(service.tenant.slug)).json.token),
      bearing((await loginTo('several')).json.token),
    ]
    const change = { current: person.password, new: 'the next password' }
    const changed = await service.ok('POST', '/admin/auth/password', change, here)
    await vi.waitFor(async () => expect([await statusOf(here), await statusOf(there)]).toEqual([401, 401]))
    expect(await statusOf(bearing(changed.token))).toBe(200)
    expect((await loginTo('several')).status).toBe(401)
    person.password = change.new
    expect((await asOwner('DELETE', `/admin/members/${person.id}`)).status).toBe(204)
    expect((await loginTo()).status).toBe(200)
  })
})

describe('owners', () => {
  let tenant: TestTenant
  let first: Record<string, string>
  let firstId: string

  beforeAll(async () => {
    tenant = await service.addTenant('owners')
    first = bearing(await tokenFor(service, tenant.admin))
    firstId = (await service.call('GET', '/admin/me', { headers: first })).json.id
  })

  test('the last one cannot be ended or made less, by anybody', async () => {
    for (const body of [{ role: 'admin' }, { state: 'disabled' }]) {
      const { json } = await service.call('PATCH', `/admin/members/${firstId}`, { headers: first, body })
      expect(json).toMatchObject({ status: 409, code: 'last_owner' })
    }
    // An invited owner does not count before they accept.
    await service.call('POST', '/admin/members', { headers: first, body: { email: newAddress(), role: 'owner' } })
    const removed = await service.call('DELETE', `/admin/members/${firstId}`, { headers: first })
    expect(removed.json).toMatchObject({ status: 409, code: 'last_owner' })
    expect(await statusOf(first)).toBe(200)
  })

  test('an admin neither makes, changes nor ends an owner', async () => {
    const { headers } = await addMember(service, tenant, 'admin')
    const analyst = await addMember(service, tenant, 'analyst')
    const invited = await service.call('POST', '/admin/members', {
      headers: first,
      body: { email: newAddress(), role: 'owner' },
    })
    for (const [method, path, body] of [
      ['POST', '/admin/members', { email: newAddress(), role: 'owner' }],
      ['PATCH', `/admin/members/${analyst.id}`, { role: 'owner' }],
      ['PATCH', `/admin/members/${firstId}`, { name: 'Nobody' }],
      ['DELETE', `/admin/members/${firstId}`, undefined],
      ['POST', `/admin/members/${invited.json.id}/invitation`, undefined],
    ] as const) {
      const { json } = await service.call(method, path, { headers, body })
      expect(json, `${method} ${path}`).toMatchObject({ status: 403, code: 'admin_only' })
    }
    const { json } = await service.call('PATCH', '/settings', { headers, body: { staff: { signInHours: 1 } } })
    expect(json).toMatchObject({ status: 403, code: 'admin_only' })
  })

  test('a key changes no setting of `staff`, an owner does', async () => {
    const body = { staff: { signInHours: 2 } }
    const byKey = await service.call('PATCH', '/settings', { headers: { 'x-api-key': tenant.apiKey }, body })
    expect(byKey.json).toMatchObject({ status: 403, code: 'admin_only' })
    // What it has read, it may send back.
    const { json: all } = await service.call('GET', '/settings', { headers: { 'x-api-key': tenant.apiKey } })
    await service.ok('PATCH', '/settings', all, { 'x-api-key': tenant.apiKey })
    expect((await service.call('PATCH', '/settings', { headers: first, body })).status).toBe(200)
    const { expiresAt } = await service.ok('POST', '/admin/auth/login', tenant.admin, fromElsewhere())
    const hours = (Date.parse(expiresAt) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(1.9)
    expect(hours).toBeLessThanOrEqual(2)
  })

  test('two who end each other at once leave one', async () => {
    const second = await addMember(service, tenant, 'owner')
    const answers = await Promise.all([
      service.call('DELETE', `/admin/members/${second.id}`, { headers: first }),
      service.call('DELETE', `/admin/members/${firstId}`, { headers: second.headers }),
    ])
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    // The one who is gone may be refused before.
    expect([
      [204, 401],
      [204, 409],
    ]).toContainEqual(statuses)
    const left = unnamed(
      "SELECT count(*)::int AS n FROM members WHERE tenant_id = $1 AND role = 'owner' AND account_id IS NOT NULL",
    )
    expect(await service.app.db.query(left, [tenant.tenant.id])).toEqual([{ n: 1 }])
  })
})

describe('a sign-in', () => {
  const streamOf = async (headers: Record<string, string>) => {
    const id = await service.newDiscussion()
    return openStream(`${service.url}/api/v1/stream/${id}`, headers)
  }

  test.each([
    ['logout', (headers: Record<string, string>) => service.call('POST', '/admin/auth/logout', { headers }), false],
    [
      'logout everywhere',
      (headers: Record<string, string>) => service.call('POST', '/admin/auth/logout-everywhere', { headers }),
      true,
    ],
  ])('%s ends it and its stream', async (_how, end, isEverywhere) => {
    const member = await addMember(service, service, 'moderator')
    const other = bearing(await tokenFor(service, member))
    const stream = await streamOf(member.headers)
    expect(stream.status).toBe(200)
    expect((await end(member.headers)).status).toBe(204)
    await vi.waitFor(async () => {
      expect(await statusOf(member.headers)).toBe(401)
      expect(stream.closed).toBe(true)
    })
    expect(await statusOf(other)).toBe(isEverywhere ? 401 : 200)
  })

  test.each([
    ['role', { role: 'analyst' }],
    ['state', { state: 'disabled' }],
  ])('another %s ends it, and its client tokens; another name does not', async (_what, change) => {
    const { id, headers } = await addMember(service, service, 'moderator')
    expect((await asOwner('PATCH', `/admin/members/${id}`, { name: 'Another name' })).json.name).toBe('Another name')
    expect(await statusOf(headers)).toBe(200)
    await asOwner('PATCH', '/settings', { allowedOrigins: ['https://site.example'] })
    const minted = await service.ok('POST', '/client-tokens', {}, headers)
    const byBrowser = { ...bearing(minted.token), origin: 'https://site.example', ...NOBODY }
    const ask = () => service.graphql('{ publicSettings { maxDepth } }', {}, byBrowser)
    expect((await ask()).json.data).toMatchObject({ publicSettings: { maxDepth: 10 } })
    expect((await asOwner('PATCH', `/admin/members/${id}`, change)).status).toBe(200)
    await vi.waitFor(async () => {
      expect(await statusOf(headers)).toBe(401)
      expect((await ask()).json.errors).toMatchObject([{ extensions: { code: 'invalid_client_token' } }])
    })
  })

  // This process does not know for 4 s: by then it must have brought forth no other one.
  test.each([
    ['POST', '/admin/auth/password', { new: 'the next password' }],
    ['POST', '/admin/auth/switch', { tenant: 'demo' }],
    ['POST', '/admin/auth/totp/confirm', {}],
    ['DELETE', '/admin/auth/totp', undefined],
  ])('that another process has ended is good for nothing at %s %s', async (method, path, given) => {
    const { id, headers, password } = await addMember(service, service, 'moderator')
    const { secret } = (await service.call('POST', '/admin/auth/totp', { headers })).json
    await service.app.db.query(unnamed('DELETE FROM sign_ins WHERE member_id = $1'), [id])
    const own = path.endsWith('password')
      ? { current: password }
      : path.endsWith('confirm')
        ? { code: codeOf(secret) }
        : {}
    const body = given === undefined ? undefined : { ...given, ...own }
    const { json } = await service.call(method, path, { headers, ...(body === undefined ? {} : { body }) })
    expect(json).toMatchObject({ status: 401, code: 'invalid_admin_token' })
  })

  test('with a password that was changed meanwhile does not begin', async () => {
    const { email, password, headers } = await addMember(service, service, 'moderator')
    const body = { current: password, new: 'the next password' }
    const [changed, ...logins] = await Promise.all([
      service.call('POST', '/admin/auth/password', { headers, body }),
      ...Array.from({ length: 4 }, () =>
        service.call('POST', '/admin/auth/login', { headers: fromElsewhere(), body: { email, password } }),
      ),
    ])
    expect(changed.status).toBe(200)
    const tokens = logins.filter(({ status }) => status === 200).map(({ json }) => bearing(json.token))
    for (const each of tokens) await vi.waitFor(async () => expect(await statusOf(each)).toBe(401))
  })

  test('is forgotten an hour after its end, though its member never returns', async () => {
    const { id: memberId } = await addMember(service, service, 'moderator')
    const { prisma } = service.app
    const endedAgo = (minutes: number) =>
      prisma.signIn.updateMany({ where: { memberId }, data: { expiresAt: new Date(Date.now() - minutes * 60_000) } })
    await endedAgo(50)
    await deleteOldSignIns(service.app)
    expect(await prisma.signIn.count({ where: { memberId } })).toBe(1)
    await endedAgo(61)
    await deleteOldSignIns(service.app)
    expect(await prisma.signIn.count({ where: { memberId } })).toBe(0)
  })

  test('a wrong present password changes nothing', async () => {
    const { email, password, headers } = await addMember(service, service, 'moderator')
    const body = { current: 'a guess', new: 'the next password' }
    const refused = await service.call('POST', '/admin/auth/password', { headers, body })
    expect(refused.json).toMatchObject({ status: 401, code: 'invalid_admin_token' })
    expect(await statusOf(headers)).toBe(200)
    await tokenFor(service, { email, password })
  })

  test('shows when its member was last seen', async () => {
    const { id } = await addMember(service, service, 'moderator')
    const { data } = (await asOwner('GET', '/admin/members?limit=100')).json
    const { lastSeenAt } = data.find((each: { id: string }) => each.id === id)
    expect(Date.now() - Date.parse(lastSeenAt)).toBeLessThan(60_000)
  })
})
