import { z } from 'zod'

import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import { type Actor, hasCapability, type Tenant } from '../../core/caller.ts'
import { CAPABILITIES, type Capability, isCapability } from '../../core/capabilities.ts'
import type { Ctx } from '../../core/context.ts'
import { newRawKey, sha256, sha256Hex } from '../../core/secrets/crypto.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { rowPerRequest } from '../../core/per-request.ts'
import { roomOf } from '../../core/cache.ts'
import { announceChange, createReadCache, followCacheNews } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import { atMost, counted, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { Uses } from '../../core/uses.ts'
import { isDistinct, wrong } from '../../core/input/schemas.ts'
import type { ApiKey } from '../../generated/prisma/client.ts'
import { admitTenant, lockTenant, recallTenant } from '../tenants/tenants.ts'
import { findKeyByDigest, lockKey, recordUses } from './sql.ts'

const RAW_KEY = /^ek_[0-9a-f]{64}$/

interface KnownKey {
  tenantId: Id
  actor: Extract<Actor, { kind: 'key' }>
  revoked: boolean
}

const keys = perApp((app) => {
  const cache = createReadCache<KnownKey | null>({
    room: roomOf(app, 'keys'),
    read: async (digest) => {
      const row = await findKeyByDigest(app.db.query, Buffer.from(digest, 'hex'))
      if (row === undefined) return null
      const { id, tenantId, capabilities, expiresAt, revokedAt } = row
      const actor = { kind: 'key', id, capabilities: new Set(capabilities.filter(isCapability)), expiresAt } as const
      return { tenantId, actor, revoked: revokedAt !== null }
    },
    // Unknown keys are not kept: made-up ones would evict real ones, and a new key must work at
    // once.
    keep: (key) => key !== null,
  })
  followCacheNews(app, { kind: 'key', forget: ({ digest }) => cache.forget(digest), clear: cache.clear })
  return cache
})

/** When keys were last used. */
export const keyUsesOf = perApp(({ log, db }) => new Uses(log, (uses) => recordUses(db.query, uses)))

/**
 * The tenant and actor of a raw API key. `beforeLookUp` runs before the database is queried for a
 * key that this process has never found, and may refuse. Throws `invalid_api_key`,
 * `revoked_api_key`, `expired_api_key`, `tenant_suspended`.
 */
export async function findCallerByKey(
  app: App,
  rawKey: string,
  beforeLookUp?: () => void,
): Promise<{ tenant: Tenant; actor: Actor }> {
  if (!RAW_KEY.test(rawKey)) throw new ServiceError('invalid_api_key')
  const digest = sha256Hex(rawKey)
  if (keys(app).isNew(digest)) beforeLookUp?.()
  const key = await keys(app).get(digest)
  if (key === null) throw new ServiceError('invalid_api_key')
  if (key.revoked) throw new ServiceError('revoked_api_key')
  const { expiresAt } = key.actor
  if (expiresAt !== null && expiresAt.getTime() <= Date.now()) throw new ServiceError('expired_api_key')
  const tenant = await admitTenant(app, key.tenantId)
  keyUsesOf(app).note(key.tenantId, key.actor.id)
  return { tenant, actor: key.actor }
}

/**
 * The tenant and the actor of a raw key, at once: if this process has cached both and the key is
 * valid; else undefined. Most requests have such a key, and awaiting cached values would cost each
 * of them several promises.
 */
export function recallCallerByKey(app: App, rawKey: string): { tenant: Tenant; actor: Actor } | undefined {
  const key = RAW_KEY.test(rawKey) ? keys(app).peek(sha256Hex(rawKey)) : undefined
  if (key == null || key.revoked) return undefined
  const { expiresAt } = key.actor
  if (expiresAt !== null && expiresAt.getTime() <= Date.now()) return undefined
  const tenant = recallTenant(app, key.tenantId)
  if (tenant === undefined) return undefined
  keyUsesOf(app).note(key.tenantId, key.actor.id)
  return { tenant, actor: key.actor }
}

export const newKeySchema = z.object({
  label: noNul(atMost(100, z.string().min(1))),
  capabilities: z.array(z.enum(CAPABILITIES)).refine(isDistinct, wrong('repeated', 'must not repeat a name')),
  expiresAt: z
    .date()
    .refine((date) => date.getTime() > Date.now(), wrong('not_in_future', 'must be in the future'))
    .nullish(),
})

export interface CreateApiKeyInput {
  label: string
  capabilities: readonly Capability[]
  expiresAt?: Date | null | undefined
}

/**
 * Creates a key. The raw key is returned only here. Throws `capability_escalation`,
 * `key_budget_exhausted`, `validation_failed`.
 */
export async function createApiKey(ctx: Ctx, input: CreateApiKeyInput): Promise<{ apiKey: ApiKey; key: string }> {
  const { tenant, actor } = requireCaller(ctx)
  const { label, capabilities, expiresAt = null } = validate(newKeySchema, input)
  const beyond = capabilities.filter((capability) => !hasCapability(actor, capability))
  if (beyond.length > 0) {
    const who = actor.kind === 'admin' ? `The role ${actor.role}` : 'This key'
    throw new ServiceError('capability_escalation', { detail: `${who} does not hold ${beyond.join(', ')}.` })
  }
  return ctx.app.db.transaction(async (sql) => {
    const minted = await mintKey(sql, tenant.id, { label, capabilities, expiresAt })
    const { apiKey } = minted
    await recordAudit(sql, ctx, { action: 'api_key.create', targetId: apiKey.id, after: shown(apiKey) })
    return minted
  })
}

/** The form of a key in the audit log. */
const shown = ({ tenantId: _tenantId, digest: _digest, ...rest }: ApiKey) => rest

/**
 * Creates a key within the tenant's budget. Returns it with its raw form. Throws
 * `key_budget_exhausted`.
 */
export async function mintKey(sql: TxSql, tenantId: Id, key: NewKey): Promise<{ apiKey: ApiKey; key: string }> {
  await checkBudget(sql, tenantId)
  const rawKey = newRawKey()
  return { apiKey: await addKey(sql, tenantId, rawKey, key), key: rawKey }
}

type NewKey = Pick<ApiKey, 'label' | 'expiresAt'> & { capabilities: readonly Capability[] }

/** The tenant's lock serialises creations, so that two cannot take the last place. */
async function checkBudget(sql: TxSql, tenantId: Id): Promise<void> {
  const { activeKeyBudget } = tenantSettings((await lockTenant(sql, tenantId)).settings)
  const active = await sql.prisma.apiKey.count({
    where: { tenantId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] },
  })
  if (active >= activeKeyBudget) {
    throw new ServiceError('key_budget_exhausted', {
      detail: `The budget is ${counted(activeKeyBudget, 'active key')}; revoke one, or raise the setting activeKeyBudget.`,
    })
  }
}

