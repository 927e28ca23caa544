import { randomUUID } from 'node:crypto'

import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import { auditForm } from './fields.ts'
import { lockDiscussionRow } from './locks.ts'

/**
 * Deletes a discussion: from the commit on it cannot be found, its external ids are free, and its
 * streams end. Workers remove what belonged to it (`remove.ts`). Throws `not_found`.
 */
export async function deleteDiscussion(ctx: Ctx, id: Id): Promise<Id> {
  const { tenant } = requireCaller(ctx)
  const where = { tenantId: tenant.id, id }
  await ctx.app.db.transaction(async (tx) => {
    const before = isId(id) ? await lockDiscussionRow(tx, tenant.id, id) : undefined
    if (before === undefined) throw noSuch('discussion')
    const now = new Date()
    await tx.prisma.discussion.update({
      where: { tenantId_id: where },
      data: { ...NOTHING, externalId: `deleted ${randomUUID()}`, deletedAt: now, removalDueAt: now },
    })
    await tx.prisma.discussionAlias.deleteMany({ where: { tenantId: tenant.id, discussionId: id } })
    const target = { action: 'discussion.delete', targetId: id } as const
    await recordAudit(tx, ctx, { ...target, before: auditForm(before) })
    // Last, because it locks one row for the whole tenant.
    await tx.prisma.tenant.update({ where: { id: tenant.id }, data: { discussionsDeleted: { increment: 1 } } })
  })
  announceChange(ctx.app, { kind: 'discussion', tenantId: tenant.id, discussionId: id })
  return id
}

/**
 * Writers refuse an archived discussion. It comes last in the list by activity. The count stays: an
 * erasure counts down until the comments are removed.
 */
const NOTHING = {
  title: null,
  url: null,
  state: 'archived',
  lastCommentedAt: null,
  activeAt: new Date(0),
  moderationMode: null,
  closesAt: null,
  slowModeSeconds: null,
} as const
