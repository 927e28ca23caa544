import { recordAudit } from '../../core/audit.ts'
import { type App, type Ctx, requireCaller } from '../../core/context.ts'
import { randomHex, seal, sha256, unseal } from '../../core/crypto.ts'
import { badCursor, decodeCursor, encodeCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { Sql } from '../../core/sql.ts'
import { lockTenant } from '../tenants/sql.ts'
import { sealContext } from './keyring.ts'
import { expireSecrets, findNewestSecret, insertSecret, listSecrets } from './sql.ts'

const OVERLAP_MS = 24 * 3_600_000

/** An identity secret as every answer shows it. */
export interface IdentitySecret {
  kid: string
  createdAt: Date
  /** Null: the one in force, for good. */
  expiresAt: Date | null
}

export interface NewIdentitySecret {
  kid: string
  /** HS256's key are the UTF-8 bytes of this whole text. */
  secret: string
  createdAt: Date
}

/** Makes the tenant's new identity secret; the one before stays valid for 24 h. The secret is shown only here. */
export async function createIdentitySecret(ctx: Ctx): Promise<NewIdentitySecret> {
  const { tenant } = requireCaller(ctx)
  return replaceIdentitySecret(ctx.app, tenant.id, (sql, { kid, createdAt }) =>
    recordAudit(sql, ctx, {
      action: 'identity_secret.create',
      targetType: 'identity_secret',
      targetId: kid,
      after: { kid, createdAt },
    }),
  )
}

/** The same for whoever acts for the tenant; `record` writes down in the same transaction who that was. */
export async function replaceIdentitySecret(
  app: App,
  tenantId: Id,
  record?: (sql: Sql, made: NewIdentitySecret) => Promise<void>,
): Promise<NewIdentitySecret> {
  const made = await app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    await expireSecrets(sql, tenantId, new Date(Date.now() + OVERLAP_MS))
    const secret = await addIdentitySecret(sql, app, tenantId)
    await record?.(sql, secret)
    return secret
  })
  announceChange(app, { kind: 'tenant', tenantId })
  return made
}

/** Whether `key` opens the newest secret that is stored; null where there is none. */
export async function opensSecrets(sql: Sql, key: Buffer): Promise<boolean | null> {
  const row = await findNewestSecret(sql)
  if (row === undefined) return null
  try {
    unseal(key, row.sealed, sealContext(row.tenantId, row.kid))
    return true
  } catch {
    return false
  }
}

/** The name of an identity secret: the first 8 hex of its SHA-256 (contract, section 8). */
export const kidOf = (secret: string): string => sha256(secret).toString('hex').slice(0, 8)

/** Stores `given`, or a secret of its own making. For new tenants too, which no caller makes. */
export async function addIdentitySecret(sql: Sql, app: App, tenantId: Id, given?: string): Promise<NewIdentitySecret> {
  for (;;) {
    const secret = given ?? `ids_${randomHex(32)}`
    const kid = kidOf(secret)
    const sealed = seal(app.settings.ENCRYPTION_KEY, secret, sealContext(tenantId, kid))
    const createdAt = await insertSecret(sql, tenantId, kid, sealed)
    if (createdAt !== undefined) return { kid, secret, createdAt }
    // One chance in four thousand million; the tenant would have two secrets of one name.
    if (given !== undefined) throw new Error(`the tenant already has an identity secret with the kid ${kid}`)
  }
}

/** The tenant's identity secrets without the secrets, newest first. */
export async function listIdentitySecrets(ctx: Ctx, args: PageArgs): Promise<Page<IdentitySecret>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const after = readCursor(args.after)
  const rows = await listSecrets(ctx.app.db.query, tenant.id, after, size + 1)
  const secrets = rows.map(({ kid, createdAt, expiresAt }) => ({ kid, createdAt, expiresAt }))
  return pageOf(secrets, size, args, ({ createdAt, kid }) => encodeCursor(SORT, createdAt.getTime(), kid))
}

const SORT = 'identity-secrets'

function readCursor(after: string | null | undefined): { createdAt: Date; kid: string } | null {
  const key = decodeCursor(SORT, 2, after)
  if (key === null) return null
  const [time = '', kid = ''] = key
  const createdAt = new Date(Number(time))
  // At most 14 digits: a year that the database knows too.
  if (!/^\d{1,14}$/.test(time) || !/^[0-9a-f]{8}$/.test(kid)) throw badCursor()
  return { createdAt, kid }
}
