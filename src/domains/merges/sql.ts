import { columnsOf } from '../../core/fields.ts'
import { type Id, inLowerCase, isId, newId } from '../../core/ids.ts'
import type { Prisma, TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { ReaderMerge, ReaderTrust } from '../../generated/prisma/client.ts'
import { BAN, FIELDS, profileIn, type Reader, type StoredBan } from '../readers/fields.ts'
import { deleteReader } from '../readers/records.ts'

export interface LockedReader extends StoredBan {
  id: Id
  externalId: string
  trust: ReaderTrust
  assignedBadges: string[]
  claimedBadges: string[]
  /** Null for a present reader. False: hidden by a merge. */
  isErasing: boolean | null
}

/**
 * Locks the rows of readers exclusively, in the order of their ids, so that two merges of the same
 * readers run one after the other. Inserts that refer to them wait for the end of this transaction.
 */
export const lockReaders = statement(
  'lock_readers_to_merge',
  `SELECT ${columnsOf(FIELDS, ['id', 'externalId', 'trust', 'assignedBadges', 'claimedBadges', ...BAN])}, isfinite(erasing_at) AS "isErasing"
   FROM readers WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR UPDATE`,
).rows<[tenantId: Id, ids: readonly Id[]], LockedReader>()

/** The reader with this id, or else with this external id, including merged readers. */
export async function findReaderId({ reader, readerMerge }: Prisma, tenantId: Id, name: string): Promise<Id | null> {
  const here = { tenantId, erasingAt: null }
  const find = (where: { id: Id } | { externalId: string }) =>
    reader.findFirst({ where: { ...here, ...where }, select: { id: true } })
  const id = inLowerCase(name)
  const found = (isId(id) ? await find({ id }) : null) ?? (await find({ externalId: name }))
  if (found !== null) return found.id
  const select = { readerId: true } as const
  return (await readerMerge.findFirst({ where: { tenantId, alias: { externalId: name } }, select }))?.readerId ?? null
}

export type Merge = Pick<ReaderMerge, 'intoId' | 'mergingAt'>

/** The target of a reader's merge, which is done if `mergingAt` is null; null without one. */
export const findMerge = ({ readerMerge }: Prisma, tenantId: Id, readerId: Id): Promise<Merge | null> =>
  readerMerge.findUnique({
    where: { tenantId_readerId: { tenantId, readerId } },
    select: { intoId: true, mergingAt: true },
  })

// `infinity`, so that no worker, not even of an older release, takes it for an erasure to
// continue.
/**
 * Hides a reader: from now on no write finds it, and its external id leads to the target. The same
 * holds for readers who were merged into it. Both rows are locked.
 */
export const beginMerge = statement(
  'begin_reader_merge',
  `WITH hidden AS (
     UPDATE readers SET erasing_at = 'infinity' WHERE tenant_id = $1 AND id = $2
   ),
   followed AS (
     UPDATE reader_merges SET into_id = $3 WHERE tenant_id = $1 AND into_id = $2
   )
   INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, merging_at, created_at) VALUES ($1, $2, $3, $2, $4, $4)`,
).run<[tenantId: Id, readerId: Id, intoId: Id, now: Date]>()

/** What moderators have decided on a reader. */
type Standing = StoredBan & Pick<LockedReader, 'trust' | 'assignedBadges'> & Pick<Reader, 'badges'>

export const setStanding = async ({ prisma }: TxSql, tenantId: Id, readerId: Id, standing: Standing): Promise<void> => {
  const { bannedAt, bannedUntil, banReason, shadowBanned, trust, assignedBadges, badges } = standing
  const data = { bannedAt, bannedUntil, banReason, shadowBanned, trust, assignedBadges, badges }
  await prisma.reader.updateMany({ where: { tenantId, id: readerId }, data })
}

// KEY SHARE: no erasure or further merge of the target can begin before this transaction ends.
/** The target of the reader's merge. Undefined if it has just changed, or the merge is over. */
export const lockTarget = statement(
  'lock_merge_target',
  `SELECT ${profileIn('r')}
   FROM reader_merges m JOIN readers r ON r.tenant_id = m.tenant_id AND r.id = m.into_id
   WHERE m.tenant_id = $1 AND m.reader_id = $2 AND m.merging_at IS NOT NULL AND r.erasing_at IS NULL
   FOR KEY SHARE OF r`,
).first<[tenantId: Id, readerId: Id], Reader>()

/** Renews the heartbeat, so that no other process takes the merge over. */
export const touchMerge = async ({ readerMerge }: Prisma, tenantId: Id, readerId: Id, now: Date): Promise<void> =>
  void (await readerMerge.updateMany({
    where: { tenantId, readerId, mergingAt: { not: null } },
    data: { mergingAt: now },
  }))

/** Takes over a merge without a heartbeat since `before`. Only one caller gets it. */
export const takeUpMerge = statement(
  'take_up_reader_merge',
  `UPDATE reader_merges m SET merging_at = $1
   FROM (
     SELECT tenant_id, reader_id FROM reader_merges WHERE merging_at < $2
     ORDER BY merging_at LIMIT 1 FOR UPDATE SKIP LOCKED
   ) due
   WHERE m.tenant_id = due.tenant_id AND m.reader_id = due.reader_id
   RETURNING m.tenant_id AS "tenantId", m.reader_id AS "readerId"`,
).first<[now: Date, before: Date], { tenantId: Id; readerId: Id }>()

// A new row: foreign keys to the reader's own row must fail, because a write that found the reader
// before the merge may end long after it.
const KEEP_NAME = statement(
  'keep_merged_name',
  `WITH kept AS (
     INSERT INTO readers (tenant_id, id, external_id, profile_issued_at, erasing_at)
     VALUES ($1, $3, $4, CURRENT_TIMESTAMP, 'infinity')
   )
   UPDATE reader_merges SET alias_id = $3, merging_at = NULL WHERE tenant_id = $1 AND reader_id = $2`,
)

/**
 * Deletes the reader, to whom no row refers any more. A hidden row keeps the external id, so that
 * no new reader gets it. The reader's row is locked.
 */
export async function endMerge(
  sql: TxSql,
  tenantId: Id,
  { id, externalId }: Pick<LockedReader, 'id' | 'externalId'>,
  aliasId: Id,
): Promise<void> {
  await sql.prisma.reader.updateMany({ where: { tenantId, id }, data: { externalId: `merged:${newId()}` } })
  await sql(KEEP_NAME, [tenantId, id, aliasId, externalId])
  await deleteReader(sql, tenantId, id)
}
