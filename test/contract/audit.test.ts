import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import { addMember, bearing, codeOf, type TestMember, tokenFor } from '../harness/members.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf, type Slot } from '../harness/routes.ts'
import { type Headers, type TestResponse, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { addUpload } from '../harness/uploads.ts'

const service = useService()
let admin: Headers
/** Whose sign-ins some routes end. */
let self: TestMember

beforeAll(async () => {
  const login = { headers: { 'x-api-key': '' }, body: service.admin }
  const { json } = await service.call('POST', '/admin/auth/login', login)
  admin = { authorization: `Bearer ${json.token}` }
  self = await addMember(service, service, 'owner')
  await service.call('PATCH', '/settings', { body: { badges: [{ id: 'staff', label: 'Staff' }] } })
})

const { ok } = callsTo(() => service)

const newComment = async (): Promise<{ id: string; author: { id: string } }> =>
  ok('POST', `/discussions/by-external/${newId()}/comments`, { body: 'text' }, await service.as(newId()))
const newDiscussion = async (): Promise<string> => (await ok('POST', '/discussions', { externalId: newId() })).id
const TRIP = unnamed('UPDATE webhook_endpoints SET circuit_open_until = now() WHERE id = $1')
const SET_STATE = unnamed('UPDATE webhook_endpoints SET state = $2::endpoint_state WHERE id = $1')

/** The last one made: a delivery goes there. */
let endpointId = ''

async function newEndpoint(state = 'verified'): Promise<string> {
  endpointId = (await ok('POST', '/webhooks', { url: 'https://127.0.0.1:9/' })).id
  await service.app.db.query(SET_STATE, [endpointId, state])
  return endpointId
}

async function prepared(id: string, path: string): Promise<string> {
  await ok('POST', path.replace(':', id))
  return id
}

async function tripped(id: string): Promise<string> {
  await service.app.db.query(TRIP, [id])
  return id
}

/** Makes the thing for a slot: a new one each time, so that no route sees another's changes. */
const MAKERS: Readonly<Record<string, () => Promise<string>>> = {
  'discussions/:discussionId': newDiscussion,
  'discussions/:id': newDiscussion,
  'comments/:commentId': async () => (await newComment()).id,
  ids: async () => prepared((await newComment()).id, '/comments/:/reject'),
  'keys/:id': async () => (await ok('POST', '/keys', { label: 'to revoke', capabilities: [] })).id,
  'sites/:id': async () => (await ok('POST', '/sites', { name: 'Blog', origins: ['https://a.example'] })).id,
  'notice-channels/:id': async () => (await ok('POST', '/notice-channels', CHANNEL)).id,
  'exports/:id': async () => (await ok('POST', '/exports', undefined, admin)).id,
  'import-uploads/:id': () => addUpload(service, service.tenant.id, 'uploading'),
  'webhooks/:id': () => newEndpoint(),
  // The second slot of its route: that of the endpoint just made.
  'secrets/:kid': async () => (await ok('POST', `/webhooks/${endpointId}/rotate-secret`)).kid,
  'identity-secrets/:kid': async () => (await ok('POST', '/identity-secrets')).kid,
  'classifier-secrets/:kid': async () => (await ok('POST', '/classifier-secrets')).kid,
  'mail-secrets/:kid': async () => (await ok('POST', '/mail-secrets')).kid,
  'documents/:documentId': async () => (await ok('POST', '/documents', newManifest())).data[0].documentId,
  'notes/:noteId': async () => (await ok('POST', `/comments/${(await newComment()).id}/notes`, { text: 'a note' })).id,
  'deliveries/:deliveryId': async () => (await addDelivery(service.app, service.tenant.id, endpointId)).deliveryId,
  'readers/:readerId': async () => (await newComment()).author.id,
  into: async () => (await newComment()).author.id,
  'members/:id': async () => (await addMember(service, service, 'analyst')).id,
  deliveryIds: async () => (await addDelivery(service.app, service.tenant.id, endpointId)).deliveryId,
  discussionIds: () => newDiscussion(),
}

const CHANNEL = { kind: 'slack', url: 'https://hooks.example.com/x', on: ['comment_waiting'] }

const newManifest = () => ({ manifest: { [newId()]: `{ __typename } # ${newId()}` } })

/** For routes that need the thing in a certain state. */
const MAKERS_OF_ROUTES: Readonly<Record<string, () => Promise<string>>> = {
  'POST /discussions/:discussionId/unlock': async () => prepared(await newDiscussion(), '/discussions/:/lock'),
  'POST /comments/:commentId/approve': async () => prepared((await newComment()).id, '/comments/:/reject'),
  'POST /comments/:commentId/unpin': async () => prepared((await newComment()).id, '/comments/:/pin'),
  'POST /admin/webhooks/:id/enable': () => newEndpoint('disabled'),
  'POST /webhooks/:id/probe': async () => tripped(await newEndpoint()),
  'POST /webhooks/:id/resume': async () => prepared(await newEndpoint(), '/webhooks/:/pause'),
  'POST /admin/members/:id/invitation': async () =>
    (await ok('POST', '/admin/members', { email: `${newId()}@example.com`, role: 'analyst' }, admin)).id,
  'POST /import-uploads/:id/run': () => addUpload(service, service.tenant.id, 'rehearsed'),
  'POST /readers/:readerId/unban': async () => prepared((await newComment()).author.id, '/readers/:/ban'),
}

/** What a route must be sent beside what it requires, so that it changes something. */
const BODIES: Readonly<Record<string, () => object>> = {
  'POST /discussions': () => ({ externalId: newId(), title: 'A title' }),
  'PATCH /discussions/:id': () => ({ externalId: newId() }),
  'POST /notice-channels': () => CHANNEL,
  'PATCH /notice-channels/:id': () => ({ on: ['export_ready'] }),
  'PATCH /settings': () => ({ editWindowSeconds: 7 }),
  'POST /backend-check': () => ({ url: 'https://127.0.0.1:9/' }),
  'PUT /readers/:readerId/badges': () => ({ badges: ['staff'] }),
  'PUT /readers/:readerId/trust': () => ({ trust: 'hold' }),
  'POST /documents': () => newManifest(),
  'POST /admin/members': () => ({ email: `${newId()}@example.com` }),
  'POST /admin/auth/totp/confirm': () => ({ code: codeOf(pending) }),
  'PATCH /admin/members/:id': () => ({ name: newId() }),
  'POST /admin/auth/password': () => ({ current: self.password, new: self.password }),
}

let pending = ''

/** Of a member with what the route changes. */
async function ownHeaders({ field }: DescribedRoute): Promise<Headers> {
  if (!field.endsWith('Totp')) return bearing(await tokenFor(service, self))
  const { headers } = await addMember(service, service, 'analyst')
  if (field !== 'beginTotp') pending = (await ok('POST', '/admin/auth/totp', undefined, headers)).secret as string
  return headers
}

/** Routes that write nothing that stays, although they are no GET. A page view mints a token. */
const READS = new Set([
  'POST /client-tokens',
  // A lease, which ends by itself.
  'POST /moderation/claim',
  'DELETE /moderation/claim',
  'POST /discussions/counts',
  // A backend that mails takes some each minute. The notification itself keeps when.
  'POST /notifications/handed-out',
  'POST /moderation/try',
  'POST /settings/word-matches',
  // A sign-in, as a login is.
  'POST /admin/auth/switch',
  'POST /stream/ticket',
])

const WRITES = DESCRIBED_ROUTES.filter(
  ({ route, access, title }) => route.method !== 'GET' && access !== 'public' && !READS.has(title),
)
const named = (routes: readonly DescribedRoute[]) => routes.map((described) => [described.title, described] as const)

async function send(described: DescribedRoute, headers: Headers): Promise<TestResponse> {
  const ids = new Map<Slot, string>()
  for (const slot of described.slots.filter(({ isId, in: at }) => isId && (at === 'path' || slotIsNeeded(described)))) {
    const make = MAKERS_OF_ROUTES[described.title] ?? MAKERS[slot.key]
    if (make === undefined) throw new Error(`this test does not know where to get an id for ${slot.key}`)
    ids.set(slot, await make())
  }
  const filled = { ...described, slots: described.slots.filter((slot) => !slot.isId || ids.has(slot)) }
  const { path, body } = requestOf(filled, (slot) => ids.get(slot) ?? sampleOf(slot))
  const more = BODIES[described.title]?.()
  return service.call(described.route.method, path, { headers, body: more === undefined ? body : { ...body, ...more } })
}

/** Ids in a body may be left out, but for a list of them, and the reader to merge into. */
const slotIsNeeded = ({ slots }: DescribedRoute): boolean =>
  slots.some(({ key, isId, isList }) => isId && (isList || key === 'into'))

const NEWEST = unnamed(
  'SELECT id, action, actor_kind AS "actorKind" FROM audit_log WHERE tenant_id = $1 AND id > $2 ORDER BY id',
)
interface Entry {
  id: string
  action: string
  actorKind: string
}
const since = (id: string) => service.app.db.query<Entry>(NEWEST, [service.tenant.id, id])
const lastId = async (): Promise<string> => (await since('00000000-0000-0000-0000-000000000000')).at(-1)?.id ?? newId()

/** What must be shown once and nowhere again. */
const secrets: string[] = []

describe('every write by a key or an admin is in the audit log', () => {
  test.each(named(WRITES.filter(({ access }) => access !== 'reader')))('%s', async (title, described) => {
    const own = described.access === 'member' ? await ownHeaders(described) : admin
    for (const headers of described.needsToken ? [own] : [{}, admin]) {
      if (title === 'PATCH /settings') await ok('PATCH', '/settings', { editWindowSeconds: 900 })
      const before = await lastId()
      const answer = await send(described, headers)
      expect(answer.status, answer.text).toBeLessThan(300)
      // The last entry, because the route's own preparations have entries too.
      const last = (await since(before)).at(-1)
      expect(last?.actorKind).toBe('authorization' in headers ? 'admin' : 'key')
      expect(verbOf(last?.action)).toBe(EXPECTED[described.field] ?? verbOf(described.field))
      for (const name of ['key', 'secret']) {
        if (typeof answer.json?.[name] === 'string') secrets.push(answer.json[name])
      }
    }
  })

  test("a write on a reader's behalf has no entry", async () => {
    const { id } = await newComment()
    const reader = await service.as('a reader')
    const before = await lastId()
    await ok('POST', `/discussions/by-external/${newId()}/comments`, { body: 'text' }, reader)
    await ok('POST', `/comments/${id}/reactions`, { type: 'like' }, reader)
    await ok('POST', `/comments/${id}/report`, { reason: 'spam' }, reader)
    expect(await since(before)).toEqual([])
  })

  test('no entry contains a secret', async () => {
    expect(secrets.length).toBeGreaterThan(4)
    const text = JSON.stringify(await ok('GET', '/audit-log?limit=100'))
    for (const secret of [...secrets, service.apiKey]) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/(?<!sha256:|pk_)[0-9a-f]{64}/)
  })
})

