import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'

const namedSchema = z.object({ name: z.string().nullable(), email: z.string() })

/** The name that colleagues see; without one, the part of the address before the @. */
const shownName = ({ name, email }: z.output<typeof namedSchema>): string => name ?? email.replace(/@.*$/s, '')

/**
 * The name of a member; of a removed one as the audit log has it, null once it no longer has. Two
 * statements serve all members of a request.
 */
export const nameOfMember = perRequest<Id, string | null>(async (ctx, asked) => {
  const { prisma } = ctx.app
  const tenantId = requireCaller(ctx).tenant.id
  const ids = [...new Set(asked)]
  const members = await prisma.member.findMany({
    where: { tenantId, id: { in: ids } },
    select: { id: true, name: true, email: true },
  })
  const names = new Map(members.map((member) => [member.id, shownName(member)]))
  const removed = ids.filter((id) => !names.has(id))
  const removals = await prisma.auditEntry.findMany({
    where: { tenantId, targetId: { in: removed }, action: 'member.delete', importId: null },
    select: { targetId: true, before: true },
  })
  for (const { targetId, before } of removals) {
    const { success, data } = namedSchema.safeParse(before)
    if (success && targetId !== null) names.set(targetId, shownName(data))
  }
  return asked.map((id) => names.get(id) ?? null)
})
