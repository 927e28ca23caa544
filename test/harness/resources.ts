import { newId } from '../../src/core/ids.ts'
import { addMember, bearing, codeOf, invitationIn, type TestMember, tokenFor } from './members.ts'
import { addDelivery } from './outbox.ts'
import { type DescribedRoute, sampleOf, type Slot } from './routes.ts'
import type { TestResponse, TestService, TestTenant } from './service.ts'
import { unnamed } from './sql.ts'
import { addUpload } from './uploads.ts'

/** One of each resource. A route with another kind must be added here. */
const RESOURCES = [
  'discussion',
  'otherDiscussion',
  'comment',
  'heldComment',
  'reader',
  'otherReader',
  'mergedReader',
  'mutedReader',
  'apiKey',
  'endpoint',
  'otherEndpoint',
  'disabledEndpoint',
  'trippedEndpoint',
  'delivery',
  'event',
  'signingSecret',
  'identitySecret',
  'classifierSecret',
  'mailSecret',
  'document',
  'site',
  'noticeChannel',
  'note',
  'export',
  'import',
  'importUpload',
  'member',
  'invitedMember',
] as const

type Resource = (typeof RESOURCES)[number]

const RESOURCE_OF: Readonly<Record<string, Resource>> = {
  'discussions/:id': 'discussion',
  'discussions/:discussionId': 'discussion',
  discussionId: 'discussion',
  discussionIds: 'discussion',
  'comments/:id': 'comment',
  'comments/:commentId': 'comment',
  parentId: 'comment',
  'keys/:id': 'apiKey',
  'webhooks/:id': 'endpoint',
  'deliveries/:deliveryId': 'delivery',
  deliveryIds: 'delivery',
  eventId: 'event',
  commentId: 'comment',
  'secrets/:kid': 'signingSecret',
  'identity-secrets/:kid': 'identitySecret',
  'classifier-secrets/:kid': 'classifierSecret',
  'mail-secrets/:kid': 'mailSecret',
  'documents/:documentId': 'document',
  'sites/:id': 'site',
  'notice-channels/:id': 'noticeChannel',
  'notes/:noteId': 'note',
  'exports/:id': 'export',
  'imports/:id': 'import',
  'import-uploads/:id': 'importUpload',
  'members/:id': 'member',
  'readers/:id': 'reader',
  'readers/:readerId': 'reader',
  into: 'reader',
  authorId: 'reader',
  ids: 'comment',
}

/**
 * By route, or route and slot: routes that would spoil a resource for others, or need it in another
 * state.
 */
const RESOURCE_OF_ROUTE: Readonly<Record<string, Resource>> = {
  'POST /discussions/:discussionId/archive': 'otherDiscussion',
  'POST /comments/:commentId/approve': 'heldComment',
  'POST /comments/:commentId/reject': 'heldComment',
  'POST /webhooks/:id/verify': 'otherEndpoint',
  'DELETE /webhooks/:id/secrets/:kid webhooks/:id': 'otherEndpoint',
  'POST /webhooks/:id/probe': 'trippedEndpoint',
  'POST /admin/webhooks/:id/enable': 'disabledEndpoint',
  'POST /readers/:readerId/merge readers/:readerId': 'otherReader',
  'PUT /readers/:readerId/mute': 'mutedReader',
  'DELETE /readers/:readerId/mute': 'mutedReader',
  'GET /readers/:readerId/merge': 'mergedReader',
  'POST /admin/members/:id/invitation': 'invitedMember',
}

/** The author of everything in a furnished tenant. */
export const READER = 'reader'

/** A tenant with one of each resource, and credentials of each kind. */
export interface Side extends TestTenant {
  ids: Record<Resource, string>
  ticket: string
  adminToken: string
  /** An owner whose sign-ins some routes end. */
  self: TestMember
  /** The token of an invitation. */
  invitation: string
  /** The code of the second factor of the last `callerFor`. */
  code?: string
}

export const keyOf = ({ apiKey }: TestTenant): Record<string, string> => ({ 'x-api-key': apiKey })

/** The credentials for a route. Some routes end the sign-in that they are sent with. */
export async function callerFor(service: TestService, side: Side, { access, field, needsToken }: DescribedRoute) {
  if (field.endsWith('Totp')) {
    const { headers } = await addMember(service, side, 'owner')
    if (field === 'confirmTotp') {
      const { json } = await service.call('POST', '/admin/auth/totp', { headers })
      side.code = codeOf(json.secret as string)
    }
    return headers
  }
  if (access === 'member') return bearing(await tokenFor(service, { ...side.self, tenant: side.tenant.slug }))
  return needsToken ? bearing(side.adminToken) : keyOf(side)
}

