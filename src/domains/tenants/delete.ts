import type { App } from '../../core/app.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { lockTenant } from './tenants.ts'

/**
 * By then every process refuses the tenant, also without the bus, and what it had let in has ended:
 * nothing new comes after a worker has looked.
 */
const SETTLED_MS = 10_000

/**
 * Deletes a suspended tenant: from the commit on it cannot be found, and its slug is free. Workers
 * remove what belonged to it (`remove.ts`). Throws `not_found`, `invalid_transition`.
 */
export const deleteTenant = (app: App, id: Id): Promise<void> =>
  app.db.transaction(async (sql) => {
    const { slug } = await lockTenant(sql, id)
    const { suspendedAt, deletedAt } = await sql.prisma.tenant.findUniqueOrThrow({ where: { id } })
    if (deletedAt !== null) throw new ServiceError('not_found')
    if (suspendedAt === null)
      throw new ServiceError('invalid_transition', { detail: `${slug} is not suspended: run tenant suspend first` })
    const now = Date.now()
    await sql.prisma.tenant.update({
      where: { id },
      data: {
        // No slug has a space.
        slug: `${slug} deleted ${id}`,
        deletedAt: new Date(now),
        removalDueAt: new Date(Math.max(now, suspendedAt.getTime() + SETTLED_MS)),
      },
    })
  })
