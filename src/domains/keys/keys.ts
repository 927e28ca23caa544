import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import {
  type Actor,
  type App,
  CAPABILITIES,
  type Capability,
  type Ctx,
  hasCapability,
  perApp,
  requireCaller,
  type Tenant,
} from '../../core/context.ts'
import { newRawKey, sha256 } from '../../core/crypto.ts'
import { decodeCursor, encodeCursor, idOf, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { announceChange, createReadCache, followCacheNews } from '../../core/read-cache.ts'
import type { Sql } from '../../core/sql.ts'
import { tenantSettings } from '../../core/tenant-settings.ts'
import { noNul } from '../../core/texts.ts'
import { validate } from '../../core/validate.ts'
import { lockTenant } from '../tenants/sql.ts'
import { loadTenant } from '../tenants/tenants.ts'
import { type ApiKey, countActiveKeys, findKeyByDigest, insertKey, listKeys, lockKey, revokeKey } from './sql.ts'
import { keyUsesOf } from './uses.ts'

const RAW_KEY = /^ek_[0-9a-f]{64}$/

interface KnownKey {
  tenantId: Id
  actor: Extract<Actor, { kind: 'key' }>
  revoked: boolean
}

const keys = perApp((app) => {
  const cache = createReadCache<KnownKey | null>({
    max: 10_000,
    read: async (digest) => {
      const row = await findKeyByDigest(app.db.query, Buffer.from(digest, 'hex'))
      if (row === undefined) return null
      const { id, tenantId, capabilities, expiresAt, revokedAt } = row
      const actor = { kind: 'key', id, capabilities: new Set(capabilities), expiresAt } as const
      return { tenantId, actor, revoked: revokedAt !== null }
    },
    // Made-up keys would push the real ones out, and a key must work as soon as it is made.
    keep: (key) => key !== null,
  })
  followCacheNews(app, { kind: 'key', forget: ({ digest }) => cache.forget(digest), clear: cache.clear })
  return cache
})

/**
 * The tenant and actor of a raw API key (contract, section 3).
 * Throws `invalid_api_key`, `revoked_api_key`, `expired_api_key`.
 */
export async function findCallerByKey(app: App, rawKey: string): Promise<{ tenant: Tenant; actor: Actor }> {
  if (!RAW_KEY.test(rawKey)) throw new ServiceError('invalid_api_key')
  const key = await keys(app).get(sha256(rawKey).toString('hex'))
  if (key === null) throw new ServiceError('invalid_api_key')
  if (key.revoked) throw new ServiceError('revoked_api_key')
  const { expiresAt } = key.actor
  if (expiresAt !== null && expiresAt.getTime() <= Date.now()) throw new ServiceError('expired_api_key')
  keyUsesOf(app).note(key.tenantId, key.actor.id)
  return { tenant: await loadTenant(app, key.tenantId), actor: key.actor }
}

export const newKeySchema = z.object({
  label: noNul(z.string().min(1).max(100)),
  capabilities: z.array(z.enum(CAPABILITIES)).refine((names) => new Set(names).size === names.length, {
    message: 'must not repeat a name',
    params: { code: 'repeated' },
  }),
  expiresAt: z
    .date()
    .refine((date) => date.getTime() > Date.now(), {
      message: 'must be in the future',
      params: { code: 'not_in_future' },
    })
    .nullish(),
})

export interface CreateApiKeyInput {
  label: string
  capabilities: readonly Capability[]
  expiresAt?: Date | null | undefined
}

/**
 * Makes a key. The raw key is in this answer and nowhere else.
 * Throws `capability_escalation`, `key_budget_exhausted`, `validation_failed`.
 */
export async function createApiKey(ctx: Ctx, input: CreateApiKeyInput): Promise<{ apiKey: ApiKey; key: string }> {
  const { tenant, actor } = requireCaller(ctx)
  const { label, capabilities, expiresAt = null } = validate(newKeySchema, input)
  const beyond = capabilities.filter((capability) => !hasCapability(actor, capability))
  if (beyond.length > 0) {
    throw new ServiceError('capability_escalation', { detail: `This key does not hold ${beyond.join(', ')}.` })
  }
  return ctx.app.db.transaction(async (sql) => {
    const minted = await mintKey(sql, tenant.id, { label, capabilities, expiresAt })
    const { apiKey } = minted
    await recordAudit(sql, ctx, { action: 'api_key.create', targetType: 'api_key', targetId: apiKey.id, after: apiKey })
    return minted
  })
}

/** A new key within the tenant's budget, and its raw form. Throws `key_budget_exhausted`. */
export async function mintKey(sql: Sql, tenantId: Id, key: NewKey): Promise<{ apiKey: ApiKey; key: string }> {
  await checkBudget(sql, tenantId)
  const rawKey = newRawKey()
  return { apiKey: await addKey(sql, tenantId, rawKey, key), key: rawKey }
}

type NewKey = Pick<ApiKey, 'label' | 'capabilities' | 'expiresAt'>

/** The tenant's lock makes those who would take the last place wait in line. */
async function checkBudget(sql: Sql, tenantId: Id): Promise<void> {
  const tenant = await lockTenant(sql, tenantId)
  const { activeKeyBudget } = tenantSettings(tenant?.settings)
  if ((await countActiveKeys(sql, tenantId, new Date())) >= activeKeyBudget) {
    throw new ServiceError('key_budget_exhausted', {
      detail: `The budget is ${activeKeyBudget} active keys; revoke one, or raise the setting activeKeyBudget.`,
    })
  }
}

/** Stores the digest of a raw key: the raw key itself is kept nowhere. */
export const addKey = (sql: Sql, tenantId: Id, rawKey: string, key: NewKey): Promise<ApiKey> =>
  insertKey(sql, tenantId, { ...key, id: newId(), prefix: rawKey.slice(0, 11), digest: sha256(rawKey) })

/** Revokes a key of the caller's tenant, for good and on every node; a revoked one stays as it is. Throws `not_found`. */
export async function revokeApiKey(ctx: Ctx, { id }: { id: string }): Promise<ApiKey> {
  const { tenant } = requireCaller(ctx)
  return revokeKeyOf(ctx.app, tenant.id, id, (sql, before, after) =>
    recordAudit(sql, ctx, { action: 'api_key.revoke', targetType: 'api_key', targetId: id, before, after }),
  )
}

/** The same for whoever acts for the tenant; `record` writes down in the same transaction who that was. */
export async function revokeKeyOf(
  app: App,
  tenantId: Id,
  id: string,
  record?: (sql: Sql, before: ApiKey, after: ApiKey) => Promise<void>,
): Promise<ApiKey> {
  // 404, not 403: a 403 would tell that the id exists in another tenant.
  if (!isId(id)) throw new ServiceError('not_found')
  const { digest, revoked } = await app.db.transaction(async (sql) => {
    const found = await lockKey(sql, tenantId, id)
    if (found === undefined) throw new ServiceError('not_found')
    const { digest: itsDigest, ...before } = found
    if (before.revokedAt !== null) return { digest: itsDigest, revoked: before }
    const after = { ...before, revokedAt: new Date() }
    await revokeKey(sql, tenantId, id, after.revokedAt)
    await record?.(sql, before, after)
    return { digest: itsDigest, revoked: after }
  })
  announceChange(app, { kind: 'key', keyId: id, digest: Buffer.from(digest).toString('hex') })
  return revoked
}

/** The tenant's keys, newest first, revoked and expired ones too. */
export async function listApiKeys(ctx: Ctx, args: PageArgs): Promise<Page<ApiKey>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const after = decodeCursor('api-keys', 1, args.after)
  const rows = await listKeys(ctx.app.db.query, tenant.id, after === null ? null : idOf(after[0]), size + 1)
  return pageOf(rows, size, args, ({ id }) => encodeCursor('api-keys', id))
}
