import { recordAuditOfImport } from '../../core/audit.ts'
import type { Id } from '../../core/ids.ts'
import { validate } from '../../core/input/validate.ts'
import type { TxSql } from '../../core/database/database.ts'
import { isEndedKeyOfOther } from './ended-keys.ts'
import { hasRoom, shown, type Site, storedSite } from './sites.ts'

/**
 * Imports a site from another service, with its public key. `other`: a site has the key already, or
 * a deleted one of another tenant had it; `full`: the tenant has as many as there can be. Throws
 * `validation_failed`.
 */
export async function adoptSite(
  sql: TxSql,
  of: { tenantId: Id; importId: Id },
  given: Omit<Site, 'tenantId' | 'guests'> & Partial<Pick<Site, 'guests'>>,
): Promise<'taken' | 'same' | 'other' | 'full'> {
  const { tenantId } = of
  const { id, createdAt } = given
  const site = { tenantId, id, createdAt, ...validate(storedSite, given) }
  const known = await sql.prisma.site.findFirst({ where: { OR: [{ tenantId, id }, { publicKey: site.publicKey }] } })
  if (known !== null) return known.tenantId === tenantId && known.id === id ? 'same' : 'other'
  if (await isEndedKeyOfOther(sql.prisma, tenantId, site.publicKey)) return 'other'
  if (!(await hasRoom(sql, tenantId))) return 'full'
  await sql.prisma.site.create({ data: site })
  await recordAuditOfImport(sql, of, { action: 'site.create', targetId: id, after: shown(site) })
  return 'taken'
}
