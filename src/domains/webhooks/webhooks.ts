import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, newId } from '../../core/ids.ts'
import { requiredRow, rowPerRequest } from '../../core/per-request.ts'
import { newSigningSecret, sealSecret, shownOf } from '../../core/secrets/signing-secrets.ts'
import type { TxSql } from '../../core/database/database.ts'
import { tenantSettings, type WebhookPolicy } from '../../core/settings/tenant.ts'
import { counted } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import type { Prisma, WebhookEndpoint as EndpointRow } from '../../generated/prisma/client.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { challenged, changeEndpoint, lock, newHandshake, recordChange, tellWorkers } from './change.ts'
import { auditForm, endpointWhere, type WebhookEndpoint, withSecrets } from './endpoint.ts'
import { changeHeaders, isOtherOrigin } from './rules/headers.ts'
import { storedPolicy } from './rules/policy.ts'
import { changePolicy, endpointFields } from './input.ts'
import { databaseNow } from './sql.ts'

export interface WebhookInput {
  url?: string | null | undefined
  eventTypes?: string[] | null | undefined
  description?: string | null | undefined
  headers?: { name: string; value?: string | null | undefined }[] | null | undefined
  discussionIds?: string[] | null | undefined
  policy?: { [Name in keyof WebhookPolicy]?: WebhookPolicy[Name] | null | undefined } | null | undefined
}

/**
 * Registers an endpoint, unverified, with a handshake due. The secret is shown only here. Throws
 * `validation_failed`, `endpoint_budget_exhausted`.
 */
export async function createWebhookEndpoint(ctx: Ctx, input: WebhookInput) {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const fields = validate(endpointFields(app.settings).required({ url: true }), input)
  const policy = changePolicy(tenant, {}, fields.policy)
  const { url, eventTypes = ['*'], description = null, discussionIds } = fields
  const id = newId()
  const headers = { create: changeHeaders(app, id, fields.headers ?? [], []).create }
  const signing = newSigningSecret()
  const sealed = sealSecret(app.settings, id, signing)
  const webhookEndpoint = await app.db.transaction(async (sql) => {
    await requireDiscussions(sql, tenant.id, discussionIds)
    const now = await databaseNow(sql)
    const secrets = { create: { kid: signing.kid, sealed, createdAt: now } }
    const made = { id, tenantId: tenant.id, createdAt: now, updatedAt: now, ...newHandshake(now) }
    const created = await sql.prisma.webhookEndpoint.create({
      data: { ...made, url, eventTypes, description, discussionIds: discussionIds ?? [], policy, secrets, headers },
      include: withSecrets(),
    })
    await recordChange(sql, ctx, 'webhook.create', null, created)
    await checkBudget(sql, tenant.id)
    return created
  })
  tellWorkers(app)
  return { webhookEndpoint, ...shownOf(signing) }
}

/** Throws `not_found` unless all of these are discussions of the tenant. */
async function requireDiscussions(sql: TxSql, tenantId: Id, ids: readonly Id[] | null | undefined): Promise<void> {
  const known = new Set(ids)
  if (known.size === 0) return
  const found = await sql.prisma.discussion.count({ where: { tenantId, id: { in: [...known] }, deletedAt: null } })
  if (found < known.size)
    throw new ServiceError('not_found', { detail: 'A discussion of discussionIds does not exist.' })
}

/**
 * Every endpoint costs each write of the tenant a delivery. The tenant's lock serialises
 * registrations; each takes it last, and holds it only for this count and its commit.
 */
async function checkBudget(sql: TxSql, tenantId: Id): Promise<void> {
  const { webhookEndpoints } = tenantSettings((await lockTenant(sql, tenantId)).settings)
  if ((await sql.prisma.webhookEndpoint.count({ where: { tenantId } })) <= webhookEndpoints) return
  throw new ServiceError('endpoint_budget_exhausted', {
    detail: `The budget is ${counted(webhookEndpoints, 'endpoint')}; delete one, or raise the setting webhookEndpoints.`,
  })
}

/** An endpoint by its id, or null. */
export const findWebhookEndpoint = rowPerRequest<WebhookEndpoint>((ctx, where) =>
  ctx.app.prisma.webhookEndpoint.findMany({ where, include: withSecrets() }),
)

/**
 * An endpoint of the tenant. One statement serves all endpoints of a request. Throws `not_found`.
 */
export const getWebhookEndpoint = requiredRow(findWebhookEndpoint)

/** The tenant's endpoints, newest first. */
export const listWebhookEndpoints = (
  ctx: Ctx,
  { where, ...query }: PageQuery & Pick<Prisma.WebhookEndpointFindManyArgs, 'include'>,
): Promise<EndpointRow[]> =>
  ctx.app.prisma.webhookEndpoint.findMany({ ...query, where: { ...where, tenantId: requireCaller(ctx).tenant.id } })

/**
 * Changes the given fields. Another URL resets verification, failures and circuit: deliveries wait
 * until it is verified, then go there. A disabled endpoint stays disabled: only an admin enables
 * it. Throws `not_found`, `validation_failed`.
 */
export async function updateWebhookEndpoint(
  ctx: Ctx,
  { id, ...input }: WebhookInput & { id: Id },
): Promise<WebhookEndpoint> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const fields = validate(endpointFields(app.settings), input)
  const endpoint = await app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    const { url = before.url, eventTypes = before.eventTypes, description = before.description } = fields
    const policy = changePolicy(tenant, storedPolicy(before.policy), fields.policy)
    await requireDiscussions(sql, tenant.id, fields.discussionIds)
    const isElsewhere = isOtherOrigin(before, url)
    const given = fields.headers ?? (isElsewhere ? [] : undefined)
    const headers = given && changeHeaders(app, id, given, isElsewhere ? [] : before.headers)
    return changeEndpoint(sql, ctx, 'webhook.update', before, (now) => ({
      url,
      eventTypes,
      description,
      policy,
      ...(fields.discussionIds !== undefined && { discussionIds: fields.discussionIds ?? [] }),
      ...(headers !== undefined && { headers }),
      updatedAt: now,
      ...(url === before.url ? {} : otherReceiver(before, now)),
    }))
  })
  tellWorkers(app)
  return endpoint
}

/** For another URL: it is not verified yet, and the failures were those of another receiver. */
const otherReceiver = (before: WebhookEndpoint, now: Date) => ({
  ...challenged(before, now),
  ...(before.state === 'disabled' ? {} : { consecutiveFailures: 0 }),
  circuitOpenUntil: null,
  pausedUntil: null,
  lastFailureAt: null,
  lastFailure: null,
  lastVerificationAt: null,
  lastVerificationOk: null,
  lastVerificationError: null,
})

/**
 * Deletes an endpoint: nothing more is sent to it, and a worker clears its deliveries. Returns its
 * last state. Throws `not_found`.
 */
export async function deleteWebhookEndpoint(ctx: Ctx, { id }: { id: Id }): Promise<WebhookEndpoint> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.db.transaction(async (sql) => {
    const before = await lock(sql, tenant, id)
    await sql.prisma.webhookEndpoint.delete({ where: endpointWhere(tenant.id, id) })
    // Its deliveries are left to workers: there may be millions.
    await sql.prisma.deletedEndpoint.create({
      data: { tenantId: tenant.id, endpointId: id, deletedAt: await databaseNow(sql) },
    })
    await recordAudit(sql, ctx, { action: 'webhook.delete', targetId: id, before: auditForm(before, tenant) })
    return before
  })
}
