import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { Prisma } from '../../generated/prisma/client.ts'
import { namedIds } from '../client-tokens/scope.ts'
import { viewerInShadow } from '../readers/readers.ts'

/**
 * The notifications of a reader whose comment they can see now: of others an approved one, by
 * somebody whom they have not muted; of their own one with a decision.
 */
const visibleTo = (tenantId: Id, readerId: Id, isInShadow: boolean): Prisma.NotificationWhereInput => ({
  tenantId,
  readerId,
  comment: { is: { discussion: { is: { deletedAt: null } } } },
  OR: [
    {
      kind: { not: 'decision' },
      comment: {
        is: {
          status: 'approved',
          // After a merge a reader may have replied to themselves.
          authorId: { not: readerId },
          author: { is: { erasingAt: null, mutedBy: { none: { tenantId, readerId } } } },
        },
      },
    },
    // As on the comment itself: see `decisionsForViewer`.
    ...(isInShadow
      ? []
      : [
          {
            kind: 'decision' as const,
            comment: { is: { authorId: readerId, decision: { not: Prisma.DbNull } } },
          },
        ]),
  ],
})

/** The same for the asserted reader; of the discussions alone that a client token names. */
export async function visibleToViewer(ctx: Ctx, readerId: Id): Promise<Prisma.NotificationWhereInput> {
  const [inShadow, discussionIds] = [await viewerInShadow(ctx), await namedIds(ctx)]
  const visible = visibleTo(requireCaller(ctx).tenant.id, readerId, inShadow !== null)
  if (discussionIds === null) return visible
  return { AND: [visible, { comment: { is: { discussionId: { in: [...discussionIds] } } } }] }
}
