import { recordAudit } from '../../core/audit.ts'
import { type App, type Ctx, requireCaller } from '../../core/context.ts'
import { randomHex, sha256 } from '../../core/crypto.ts'
import { badCursor, decodeCursor, encodeCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import { seal } from '../../core/seals.ts'
import type { TxSql } from '../../core/sql.ts'
import type { IdentitySecret } from '../../generated/prisma/client.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { identitySecretContext } from './keyring.ts'

const OVERLAP_MS = 24 * 3_600_000

/**
 * The public fields of an identity secret. `expiresAt` is null for the current one, which does not
 * expire.
 */
export const PUBLIC_SECRET = { kid: true, createdAt: true, expiresAt: true } as const

export interface NewIdentitySecret {
  kid: string
  /** The key of HS256 is the UTF-8 bytes of this whole text. */
  secret: string
  createdAt: Date
}

/**
 * Makes a new identity secret for the tenant; the old one stays valid for 24 h. The secret is shown
 * only here.
 */
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

/**
 * The same for any actor of the tenant; `record` writes the audit entry in the same transaction.
 */
export async function replaceIdentitySecret(
  app: App,
  tenantId: Id,
  record?: (sql: TxSql, made: NewIdentitySecret) => Promise<void>,
): Promise<NewIdentitySecret> {
  const made = await app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    await sql.prisma.identitySecret.updateMany({
      where: { tenantId, expiresAt: null },
      data: { expiresAt: new Date(Date.now() + OVERLAP_MS) },
    })
    const secret = await addIdentitySecret(sql, app, tenantId)
    await record?.(sql, secret)
    return secret
  })
  announceChange(app, { kind: 'tenant', tenantId })
  return made
}

/** The name of an identity secret: the first 8 hex digits of its SHA-256. */
export const kidOf = (secret: string): string => sha256(secret).toString('hex').slice(0, 8)

/** Stores `given`, or a generated secret. Needs no caller, so that new tenants can use it. */
export async function addIdentitySecret(
  sql: TxSql,
  app: App,
  tenantId: Id,
  given?: string,
): Promise<NewIdentitySecret> {
  for (;;) {
    const secret = given ?? `ids_${randomHex(32)}`
    const kid = kidOf(secret)
    const sealed = seal(app.settings, secret, identitySecretContext(tenantId, kid))
    const createdAt = new Date()
    const data = { tenantId, kid, sealed, createdAt }
    const { count } = await sql.prisma.identitySecret.createMany({ data, skipDuplicates: true })
    if (count === 1) return { kid, secret, createdAt }
    // A chance of one in four thousand million: two secrets of the tenant would have one name.
    if (given !== undefined) throw new Error(`the tenant already has an identity secret with the kid ${kid}`)
  }
}

/** The tenant's identity secrets without the secret texts, newest first. */
export async function listIdentitySecrets(
  ctx: Ctx,
  args: PageArgs,
): Promise<Page<Pick<IdentitySecret, keyof typeof PUBLIC_SECRET>>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const after = readCursor(args.after)
  const older =
    after === null ? {} : { OR: [{ createdAt: { lt: after.createdAt } }, { ...after, kid: { lt: after.kid } }] }
  const rows = await ctx.app.prisma.identitySecret.findMany({
    where: { tenantId: tenant.id, ...older },
    select: PUBLIC_SECRET,
    orderBy: [{ createdAt: 'desc' }, { kid: 'desc' }],
    take: size + 1,
  })
  return pageOf(rows, size, args, ({ createdAt, kid }) => encodeCursor(SORT, createdAt.getTime(), kid))
}

const SORT = 'identity-secrets'

function readCursor(after: string | null | undefined): { createdAt: Date; kid: string } | null {
  const key = decodeCursor(SORT, 2, after)
  if (key === null) return null
  const [time = '', kid = ''] = key
  const createdAt = new Date(Number(time))
  // At most 14 digits: PostgreSQL knows these years too.
  if (!/^\d{1,14}$/.test(time) || !/^[0-9a-f]{8}$/.test(kid)) throw badCursor()
  return { createdAt, kid }
}
