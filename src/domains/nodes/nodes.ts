import { z } from 'zod'

import { type Access, isAllowed, requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { validate } from '../../core/input/validate.ts'
import { findAuditEntry } from '../audit/audit.ts'
import { isSeenByClient } from '../discussions/scope.ts'
import { findComment } from '../comments/comments.ts'
import { findDiscussion } from '../discussions/discussions.ts'
import { findExport } from '../exports/exports.ts'
import { findImportUpload } from '../import-uploads/uploads.ts'
import { findApiKey } from '../api-keys/keys.ts'
import { findReaderInView } from '../readers/in-view.ts'
import { findMemberInView } from '../staff/members.ts'
import { findImport } from '../imports/imports.ts'
import { findNote } from '../notes/notes.ts'
import { findNoticeChannel } from '../notices/notices.ts'
import { findNotification } from '../notifications/notifications.ts'
import { findSite } from '../sites/sites.ts'
import { findDelivery } from '../webhooks/deliveries.ts'
import { findWebhookEndpoint } from '../webhooks/webhooks.ts'
import { findNodeTypes, type StoredType } from './sql.ts'

interface Kind {
  /** What the type's own query requires. */
  access: Access
  /** Finds one for the caller; null where they may not see it. Batched for a request. */
  find: (ctx: Ctx, id: Id) => Promise<object | null>
}

/** A node, and its type in the schema. */
export interface FoundNode {
  type: (typeof NODE_TYPES)[number]
  node: object
}

/** A finder that leaves out what the client token of the request does not name. */
function inScope(find: (ctx: Ctx, id: Id) => Promise<{ id: Id; discussionId?: Id } | null>): Kind['find'] {
  return async (ctx, id) => {
    const found = await find(ctx, id)
    return found !== null && (await isSeenByClient(ctx, found)) ? found : null
  }
}

/** The types of stored nodes, each by the rule of its own query. */
const KINDS: Readonly<Record<StoredType, Kind>> = {
  Comment: { access: 'key', find: inScope(findComment) },
  Discussion: { access: 'key', find: inScope(findDiscussion) },
  Reader: { access: 'key', find: findReaderInView },
  Delivery: { access: 'manage_webhooks', find: findDelivery },
  AuditEntry: { access: 'manage_settings', find: findAuditEntry },
  Note: { access: 'moderate_content', find: findNote },
  Notification: { access: 'reader', find: findNotification },
  ApiKey: { access: 'manage_api_keys', find: findApiKey },
  Site: { access: 'manage_settings', find: findSite },
  NoticeChannel: { access: 'manage_settings', find: findNoticeChannel },
  WebhookEndpoint: { access: 'manage_webhooks', find: findWebhookEndpoint },
  Import: { access: 'admin', find: findImport },
  ImportUpload: { access: 'admin', find: findImportUpload },
  TenantExport: { access: 'admin', find: findExport },
  Member: { access: 'member', find: findMemberInView },
}

/** The tenant of a signed-in member needs no look-up. */
const OWN = ['Tenant'] as const

export const NODE_TYPES = [...(Object.keys(KINDS) as StoredType[]), ...OWN]

/** The most ids of one request for nodes. */
const MAX_NODES = 100

export const idsSchema = z.array(z.string()).min(1).max(MAX_NODES)

/**
 * What has these ids, in their order; null where there is nothing that the caller may see. Throws
 * `validation_failed`.
 */
export async function findNodes(ctx: Ctx, ids: readonly string[]): Promise<(FoundNode | null)[]> {
  const { ids: asked } = validate(z.object({ ids: idsSchema }), { ids })
  return Promise.all(asked.map((id) => findNode(ctx, id)))
}

/**
 * What has this id; null where there is nothing that the caller may see. All ids of a request share
 * one look-up, and one statement for each type that is found.
 */
export async function findNode(ctx: Ctx, id: string): Promise<FoundNode | null> {
  if (!isId(id)) return null
  const own = findOwn(ctx, id)
  if (own !== null) return own
  const type = await loadType(ctx, id)
  return type === null ? null : findOfType(ctx, type, id)
}

/** The object of a type with this id; null where the caller may see none. */
export async function findOfType(ctx: Ctx, type: StoredType, id: string): Promise<FoundNode | null> {
  const node = isId(id) && isAllowed(ctx, KINDS[type].access) ? await KINDS[type].find(ctx, id) : null
  return node === null ? null : { type, node }
}

function findOwn(ctx: Ctx, id: Id): FoundNode | null {
  if (!isAllowed(ctx, 'member')) return null
  const { tenant } = requireCaller(ctx)
  return tenant.id === id ? { type: 'Tenant', node: { id, slug: tenant.slug } } : null
}

const loadType = perRequest<Id, StoredType | null>(async (ctx, ids) => {
  const allowed = (Object.keys(KINDS) as StoredType[]).filter((type) => isAllowed(ctx, KINDS[type].access))
  const found = await findNodeTypes(ctx.app.db.query, requireCaller(ctx).tenant.id, [...new Set(ids)], allowed)
  const types = new Map(found.map(({ id, type }) => [id, type]))
  return ids.map((id) => types.get(id) ?? null)
})
