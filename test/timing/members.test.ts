import { beforeAll, expect, test } from 'vitest'

import { addMember, bearing, fromElsewhere, NOBODY, type TestMember, tokenFor } from '../harness/members.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { holdsWithin } from '../harness/standstill.ts'
import { openStream } from '../harness/stream-client.ts'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } })
let owner: Record<string, string>

beforeAll(async () => {
  owner = bearing(await tokenFor(service, service.admin))
  const body = { allowedOrigins: ['https://site.example'] }
  await service.call('PATCH', '/settings', { headers: owner, body })
})

const statusOf = async (headers: Record<string, string>): Promise<number> =>
  (await service.call('GET', '/admin/me', { headers })).status

const ended = (headers: Record<string, string>) => async (): Promise<void> => expect(await statusOf(headers)).toBe(401)

type End = (member: TestMember) => Promise<TestResponse>
const byMember =
  (path: string, bodyOf?: (member: TestMember) => object): End =>
  (member) =>
    service.call('POST', path, { headers: member.headers, ...(bodyOf && { body: bodyOf(member) }) })
const byOwner =
  (body: object): End =>
  ({ id }) =>
    service.call('PATCH', `/admin/members/${id}`, { headers: owner, body })

test.each<[string, End]>([
  ['logout', byMember('/admin/auth/logout')],
  ['logout everywhere', byMember('/admin/auth/logout-everywhere')],
  ['another role', byOwner({ role: 'analyst' })],
  ['another state', byOwner({ state: 'disabled' })],
  ['its removal', ({ id }) => service.call('DELETE', `/admin/members/${id}`, { headers: owner })],
  [
    'a new password',
    byMember('/admin/auth/password', ({ password: current }) => ({ current, new: 'the next one of them' })),
  ],
])('%s ends a sign-in, its stream and its client tokens within 1 s', async (_how, end) => {
  const member = await addMember(service, service, 'moderator')
  const { headers } = member
  const id = await service.newDiscussion()
  const stream = await openStream(`${service.url}/api/v1/stream/${id}`, headers)
  expect(stream.status).toBe(200)
  const minted = await service.ok('POST', '/client-tokens', {}, headers)
  const byBrowser = { ...bearing(minted.token), origin: 'https://site.example', ...NOBODY }
  const ask = () => service.graphql('{ publicSettings { maxDepth } }', {}, byBrowser)
  expect((await ask()).json.data).toMatchObject({ publicSettings: { maxDepth: 10 } })
  expect((await end(member)).status).toBeLessThan(300)
  await holdsWithin(1000, async () => {
    await ended(headers)()
    expect(stream.closed).toBe(true)
    expect((await ask()).json.errors).toMatchObject([{ extensions: { code: 'invalid_client_token' } }])
  })
})

test('a new password ends the sign-ins of all tenants within 1 s', async () => {
  const other = await service.addTenant('several')
  const { email, password } = await addMember(service, service, 'moderator')
  await addMember(service, other, 'admin', email)
  const [here, there] = [
    bearing(await tokenFor(service, { email, password, tenant: service.tenant.slug })),
    bearing(await tokenFor(service, { email, password, tenant: 'several' })),
  ]
  const body = { current: password, new: 'the next password' }
  expect((await service.call('POST', '/admin/auth/password', { headers: here, body })).status).toBe(200)
  await holdsWithin(1000, async () => expect([await statusOf(here), await statusOf(there)]).toEqual([401, 401]))
})

test('a sign-in that began with a password that was changed meanwhile ends within 1 s', async () => {
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
  for (const each of tokens) await holdsWithin(1000, ended(each))
})

test('without the bus, a sign-in ends within 5 s', async () => {
  const { id, headers } = await addMember(service, service, 'moderator')
  expect(await statusOf(headers)).toBe(200)
  await service.app.db.query(unnamed('DELETE FROM sign_ins WHERE member_id = $1'), [id])
  await holdsWithin(5000, ended(headers))
})
