import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { ReaderGone } from './gone.ts'

/** A ban that is in force. Of one in shadow its reader must not learn. */
export type BanKind = 'open' | 'shadow'

/** SQL: the kind of the ban of a row of `readers` that is in force at `now`; null where none is. */
export const banIn = (reader: string, now: string): string =>
  `CASE WHEN ${reader}.banned_at IS NOT NULL AND coalesce(${reader}.banned_until > ${now}, true)
     THEN CASE WHEN ${reader}.shadow_banned THEN 'shadow' ELSE 'open' END END`

/** The same of a row that has been read. */
export const isBanned = (row: { bannedAt: Date | null; bannedUntil: Date | null }, now: Date): boolean =>
  row.bannedAt !== null && (row.bannedUntil === null || row.bannedUntil > now)

const BAN = statement(
  'reader_ban',
  `SELECT ${banIn('r', '$3')} AS ban FROM readers r WHERE tenant_id = $1 AND id = $2 AND erasing_at IS NULL`,
)

/** The ban of a reader that is in force. Throws ReaderGone. */
export async function findBan(sql: Sql, tenantId: Id, readerId: Id, now: Date): Promise<BanKind | null> {
  const [reader] = await sql<{ ban: BanKind | null }>(BAN, [tenantId, readerId, now])
  if (reader === undefined) throw new ReaderGone()
  return reader.ban
}
