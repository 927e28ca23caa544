import type { App } from '../../../core/app.ts'
import { invalid } from '../../../core/errors.ts'
import type { Id } from '../../../core/ids.ts'
import { seal } from '../../../core/secrets/seals.ts'
import type { TenantSettings } from '../../../core/settings/tenant.ts'
import type { TxSql } from '../../../core/database/database.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { type EndedSignIns, endSignIns } from '../sign-ins.ts'
import { oidcSecretContext } from './provider.ts'

type Staff = TenantSettings['staff']

/** The settings without the secret of the client, which is stored sealed and beside them. */
export function withoutSecret(settings: TenantSettings): {
  settings: TenantSettings
  clientSecret: string | undefined
} {
  const { staff } = settings
  if (staff.oidc?.clientSecret === undefined) return { settings, clientSecret: undefined }
  const { clientSecret, ...oidc } = staff.oidc
  return { settings: { ...settings, staff: { ...staff, oidc } }, clientSecret }
}

/**
 * Follows a change of `staff`: keeps the secret of the client, and ends sign-ins that the new
 * settings would not have begun, but for that of the owner who changes them. Throws
 * `validation_failed` for another client without its secret.
 */
export async function followStaff(
  sql: TxSql,
  { settings }: Pick<App, 'settings'>,
  { tenantId, signInId }: { tenantId: Id; signInId: Id },
  { before, after, clientSecret }: { before: Staff; after: Staff; clientSecret: string | undefined },
): Promise<EndedSignIns[]> {
  const [then, now] = [before.oidc, after.oidc]
  const isOther = then?.issuer !== now?.issuer || then?.clientId !== now?.clientId
  if (now !== null && isOther && clientSecret === undefined)
    throw invalid('/staff/oidc/clientSecret', 'required', 'is required with another issuer or client')
  if (now === null || clientSecret !== undefined) await sql.prisma.oidcSecret.deleteMany({ where: { tenantId } })
  if (now !== null && clientSecret !== undefined) {
    const { clientId } = now
    const sealed = seal(settings, clientSecret, oidcSecretContext(tenantId, clientId))
    await sql.prisma.oidcSecret.create({ data: { tenantId, clientId, sealed } })
  }
  const ends: Prisma.SignInWhereInput[] = []
  if (isOther) ends.push({ bySignOn: true })
  if (now?.only === true && then?.only !== true) ends.push({ bySignOn: false, member: { role: { not: 'owner' } } })
  if (after.requireTwoFactor && !before.requireTwoFactor) {
    const lacksFactor = { account: { secondFactors: { none: { confirmedAt: { not: null } } } } }
    ends.push({ bySignOn: false, member: lacksFactor })
  }
  return ends.length === 0 ? [] : endSignIns(sql, { tenantId, id: { not: signInId }, OR: ends })
}
