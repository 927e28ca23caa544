import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { ReaderGone } from './gone.ts'

/** A ban in force. The reader must not learn of one in shadow. */
export type BanKind = 'open' | 'shadow'

/** SQL: the kind of a `readers` row's ban in force at `now`; null without one. */
export const banIn = (reader: string, now: string): string =>
  `CASE WHEN ${reader}.banned_at IS NOT NULL AND coalesce(${reader}.banned_until > ${now}, true)
     THEN CASE WHEN ${reader}.shadow_banned THEN 'shadow' ELSE 'open' END END`

/** Whether a row that has been read has a ban in force. */
export const isBanned = (row: { bannedAt: Date | null; bannedUntil: Date | null }, now: Date): boolean =>
  row.bannedAt !== null && (row.bannedUntil === null || row.bannedUntil > now)

const BAN = statement(
  'reader_ban',
  `SELECT ${banIn('r', '$3')} AS ban FROM readers r WHERE tenant_id = $1 AND id = $2 AND erasing_at IS NULL`,
)

/** The kind of a reader's ban in force. Throws ReaderGone. */
export async function findBan(sql: Sql, tenantId: Id, readerId: Id, now: Date): Promise<BanKind | null> {
  const [reader] = await sql<{ ban: BanKind | null }>(BAN, [tenantId, readerId, now])
  if (reader === undefined) throw new ReaderGone()
  return reader.ban
}
