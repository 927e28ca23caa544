import { perApp } from '../../core/app.ts'
import { Uses } from '../../core/uses.ts'

/** When members were last seen. */
export const membersSeen = perApp(
  ({ log, prisma }) =>
    new Uses(log, (uses) =>
      Promise.all(
        uses.map(({ tenantId, id, at }) =>
          prisma.member.updateMany({ where: { tenantId, id }, data: { lastSeenAt: at } }),
        ),
      ),
    ),
)
