import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Prisma } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { Reader } from '../../generated/prisma/client.ts'
import { seesRecords } from './records.ts'

/** A reader who is another one now. */
export interface FormerReader {
  id: Id
  externalId: string
  mergedAt: Date
}

/** The readers who were merged into a reader, first ones first. */
export const listFormerReaders = async (prisma: Prisma, tenantId: Id, readerId: Id): Promise<FormerReader[]> =>
  (await findFormer(prisma, tenantId, [readerId])).get(readerId) ?? []

/** The readers who were merged into this one; null for callers who do not see readers' records. */
export const formerReadersOf = async (ctx: Ctx, readerId: Id): Promise<FormerReader[] | null> =>
  seesRecords(ctx) ? loadFormer(ctx, readerId) : null

const loadFormer = perRequest<Id, FormerReader[]>(async (ctx, ids) => {
  const former = await findFormer(ctx.app.prisma, requireCaller(ctx).tenant.id, [...new Set(ids)])
  return ids.map((id) => former.get(id) ?? [])
})

async function findFormer({ readerMerge }: Prisma, tenantId: Id, ids: Id[]): Promise<Map<Id, FormerReader[]>> {
  const merges = await readerMerge.findMany({
    where: { tenantId, intoId: { in: ids } },
    select: { intoId: true, readerId: true, createdAt: true, alias: { select: { externalId: true } } },
    orderBy: [{ createdAt: 'asc' }, { readerId: 'asc' }],
  })
  const former = new Map<Id, FormerReader[]>(ids.map((id) => [id, []]))
  for (const { intoId, readerId: id, createdAt: mergedAt, alias } of merges) {
    former.get(intoId)?.push({ id, externalId: alias.externalId, mergedAt })
  }
  return former
}

/** The state of a reader who was merged into another one. */
export interface ReaderMerge {
  into: Reader
  isUnderWay: boolean
}

/** Throws `not_found` if the reader was not merged, or the target is gone. */
export async function getReaderMerge(ctx: Ctx, readerId: Id): Promise<ReaderMerge> {
  const where = { tenantId: requireCaller(ctx).tenant.id, readerId, into: { erasingAt: null } }
  const merge = isId(readerId) ? await ctx.app.prisma.readerMerge.findFirst({ where, include: { into: true } }) : null
  if (merge === null) throw new ServiceError('not_found', { detail: 'There is no merge of this reader.' })
  return { into: merge.into, isUnderWay: merge.mergingAt !== null }
}

/** The present readers of these ids: of a merged one the reader who stays. Others are left out. */
export async function followReaders(
  { reader, readerMerge }: Prisma,
  tenantId: Id,
  ids: readonly Id[],
): Promise<Map<Id, Reader>> {
  const merged = { tenantId, readerId: { in: [...ids] } }
  const merges = await readerMerge.findMany({ where: merged, select: { readerId: true, intoId: true } })
  const into = new Map(merges.map(({ readerId, intoId }) => [readerId, intoId]))
  const present = { tenantId, id: { in: [...new Set(ids.map((id) => into.get(id) ?? id))] }, erasingAt: null }
  const byId = new Map((await reader.findMany({ where: present })).map((row) => [row.id, row]))
  return new Map(
    ids.flatMap((id) => {
      const found = byId.get(into.get(id) ?? id)
      return found === undefined ? [] : [[id, found] as const]
    }),
  )
}

export interface MergedReader {
  readerId: Id
  /** Whether its row is still there, and rows that point at it. */
  isUnderWay: boolean
}

/**
 * Forgets who was merged into a reader whose erasure begins, and frees their external ids. Merges
 * into it that are under way stop: what still hangs on those readers is to be erased with it. The
 * reader's row is locked.
 */
export const dissolveMerges = statement(
  'dissolve_reader_merges',
  `WITH gone AS (
     DELETE FROM reader_merges WHERE tenant_id = $1 AND into_id = $2 RETURNING reader_id, alias_id
   ),
   freed AS (
     DELETE FROM readers r USING gone g WHERE r.tenant_id = $1 AND r.id = g.alias_id AND g.alias_id <> g.reader_id
   )
   SELECT reader_id AS "readerId", alias_id = reader_id AS "isUnderWay" FROM gone ORDER BY reader_id`,
).rows<[tenantId: Id, readerId: Id], MergedReader>()