const verbOf = (name = ''): string =>
  name.includes('.') ? (name.split('.')[1] ?? '') : (/^[a-z]+/.exec(name)?.[0] ?? '')

/** Where the audit log has another word than the mutation. */
const EXPECTED: Readonly<Record<string, string>> = {
  backendCheck: 'check',
  moderateComments: 'approve',
  setReaderBadges: 'set_badges',
  setReaderTrust: 'set_trust',
  rotateWebhookSecret: 'rotate_secret',
  revokeWebhookSecret: 'revoke_secret',
  renewInvitation: 'invite',
  beginTotp: 'begin_totp',
  confirmTotp: 'confirm_totp',
  removeTotp: 'remove_totp',
  changePassword: 'change_password',
  logoutEverywhere: 'logout_everywhere',
}

describe('GET /audit-log', () => {
  let tenant: TestTenant
  let key: Headers
  let mine: Headers
  const log = async (query = ''): Promise<{ action: string; id: string; at: string }[]> =>
    (await ok('GET', `/audit-log${query}`, undefined, key)).data
  const actions = async (query = '') => (await log(query)).map(({ action }) => action)

  beforeAll(async () => {
    tenant = await service.addTenant('audited')
    key = { 'x-api-key': tenant.apiKey }
    const login = { headers: { 'x-api-key': '' }, body: tenant.admin }
    mine = { authorization: `Bearer ${(await service.call('POST', '/admin/auth/login', login)).json.token}` }
    await ok('POST', '/discussions', { externalId: 'page' }, key)
    await ok('POST', '/discussions', { externalId: 'page', title: 'New' }, mine)
    await ok('POST', '/discussions', { externalId: 'page', title: 'New' }, mine)
    await ok('PATCH', '/settings', { maxDepth: 3 }, mine)
  })

  test('lists actors and actions, newest first, with the changes', async () => {
    const { data, ...rest } = await ok('GET', '/audit-log', undefined, key)
    expect(rest).toEqual({ nextCursor: null, hasMore: false })
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/)
    const at = expect.stringMatching(/Z$/)
    const byAdmin = { kind: 'admin', id, label: null, email: tenant.admin.email }
    const byKey = { kind: 'key', id, label: expect.any(String), email: null }
    const page = {
      externalId: 'page',
      title: null,
      url: null,
      moderationMode: null,
      closesAt: null,
      slowModeSeconds: null,
    }
    expect(data).toEqual([
      {
        id,
        at,
        actor: byAdmin,
        action: 'settings.update',
        targetType: 'settings',
        targetId: tenant.tenant.id,
        before: { maxDepth: 10 },
        after: { maxDepth: 3 },
        importId: null,
      },
      {
        id,
        at,
        actor: byAdmin,
        action: 'discussion.update',
        targetType: 'discussion',
        targetId: id,
        before: page,
        after: { ...page, title: 'New' },
        importId: null,
      },
      {
        id,
        at,
        actor: byKey,
        action: 'discussion.create',
        targetType: 'discussion',
        targetId: id,
        before: null,
        after: page,
        importId: null,
      },
    ])
  })

  test('pages without a gap', async () => {
    const first = await ok('GET', '/audit-log?limit=2', undefined, key)
    const second = await ok('GET', `/audit-log?limit=2&cursor=${first.nextCursor}`, undefined, key)
    expect([...first.data, ...second.data]).toEqual(await log())
    expect([first.hasMore, second.hasMore]).toEqual([true, false])
  })

  test('filters by one action, one kind of actor, one actor', async () => {
    expect(await actions('?action=discussion.create')).toEqual(['discussion.create'])
    expect(await actions('?action=nothing.like.it')).toEqual([])
    expect(await actions('?actor=key')).toEqual(['discussion.create'])
    expect(await actions('?actor=system')).toEqual([])
    const { id } = await ok('GET', '/admin/me', undefined, mine)
    expect(await actions(`?actor=${id}`)).toEqual(['settings.update', 'discussion.update'])
    expect(await actions(`?actor=${id}&action=discussion.update`)).toEqual(['discussion.update'])
    expect(await actions(`?actor=${newId()}`)).toEqual([])
  })

  test('filters by span: from its first instant to before its last', async () => {
    const [newest, , oldest] = await log()
    expect(await actions(`?from=${newest?.at}`)).toContain('settings.update')
    expect(await actions(`?to=${newest?.at}`)).not.toContain('settings.update')
    expect(await actions(`?from=${oldest?.at}`)).toHaveLength(3)
    expect(await actions(`?to=${oldest?.at}`)).toEqual([])
    expect(await actions('?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00%2B01:00')).toEqual([])
  })

  test.each([
    ['actor=nobody', '/actor', 'not_allowed'],
    ['action=%00', '/action', 'invalid_character'],
  ])('%s answers 422 validation_failed', async (query, pointer, code) => {
    const { json } = await service.call('GET', `/audit-log?${query}`, { headers: key })
    expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer, code }] })
  })
})
