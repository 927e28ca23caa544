import { expect } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { addDelivery } from './outbox.ts'
import type { DescribedRoute, Slot } from './routes.ts'
import type { TestResponse, TestService, TestTenant } from './service.ts'
import { unnamed } from './sql.ts'

/** One of each resource. A route with another kind must be added here. */
const RESOURCES = [
  'discussion',
  'otherDiscussion',
  'comment',
  'heldComment',
  'reader',
  'otherReader',
  'mergedReader',
  'apiKey',
  'endpoint',
  'otherEndpoint',
  'disabledEndpoint',
  'delivery',
  'signingSecret',
  'identitySecret',
  'classifierSecret',
  'document',
  'export',
  'import',
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
  'secrets/:kid': 'signingSecret',
  'identity-secrets/:kid': 'identitySecret',
  'classifier-secrets/:kid': 'classifierSecret',
  'documents/:documentId': 'document',
  'exports/:id': 'export',
  'imports/:id': 'import',
  'readers/:id': 'reader',
  'readers/:readerId': 'reader',
  into: 'reader',
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
  'POST /admin/webhooks/:id/enable': 'disabledEndpoint',
  'POST /readers/:readerId/merge readers/:readerId': 'otherReader',
  'GET /readers/:readerId/merge': 'mergedReader',
}

/** The author of everything in a furnished tenant. */
export const READER = 'reader'

/** A tenant with one of each resource, and credentials of each kind. */
export interface Side extends TestTenant {
  ids: Record<Resource, string>
  ticket: string
  adminToken: string
}

export const keyOf = ({ apiKey }: TestTenant): Record<string, string> => ({ 'x-api-key': apiKey })

/** Gives a tenant two of each thing that can be listed, so that each list has a second page. */
export async function furnish(service: TestService, tenant: TestTenant, mark: string): Promise<Side> {
  const send = async (method: string, path: string, body: object, reader = READER): Promise<TestResponse['json']> => {
    const headers = { ...keyOf(tenant), ...(await tenant.as(reader, { name: mark })) }
    const { status, json, text } = await service.call(method, path, { body, headers })
    expect(status, text).toBeLessThan(300)
    return json
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
  for (const reader of ['another-reader', 'a-third-reader'])
    await send('POST', `/comments/${comment.id}/report`, { reason: 'spam', note: mark }, reader)
  await send('PATCH', `/comments/${comment.id}`, { body: `${mark}, edited` })
  await send('PATCH', '/settings', { moderationMode: 'pre' })
  const heldComment = await post(comments, { body: mark })
  const ofOther = await post(comments, { body: mark }, 'a-fourth-reader')
  for (const reader of [READER, 'another-reader']) await post(comments, { body: mark }, reader)
  await send('PATCH', '/settings', { moderationMode: 'none' })
  await post('/keys', { label: mark, capabilities: [] })
  const apiKey = await post('/keys', { label: mark, capabilities: [] })
  const postEndpoint = () => post('/webhooks', { url: `https://127.0.0.1:9/${mark}`, description: mark })
  const [otherEndpoint, disabledEndpoint, endpoint] = [await postEndpoint(), await postEndpoint(), await postEndpoint()]
  await service.app.db.query(SET_STATE, [endpoint.id, 'verified'])
  await service.app.db.query(SET_STATE, [disabledEndpoint.id, 'disabled'])
  // Readers are asserted with the one before.
  const identitySecret = await post('/identity-secrets', {})
  await post('/classifier-secrets', {})
  const classifierSecret = await post('/classifier-secrets', {})
  await post('/documents', { manifest: { [`a-${mark}`]: `query A { __typename } # ${mark}` } })
  const {
    data: [document],
  } = await post('/documents', { manifest: { [mark]: `{ __typename } # ${mark}` } })
  await addDelivery(service.app, tenant.tenant.id, endpoint.id)
  const { deliveryId } = await addDelivery(service.app, tenant.tenant.id, endpoint.id)
  await addExport(service, tenant.tenant.id)
  const exportId = await addExport(service, tenant.tenant.id)
  await addImport(service, tenant.tenant.id, mark)
  const importId = await addImport(service, tenant.tenant.id, mark)
  const merged = { headers: { ...keyOf(tenant), ...(await tenant.as('a-fifth-reader', { name: mark })) } }
  const { id: mergedReader } = (await service.call('GET', '/readers/me', merged)).json
  await post(`/readers/${mergedReader}/merge`, { into: comment.author.id })
  const { ticket } = await post('/stream/ticket', { discussionId: discussion.id })
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: tenant.admin })
  const ids = {
    discussion: discussion.id,
    otherDiscussion: otherDiscussion.id,
    comment: comment.id,
    heldComment: heldComment.id,
    reader: comment.author.id,
    otherReader: ofOther.author.id,
    mergedReader,
    apiKey: apiKey.id,
    endpoint: endpoint.id,
    otherEndpoint: otherEndpoint.id,
    disabledEndpoint: disabledEndpoint.id,
    delivery: deliveryId,
    signingSecret: otherEndpoint.kid,
    identitySecret: identitySecret.kid,
    classifierSecret: classifierSecret.kid,
    document: document.documentId,
    export: exportId,
    import: importId,
  }
  return { ...tenant, ids, ticket, adminToken: login.json.token }
}

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
