import { doerOf } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { type Id, newId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { BanSweep } from '../../generated/prisma/client.ts'

/** What becomes of the comments that a banned reader has written. */
export const COMMENTS_OF_BANNED = ['keep', 'withhold', 'reject'] as const

export type OfBanned = (typeof COMMENTS_OF_BANNED)[number]

/** What workers do to them. */
export type SweepAction = Exclude<OfBanned, 'keep'>

export const SWEEP_ACTIONS = COMMENTS_OF_BANNED.filter((name): name is SweepAction => name !== 'keep')

/** Ends the work of an earlier ban, and begins that of this one. The reader is locked. */
export async function beginSweep(sql: TxSql, ctx: Ctx, readerId: Id, comments: OfBanned): Promise<void> {
  const { tenantId, actor } = doerOf(ctx)
  await endSweep(sql, tenantId, readerId)
  if (comments === 'keep') return
  const doer = { actorKind: actor.kind, actorId: actor.id }
  // By the clock that dates comments and judgements, which the work compares with it.
  const startedAt = new Date()
  await sql.prisma.banSweep.create({ data: { tenantId, readerId, id: newId(), action: comments, startedAt, ...doer } })
}

/** Ends the work: what is done stays done. */
export const endSweep = async ({ prisma }: TxSql, tenantId: Id, readerId: Id): Promise<void> =>
  void (await prisma.banSweep.deleteMany({ where: { tenantId, readerId } }))

/** Whether a ban's work on the comments of one of these readers is not done yet. */
export const isAtWork = async ({ prisma }: TxSql, tenantId: Id, readerIds: Id[]): Promise<boolean> =>
  (await prisma.banSweep.count({ where: { tenantId, readerId: { in: readerIds }, completedAt: null } })) > 0

/** The work of the last ban; null without one. One statement serves all readers of a request. */
export const findSweep = perRequest<Id, BanSweep | null>(async (ctx, readerIds) => {
  const { id: tenantId } = requireCaller(ctx).tenant
  const where = { tenantId, readerId: { in: [...new Set(readerIds)] } }
  const sweeps = new Map((await ctx.app.prisma.banSweep.findMany({ where })).map((row) => [row.readerId, row]))
  return readerIds.map((id) => sweeps.get(id) ?? null)
})