/** A value for a slot that is no id, of which the route makes something of this tenant. */
export function sampleIn(
  { admin, code, invitation, self, tenant }: Side,
  { field }: DescribedRoute,
  slot: Slot,
): unknown {
  if (field === 'login') return slot.name === 'email' ? admin.email : admin.password
  if (field === 'changePassword') return self.password
  if (field === 'switchTenant') return tenant.slug
  if (field === 'confirmTotp') return code
  if (field === 'inviteMember' && slot.name === 'email') return `${newId()}@example.com`
  return field === 'acceptInvitation' && slot.name === 'token' ? invitation : sampleOf(slot)
}

/** Gives a tenant two of each thing that can be listed, so that each list has a second page. */
export async function furnish(service: TestService, tenant: TestTenant, mark: string): Promise<Side> {
  const send = async (method: string, path: string, body: object, reader = READER): Promise<TestResponse['json']> => {
    const headers = { ...keyOf(tenant), ...(await tenant.as(reader, { name: mark })) }
    return service.ok(method, path, body, headers)
  }
  const post = (path: string, body: object, reader?: string) => send('POST', path, body, reader)
  const otherDiscussion = await post('/discussions', { externalId: 'another-page', title: mark })
  const discussion = await post('/discussions', { externalId: 'shared-page', title: mark })
  const comments = `/discussions/${discussion.id}/comments`
  const comment = await post(comments, { body: mark })
  await post(comments, { body: mark })
  for (const body of [mark, mark]) await post(comments, { body, parentId: comment.id })
  for (const reader of [READER, 'another-reader'])
    await send('PUT', `/comments/${comment.id}/reaction`, { type: 'like' }, reader)
  // Notifications: two of READER, and one of another reader.
  await post(comments, { body: mark, parentId: comment.id }, 'a-sixth-reader')
  const { id: parentId } = await post(comments, { body: mark, parentId: comment.id }, 'a-sixth-reader')
  await post(comments, { body: mark, parentId })
  for (const reader of ['another-reader', 'a-third-reader'])
    await send('POST', `/comments/${comment.id}/report`, { reason: 'spam', note: mark }, reader)
  await send('PATCH', `/comments/${comment.id}`, { body: `${mark}, edited` })
  await send('PATCH', '/settings', { moderationMode: 'pre' })
  const heldComment = await post(comments, { body: mark })
  const ofOther = await post(comments, { body: mark }, 'a-fourth-reader')
  await post(comments, { body: mark })
  const ofAnother = await post(comments, { body: mark }, 'another-reader')
  await send('PATCH', '/settings', { moderationMode: 'none', showEditHistory: true })
  await post('/keys', { label: mark, capabilities: [] })
  const apiKey = await post('/keys', { label: mark, capabilities: [] })
  const postEndpoint = () => post('/webhooks', { url: `https://127.0.0.1:9/${mark}`, description: mark })
  const [otherEndpoint, disabledEndpoint, trippedEndpoint] = [
    await postEndpoint(),
    await postEndpoint(),
    await postEndpoint(),
  ]
  const endpoint = await postEndpoint()
  await service.app.db.query(SET_STATE, [endpoint.id, 'verified'])
  await service.app.db.query(SET_STATE, [disabledEndpoint.id, 'disabled'])
  await service.app.db.query(SET_STATE, [trippedEndpoint.id, 'verified'])
  await service.app.db.query(TRIP, [trippedEndpoint.id])
  // Readers are asserted with the one before.
  const identitySecret = await post('/identity-secrets', {})
  await post('/classifier-secrets', {})
  const classifierSecret = await post('/classifier-secrets', {})
  await post('/mail-secrets', {})
  const mailSecret = await post('/mail-secrets', {})
  await post('/documents', { manifest: { [`a-${mark}`]: `query A { __typename } # ${mark}` } })
  const {
    data: [document],
  } = await post('/documents', { manifest: { [mark]: `{ __typename } # ${mark}` } })
  const postSite = () => post('/sites', { name: mark, origins: ['https://www.example.com'] })
  await postSite()
  const site = await postSite()
  const channel = { kind: 'slack', url: 'https://hooks.example.com/x', on: ['comment_waiting'] }
  await post('/notice-channels', channel)
  const noticeChannel = await post('/notice-channels', { ...channel, url: `https://${mark.toLowerCase()}.example` })
  for (const on of [`readers/${comment.author.id}`, `comments/${comment.id}`]) {
    for (const text of [mark, mark]) await post(`/${on}/notes`, { text })
  }
  // Of a reader whom no route erases.
  const note = await post(`/comments/${ofAnother.id}/notes`, { text: mark })
  await addDelivery(service.app, tenant.tenant.id, endpoint.id)
  const { deliveryId, eventId } = await addDelivery(service.app, tenant.tenant.id, endpoint.id)
  await addExport(service, tenant.tenant.id)
  const exportId = await addExport(service, tenant.tenant.id)
  await addImport(service, tenant.tenant.id, mark)
  const importId = await addImport(service, tenant.tenant.id, mark)
  await addUpload(service, tenant.tenant.id, 'imported', `${mark}.jsonl`)
  const uploadId = await addUpload(service, tenant.tenant.id, 'imported', `${mark}.jsonl`)
  const merged = { headers: { ...keyOf(tenant), ...(await tenant.as('a-fifth-reader', { name: mark })) } }
  const { id: mergedReader } = (await service.call('GET', '/readers/me', merged)).json
  await post(`/readers/${mergedReader}/merge`, { into: comment.author.id })
  const third = { headers: { ...keyOf(tenant), ...(await tenant.as('a-third-reader', { name: mark })) } }
  const mutedReader = (await service.call('GET', '/readers/me', third)).json.id
  for (const id of [ofAnother.author.id, mutedReader]) await send('PUT', `/readers/${id}/mute`, {})
  const { ticket } = await post('/stream/ticket', { discussionId: discussion.id })
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: tenant.admin })
  const member = await addMember(service, tenant, 'editor', `editor@${mark.toLowerCase()}.example`)
  const asOwner = {
    headers: bearing(login.json.token),
    body: { email: `new@${mark.toLowerCase()}.example`, role: 'admin' },
  }
  const invitedMember = (await service.call('POST', '/admin/members', asOwner)).json
  const toInvite = { ...asOwner, body: { email: `invited@${mark.toLowerCase()}.example`, role: 'analyst', name: mark } }
  const invitation = invitationIn((await service.call('POST', '/admin/members', toInvite)).json)
  const ids = {
    member: member.id,
    invitedMember: invitedMember.id,
    discussion: discussion.id,
    otherDiscussion: otherDiscussion.id,
    comment: comment.id,
    heldComment: heldComment.id,
    reader: comment.author.id,
    otherReader: ofOther.author.id,
    mergedReader,
    mutedReader,
    apiKey: apiKey.id,
    endpoint: endpoint.id,
    otherEndpoint: otherEndpoint.id,
    disabledEndpoint: disabledEndpoint.id,
    trippedEndpoint: trippedEndpoint.id,
    delivery: deliveryId,
    event: eventId,
    signingSecret: otherEndpoint.kid,
    identitySecret: identitySecret.kid,
    classifierSecret: classifierSecret.kid,
    mailSecret: mailSecret.kid,
    document: document.documentId,
    site: site.id,
    noticeChannel: noticeChannel.id,
    note: note.id,
    export: exportId,
    import: importId,
    importUpload: uploadId,
  }
  const self = await addMember(service, tenant, 'owner', `self@${mark.toLowerCase()}.example`)
  return { ...tenant, ids, ticket, adminToken: login.json.token, self, invitation }
}

