import type { Recorder } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import type { Page, PageArgs } from '../../core/input/page.ts'
import type { Id } from '../../core/ids.ts'
import {
  endSecret,
  NEWEST_FIRST,
  pageOfSecrets,
  type PublicSecret,
  requireKid,
  retireCurrent,
  type SecretList,
  type SecretTable,
} from '../../core/secrets/secrets.ts'
import type { Prisma, TxSql } from '../../core/database/database.ts'
import { lockTenant } from './tenants.ts'

interface Owner {
  tenantId: Id
}

interface Key {
  tenantId_kid: Owner & { kid: string }
}

export type SecretKind = 'identity_secret' | 'classifier_secret' | 'mail_secret'

interface Kind {
  /** The name in cursors. */
  list: string
  table(prisma: Prisma): SecretTable<Owner, Key> & SecretList<Owner>
}

/** The secrets of a tenant: each kind has a current one, which replaces the one before. */
const KINDS: Readonly<Record<SecretKind, Kind>> = {
  identity_secret: { list: 'identity-secrets', table: (prisma) => prisma.identitySecret },
  classifier_secret: { list: 'classifier-secrets', table: (prisma) => prisma.classifierSecret },
  mail_secret: { list: 'mail-secrets', table: (prisma) => prisma.mailSecret },
}

/** The tenant's secrets of a kind, newest first. */
export async function listSecrets(ctx: Ctx, kind: SecretKind, args: PageArgs): Promise<Page<PublicSecret>> {
  const { tenant } = requireCaller(ctx)
  const { list, table } = KINDS[kind]
  return pageOfSecrets(list, args, ({ where, ...query }) =>
    table(ctx.app.prisma).findMany({ ...query, where: { tenantId: tenant.id, ...where } }),
  )
}

/** All of a tenant's secrets of a kind, newest first. For operators. */
export const allSecrets = ({ prisma }: App, tenantId: Id, kind: SecretKind): Promise<PublicSecret[]> =>
  KINDS[kind].table(prisma).findMany({ where: { tenantId }, ...NEWEST_FIRST })

/**
 * Stores a secret with `make`; the one before stays valid beside it for 24 h. `record` writes the
 * audit entry in the same transaction.
 */
export const replaceSecret = <Made extends { kid: string }>(
  app: App,
  tenantId: Id,
  kind: SecretKind,
  make: (sql: TxSql, createdAt: Date) => Promise<Made>,
  record?: Recorder,
): Promise<Made & { createdAt: Date }> =>
  app.db.transaction(async (sql) => {
    // Two concurrent calls would leave two secrets for good.
    await lockTenant(sql, tenantId)
    const createdAt = new Date()
    await retireCurrent(KINDS[kind].table(sql.prisma), { tenantId }, createdAt)
    const made = await make(sql, createdAt)
    const { kid } = made
    await record?.(sql, { action: `${kind}.create`, targetId: kid, after: { kid, createdAt } })
    return { ...made, createdAt }
  })

/**
 * Ends a secret at once; one that has ended is unchanged. `record` writes the audit entry in the
 * same transaction. Throws `not_found`.
 */
export async function endSecretOf(
  app: App,
  tenantId: Id,
  kind: SecretKind,
  kid: string,
  record: Recorder,
): Promise<PublicSecret> {
  requireKid(kid)
  return app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    const { before, after } = await endSecret(KINDS[kind].table(sql.prisma), { tenantId_kid: { tenantId, kid } })
    if (after !== before) await record(sql, { action: `${kind}.revoke`, targetId: kid, before, after })
    return after
  })
}
