import { type Ctx, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Reader } from '../../generated/prisma/client.ts'
import type { FormerReader } from './sql.ts'

/** The readers who were merged into a reader, first ones first, for the lists of readers. */
export const formerReadersOf = (ctx: Ctx, readerId: Id): Promise<FormerReader[]> => loadFormer(ctx, '', readerId)

const loadFormer = perRequest<Id, FormerReader[]>(async (ctx, _group, ids) => {
  const merges = await ctx.app.prisma.readerMerge.findMany({
    where: { tenantId: requireCaller(ctx).tenant.id, intoId: { in: [...new Set(ids)] } },
    select: { intoId: true, readerId: true, createdAt: true, alias: { select: { externalId: true } } },
    orderBy: [{ createdAt: 'asc' }, { readerId: 'asc' }],
  })
  const former = new Map<Id, FormerReader[]>(ids.map((id) => [id, []]))
  for (const { intoId, readerId: id, createdAt: mergedAt, alias } of merges) {
    former.get(intoId)?.push({ id, externalId: alias.externalId, mergedAt })
  }
  return ids.map((id) => former.get(id) ?? [])
})

/** What became of a reader who was merged into another one. */
export interface ReaderMerge {
  into: Reader
  isUnderWay: boolean
}

/** Throws `not_found`: the reader was not merged, or the one who stayed is gone. */
export async function getReaderMerge(ctx: Ctx, readerId: Id): Promise<ReaderMerge> {
  const where = { tenantId: requireCaller(ctx).tenant.id, readerId, into: { erasingAt: null } }
  const merge = isId(readerId) ? await ctx.app.prisma.readerMerge.findFirst({ where, include: { into: true } }) : null
  if (merge === null) throw new ServiceError('not_found', { detail: 'There is no merge of this reader.' })
  return { into: merge.into, isUnderWay: merge.mergingAt !== null }
}