const TRIP = unnamed(`UPDATE webhook_endpoints SET circuit_open_until = now() + interval '1 hour' WHERE id = $1`)
const SET_STATE = unnamed('UPDATE webhook_endpoints SET state = $2::endpoint_state WHERE id = $1')

const ADD_IMPORT = unnamed(
  `INSERT INTO imports (tenant_id, id, source, file_name, refused, started_at)
   VALUES ($1, $2, 'jsonl', $3, '{"total":1,"first":[{"place":"line 1","reason":"is not JSON"}]}', now())`,
)

async function addImport(service: TestService, tenantId: string, mark: string): Promise<string> {
  const id = newId()
  await service.app.db.query(ADD_IMPORT, [tenantId, id, `${mark}.jsonl`])
  return id
}

const ADD_EXPORT = unnamed(
  `INSERT INTO tenant_exports (tenant_id, id, error, expires_at) VALUES ($1, $2, 'it failed', now() + interval '1 day')`,
)

/** One that has ended, so that no worker changes it. */
async function addExport(service: TestService, tenantId: string): Promise<string> {
  const id = newId()
  await service.app.db.query(ADD_EXPORT, [tenantId, id])
  return id
}

/** The resource of a slot's id. Throws for an unknown slot. */
export function resourceOf({ title }: DescribedRoute, { key }: Slot): Resource {
  const resource = RESOURCE_OF_ROUTE[`${title} ${key}`] ?? RESOURCE_OF_ROUTE[title] ?? RESOURCE_OF[key]
  if (resource === undefined) throw new Error(`test/harness/resources.ts does not know where to get an id for ${key}`)
  return resource
}
