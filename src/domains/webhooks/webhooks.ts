import { recordAudit } from '../../core/audit.ts'
import { type Ctx, requireCaller } from '../../core/context.ts'
import { decodeCursor, encodeCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import type { WebhookPolicy } from '../../core/tenant-settings.ts'
import { validate } from '../../core/validate.ts'
import { audited, lock, newChallenge, TARGET, tellWorkers } from './change.ts'
import { auditForm, endpointOf, type WebhookEndpoint } from './endpoint.ts'
import { endpointFields, mergePolicy, requirePolicy } from './input.ts'
import { newSigningSecret, sealSecret } from './secrets.ts'
import * as rows from './sql.ts'

export interface WebhookInput {
  url?: string | null | undefined
  eventTypes?: string[] | null | undefined
  description?: string | null | undefined
  policy?: Partial<Record<keyof WebhookPolicy, number | null | undefined>> | null | undefined
}

/** Registers an endpoint: unverified, its handshake due. The secret is shown only here. Throws `validation_failed`. */
export async function createWebhookEndpoint(ctx: Ctx, input: WebhookInput) {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const fields = validate(endpointFields(app.settings).required({ url: true }), input)
  const policy = requirePolicy(tenant, mergePolicy({}, fields.policy))
  const { url, eventTypes = ['*'], description = null } = fields
  const id = newId()
  const signing = newSigningSecret()
  const row = await app.db.transaction(async (sql) => {
    await rows.insertEndpoint(sql, tenant.id, { id, url, eventTypes, description, policy, challenge: newChallenge() })
    await rows.insertSecret(sql, tenant.id, id, signing.kid, sealSecret(app.settings.ENCRYPTION_KEY, id, signing))
    return audited(sql, ctx, 'webhook.create', id, null)
  })
  tellWorkers(app)
  return { webhookEndpoint: endpointOf(row, tenant), secret: signing.secret, kid: signing.kid }
}

/** An endpoint of the tenant. Throws `not_found`. */
export async function getWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const row = isId(id) ? await rows.findEndpoint(ctx.app.db.query, tenant.id, id) : undefined
  if (row === undefined) throw new ServiceError('not_found')
  return endpointOf(row, tenant)
}

/** The tenant's endpoints, newest first. */
export async function listWebhookEndpoints(ctx: Ctx, args: PageArgs): Promise<Page<WebhookEndpoint>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const found = await rows.listEndpoints(ctx.app.db.query, tenant.id, idOfCursor('webhooks', args), size + 1)
  const endpoints = found.map((row) => endpointOf(row, tenant))
  return pageOf(endpoints, size, args, ({ id }) => encodeCursor('webhooks', id))
}

/**
 * Changes the given fields. Another URL resets verification, failures and circuit: waiting deliveries wait until it is
 * verified, then go there. A disabled endpoint stays disabled: only an admin enables it. Throws `not_found`,
 * `validation_failed`.
 */
export async function updateWebhookEndpoint(
  ctx: Ctx,
  { id, ...input }: WebhookInput & { id: Id },
): Promise<WebhookEndpoint> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const fields = validate(endpointFields(app.settings), input)
  const row = await app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    const { url = before.url, eventTypes = before.eventTypes, description = before.description } = fields
    const policy = requirePolicy(tenant, mergePolicy(before.policy, fields.policy))
    await rows.updateEndpoint(sql, tenant.id, { id, url, eventTypes, description, policy })
    if (url !== before.url) {
      await rows.forgetReceiver(sql, tenant.id, id)
      await rows.challengeEndpoint(sql, tenant.id, id, newChallenge())
    }
    return audited(sql, ctx, 'webhook.update', id, before)
  })
  tellWorkers(app)
  return endpointOf(row, tenant)
}

/** Deletes an endpoint and cancels its deliveries. Returns it as it was. Throws `not_found`. */
export async function deleteWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  const row = await ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    await rows.deleteEndpoint(sql, tenant.id, id)
    await recordAudit(sql, ctx, {
      ...TARGET,
      action: 'webhook.delete',
      targetId: id,
      before: auditForm(before, tenant),
    })
    return before
  })
  return endpointOf(row, tenant)
}

/** The last row of a page before, by its cursor. */
export const idOfCursor = (list: string, { after }: PageArgs): Id | null => {
  const [id] = decodeCursor(list, 1, after) ?? []
  // A cursor that somebody made up may hold anything.
  return id === undefined ? null : isId(id) ? id : NO_ID
}

const NO_ID = '00000000-0000-0000-0000-000000000000'