/** Stores the digest of a raw key; the raw key is never stored. */
export const addKey = (sql: TxSql, tenantId: Id, rawKey: string, key: NewKey): Promise<ApiKey> =>
  sql.prisma.apiKey.create({
    data: {
      ...key,
      tenantId,
      capabilities: [...key.capabilities],
      id: newId(),
      prefix: rawKey.slice(0, 11),
      digest: sha256(rawKey),
    },
  })

/**
 * Revokes a key of the caller's tenant, for good and on every node; a key that is revoked already
 * is unchanged. Throws `not_found`.
 */
export async function revokeApiKey(ctx: Ctx, { id }: { id: string }): Promise<ApiKey> {
  const { tenant } = requireCaller(ctx)
  return revokeKeyOf(ctx.app, tenant.id, id, (sql, before, after) =>
    recordAudit(sql, ctx, { action: 'api_key.revoke', targetId: id, before: shown(before), after: shown(after) }),
  )
}

/**
 * Revokes a key for any actor of the tenant; `record` writes the audit entry in the same
 * transaction.
 */
export async function revokeKeyOf(
  app: App,
  tenantId: Id,
  id: string,
  record?: (sql: TxSql, before: ApiKey, after: ApiKey) => Promise<void>,
): Promise<ApiKey> {
  // 404, not 403: a 403 would reveal that the id exists in another tenant.
  if (!isId(id)) throw new ServiceError('not_found')
  const revoked = await app.db.transaction(async (sql) => {
    await lockKey(sql, tenantId, id)
    const where = { tenantId_id: { tenantId, id } }
    const before = await sql.prisma.apiKey.findUnique({ where })
    if (before === null) throw new ServiceError('not_found')
    if (before.revokedAt !== null) return before
    const after = await sql.prisma.apiKey.update({ where, data: { revokedAt: new Date() } })
    await record?.(sql, before, after)
    return after
  })
  announceChange(app, { kind: 'key', keyId: id, digest: Buffer.from(revoked.digest).toString('hex') })
  return revoked
}

/** One of the tenant's keys, or null. One statement serves all keys of a request. */
export const findApiKey = rowPerRequest<ApiKey>((ctx, where) => ctx.app.prisma.apiKey.findMany({ where }))

/** The tenant's keys, newest first, including revoked and expired ones. */
export const listApiKeys = (ctx: Ctx, { where, ...query }: PageQuery): Promise<ApiKey[]> =>
  ctx.app.prisma.apiKey.findMany({ ...query, where: { ...where, tenantId: requireCaller(ctx).tenant.id } })
