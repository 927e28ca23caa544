import { beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { resumeTenant, suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { callsTo } from '../harness/calls.ts'
import { eachOf, everyCredential, outcomeOf as outcome, outcomesOf } from '../harness/every-credential.ts'
import { addMember, bearing, fromElsewhere, NOBODY, type TestMember } from '../harness/members.ts'
import { useMute } from '../harness/mute.ts'
import type { TestResponse, TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

const ORIGIN = 'https://site.example'
const CONSOLE = { 'x-requested-with': 'engagement-console', 'sec-fetch-site': 'same-origin' }

const { receiver, service } = useReceiver({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } })
const mute = useMute(service)
let tenant: TestTenant
let discussionId: string

beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
  await ok('PATCH', '/settings', { allowedOrigins: [ORIGIN] })
  discussionId = (await ok('POST', '/discussions', { externalId: 'page' })).id
})

const key = () => ({ 'x-api-key': tenant.apiKey })
const { call, ok } = callsTo(() => service, key)

const post = async (body: string) =>
  ok('POST', `/discussions/${discussionId}/comments`, { body }, await tenant.as('ada'))

const login = (member: Pick<TestMember, 'email' | 'password'>, more: object = {}, headers: object = {}) =>
  call(
    'POST',
    '/admin/auth/login',
    { email: member.email, password: member.password, ...more },
    {
      ...fromElsewhere(),
      ...headers,
    },
  )

const ask = (headers: Record<string, string>) =>
  service.graphql('{ discussion(by: { externalId: "page" }) { id } }', {}, { ...NOBODY, ...headers })

const codeOf = (answer: TestResponse): unknown => outcome(answer).code

const refused = { status: 403, code: 'tenant_suspended' }

const inUse = () => ({ service, tenant, discussionId, origin: ORIGIN })

test('a suspended tenant is refused by every credential, and a resumed one by none', async () => {
  const kinds = await everyCredential(inUse())
  const works = eachOf(kinds, { status: 200, code: undefined })
  expect(await outcomesOf(kinds)).toEqual(works)
  await suspendTenant(service.app, tenant.tenant.id)
  await vi.waitFor(async () => expect(await outcomesOf(kinds)).toEqual(eachOf(kinds, refused)))
  await resumeTenant(service.app, tenant.tenant.id)
  await vi.waitFor(async () => expect(await outcomesOf(kinds)).toEqual(works))
})

describe('a suspension', () => {
  test('says its reason, which a repetition may change, and stands in the audit log', async () => {
    const { id } = tenant.tenant
    await suspendTenant(service.app, id, 'the bill is unpaid')
    await suspendTenant(service.app, id)
    expect((await call('GET', '/discussions')).json.detail).toBe('The tenant is suspended: the bill is unpaid')
    await suspendTenant(service.app, id, 'spam')
    expect((await call('GET', '/discussions')).json.detail).toBe('The tenant is suspended: spam')
    await resumeTenant(service.app, id)
    await resumeTenant(service.app, id)
    const { data } = await ok('GET', '/audit-log')
    const entries = data.filter(({ targetType }: { targetType: string }) => targetType === 'tenant')
    expect(entries.map((entry: TestResponse['json']) => [entry.action, entry.actor.kind])).toEqual([
      ['tenant.resume', 'system'],
      ['tenant.suspend', 'system'],
      ['tenant.suspend', 'system'],
    ])
    expect(entries[2]).toMatchObject({
      targetId: id,
      before: { suspendedAt: null, suspensionReason: null },
      after: { suspendedAt: expect.any(String), suspensionReason: 'the bill is unpaid' },
    })
  })

  test('leaves a member of two tenants the other one, also with the cookie of this one', async () => {
    const { email } = await addMember(service, tenant, 'moderator')
    const second = await service.addTenant(`t-${newId()}`)
    const third = await service.addTenant(`t-${newId()}`)
    const member = await addMember(service, second, 'moderator', email)
    const [here, there] = [tenant.tenant.slug, second.tenant.slug]
    const cookie = (await login(member, { tenant: here }, CONSOLE)).headers.get('set-cookie')?.split(';')[0] ?? ''
    await suspendTenant(service.app, tenant.tenant.id)
    expect(outcome(await login(member, { tenant: here }))).toEqual(refused)
    expect(outcome(await login({ ...member, password: 'wrong one' }, { tenant: here })).status).toBe(401)
    // No choice is left, so that none is asked for.
    const answer = await login(member, {}, { ...CONSOLE, cookie })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, expect.stringContaining('eyJ')])
    const headers = { ...NOBODY, ...bearing((await login(member)).json.token) }
    expect((await ok('GET', '/admin/me', undefined, headers)).tenants).toEqual([{ slug: there, name: there }])
    expect(outcome(await call('POST', '/admin/auth/switch', { tenant: here }, headers))).toEqual(refused)
    await addMember(service, third, 'moderator', email)
    expect((await login(member)).json.tenants).toHaveLength(2)
  })

  test('keeps an invitation from being accepted, which works after it', async () => {
    const owner = await addMember(service, tenant, 'owner')
    const body = { email: `${newId()}@example.com`, role: 'moderator' }
    const { invitation } = await ok('POST', '/admin/members', body, { ...NOBODY, ...owner.headers })
    const token = new URL(invitation.url).hash.slice(1)
    const accept = () =>
      call('POST', '/admin/auth/accept', { token, name: 'New', password: 'a long password' }, fromElsewhere())
    await suspendTenant(service.app, tenant.tenant.id)
    expect(outcome(await accept())).toEqual(refused)
    await resumeTenant(service.app, tenant.tenant.id)
    expect((await accept()).status).toBe(200)
  })

  test('lets a page read why it is refused', async () => {
    const { token } = await ok('POST', '/client-tokens', {})
    await suspendTenant(service.app, tenant.tenant.id)
    const answer = await ask({ ...bearing(token), origin: ORIGIN })
    expect([codeOf(answer), answer.headers.get('access-control-allow-origin')]).toEqual(['tenant_suspended', ORIGIN])
  })

  test('acknowledges no post that it has not stored, and stores none after its time', async () => {
    const headers = { ...key(), ...(await tenant.as('ada')) }
    let isOver = false
    const outcomes: TestResponse[] = []
    const writers = Array.from({ length: 4 }, async () => {
      while (!isOver) outcomes.push(await call('POST', `/discussions/${discussionId}/comments`, { body: 'x' }, headers))
    })
    await vi.waitFor(() => expect(outcomes.length).toBeGreaterThan(20))
    await suspendTenant(service.app, tenant.tenant.id)
    await vi.waitFor(() => expect(outcomes.at(-1)?.status).toBe(403))
    isOver = true
    await Promise.all(writers)
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([201, 403]))
    await resumeTenant(service.app, tenant.tenant.id)
    const { commentCount } = await ok('GET', `/discussions/${discussionId}`)
    expect(commentCount).toBe(outcomes.filter(({ status }) => status === 201).length)
  })
})

