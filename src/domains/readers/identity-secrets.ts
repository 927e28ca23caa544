import { type Recorder, recorderFor } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { randomHex, sha256 } from '../../core/secrets/crypto.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import { seal } from '../../core/secrets/seals.ts'
import type { PublicSecret } from '../../core/secrets/secrets.ts'
import type { TxSql } from '../../core/database/database.ts'
import { endSecretOf, replaceSecret } from '../tenants/secrets.ts'
import { identitySecretContext } from './keyring.ts'

interface NewIdentitySecret {
  kid: string
  /** The key of HS256 is the UTF-8 bytes of this whole text. */
  secret: string
}

/**
 * Makes a new identity secret for the tenant; the old one stays valid for 24 h. The secret is shown
 * only here.
 */
export const createIdentitySecret = (ctx: Ctx) =>
  replaceIdentitySecret(ctx.app, requireCaller(ctx).tenant.id, recorderFor(ctx))

/**
 * Makes a new identity secret for any actor of the tenant; `record` writes the audit entry in the
 * same transaction.
 */
export async function replaceIdentitySecret(app: App, tenantId: Id, record?: Recorder) {
  const made = await replaceSecret(
    app,
    tenantId,
    'identity_secret',
    (sql, createdAt) => addIdentitySecret(sql, app, { tenantId, createdAt }),
    record,
  )
  announceChange(app, { kind: 'tenant', tenantId })
  return made
}

/** The name of an identity secret: the first 8 hex digits of its SHA-256. */
export const kidOf = (secret: string): string => sha256(secret).toString('hex').slice(0, 8)

/** Stores `given`, or a generated secret. Needs no caller, so that new tenants can use it. */
export async function addIdentitySecret(
  sql: TxSql,
  app: App,
  { tenantId, createdAt }: { tenantId: Id; createdAt: Date },
  given?: string,
): Promise<NewIdentitySecret> {
  for (;;) {
    const secret = given ?? `ids_${randomHex(32)}`
    const kid = kidOf(secret)
    const sealed = seal(app.settings, secret, identitySecretContext(tenantId, kid))
    const data = { tenantId, kid, sealed, createdAt }
    const { count } = await sql.prisma.identitySecret.createMany({ data, skipDuplicates: true })
    if (count === 1) return { kid, secret }
    // A chance of one in four thousand million: two secrets of the tenant would have one name.
    if (given !== undefined) throw new Error(`the tenant already has an identity secret with the kid ${kid}`)
  }
}

/**
 * Ends an identity secret at once, on every node: assertions that it has signed are refused. One
 * that has ended is unchanged; the last one may be ended too. Throws `not_found`.
 */
export const revokeIdentitySecret = (ctx: Ctx, { kid }: { kid: string }): Promise<PublicSecret> =>
  revokeIdentitySecretOf(ctx.app, requireCaller(ctx).tenant.id, kid, recorderFor(ctx))

/**
 * Revokes an identity secret for any actor of the tenant; `record` writes the audit entry in the
 * same transaction.
 */
export async function revokeIdentitySecretOf(
  app: App,
  tenantId: Id,
  kid: string,
  record: Recorder,
): Promise<PublicSecret> {
  const ended = await endSecretOf(app, tenantId, 'identity_secret', kid, record)
  announceChange(app, { kind: 'tenant', tenantId })
  return ended
}