describe('deliveries of a suspended tenant', () => {
  const endpointAt = async (path: string, body: object = {}) => {
    const { id } = await ok('POST', '/webhooks', { url: receiver.url + path, policy: { ordered: true }, ...body })
    await vi.waitFor(async () => expect((await ok('GET', `/webhooks/${id}`)).state).toBe('verified'))
    return id as string
  }
  const states = (id: string) =>
    service.app.db.query<{ status: string; attempts: number }>(
      unnamed('SELECT status::text, attempt_count AS attempts FROM deliveries WHERE endpoint_id = $1 ORDER BY id'),
      [id],
    )

  test('wait, and go out once and in order after it; the one that is being sent ends', async () => {
    const path = `/wait-${newId()}`
    const id = await endpointAt(path)
    const answer = receiver.hold(path, 204)
    const posted = [await post('0'), await post('1'), await post('2'), await post('3')]
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    await suspendTenant(mute.app, tenant.tenant.id)
    answer()
    await vi.waitFor(async () => expect((await states(id))[0]?.status).toBe('delivered'))
    const stranger = `/other-${newId()}`
    const suspended = tenant
    tenant = await service.addTenant(`t-${newId()}`)
    discussionId = (await ok('POST', '/discussions', { externalId: 'page' })).id
    await endpointAt(stranger)
    await post('of another tenant')
    // The worker has looked for due deliveries since.
    await vi.waitFor(() => expect(receiver.deliveries(stranger)).toHaveLength(1))
    expect(receiver.deliveries(path)).toHaveLength(1)
    expect((await states(id)).slice(1)).toEqual([1, 2, 3].map(() => ({ status: 'pending', attempts: 0 })))
    receiver.on(path, null)
    await resumeTenant(mute.app, suspended.tenant.id)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(4))
    await vi.waitFor(async () => expect((await states(id)).every(({ status }) => status === 'delivered')).toBe(true))
    const bodies = receiver.deliveries(path).map(({ body }) => body as { data: { comment: { id: string } } })
    expect(bodies.map(({ data }) => data.comment.id)).toEqual(posted.map((comment) => comment.id))
  })

  test('do not fail in it: a retry that is due waits, and so does a handshake', async () => {
    const path = `/retry-${newId()}`
    const id = await endpointAt(path, { policy: { maxAttempts: 2, backoffBaseMs: 10 } })
    const fail = receiver.hold(path, 503)
    await post('first')
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    await suspendTenant(service.app, tenant.tenant.id)
    fail()
    await vi.waitFor(async () => expect(await states(id)).toEqual([{ status: 'pending', attempts: 1 }]))
    const fresh = `/fresh-${newId()}`
    const due = "state = 'unverified', challenge = 'x', verification_due_at = now()"
    await service.app.db.query(unnamed(`UPDATE webhook_endpoints SET ${due}, url = $2 WHERE id = $1`), [
      id,
      receiver.url + fresh,
    ])
    const suspended = tenant
    tenant = await service.addTenant(`t-${newId()}`)
    discussionId = (await ok('POST', '/discussions', { externalId: 'page' })).id
    const stranger = `/other-${newId()}`
    await endpointAt(stranger)
    await post('of another tenant')
    // The worker has looked for due handshakes and deliveries since.
    await vi.waitFor(() => expect(receiver.deliveries(stranger)).toHaveLength(1))
    expect([receiver.handshakes(fresh), await states(id)]).toEqual([[], [{ status: 'pending', attempts: 1 }]])
    await resumeTenant(service.app, suspended.tenant.id)
    await vi.waitFor(async () => expect(await states(id)).toEqual([{ status: 'delivered', attempts: 2 }]))
    expect(receiver.handshakes(fresh)).toHaveLength(1)
    expect(receiver.deliveries(fresh)).toHaveLength(1)
  })
})
