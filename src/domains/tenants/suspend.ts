import { byService, recordAuditOf } from '../../core/audit.ts'
import { CHANNELS } from '../../core/bus.ts'
import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { Tenant } from '../../generated/prisma/client.ts'
import { lockTenant } from './tenants.ts'

type Suspension = Pick<Tenant, 'suspendedAt' | 'suspensionReason'>

const SUSPENSION = { suspendedAt: true, suspensionReason: true, deletedAt: true } as const

/**
 * Suspends a tenant: its credentials are refused, its streams end, its deliveries wait. Every
 * process learns of it at once, or within 5 s without the bus. A suspended tenant only gets the
 * reason. Throws `not_found`.
 */
export async function suspendTenant(app: App, tenantId: Id, reason?: string): Promise<void> {
  await change(app, tenantId, 'tenant.suspend', ({ suspendedAt, suspensionReason }) => ({
    suspendedAt: suspendedAt ?? new Date(),
    suspensionReason: reason ?? suspensionReason,
  }))
  announceChange(app, { kind: 'suspension', tenantId, isSuspended: true })
}

/**
 * Ends a suspension. Deliveries that have waited go out step by step, as after a recovery. A tenant
 * that is not suspended is unchanged. Throws `not_found`.
 */
export async function resumeTenant(app: App, tenantId: Id): Promise<void> {
  const ACTIVE = { suspendedAt: null, suspensionReason: null }
  await change(
    app,
    tenantId,
    'tenant.resume',
    () => ACTIVE,
    async ({ prisma }) => {
      await prisma.webhookEndpoint.updateMany({ where: { tenantId }, data: { recoveredAt: new Date() } })
    },
  )
  announceChange(app, { kind: 'suspension', tenantId, isSuspended: false })
  app.bus.publish(CHANNELS.work, tenantId)
}

const change = (
  app: App,
  tenantId: Id,
  action: 'tenant.suspend' | 'tenant.resume',
  next: (before: Suspension) => Suspension,
  also?: (sql: TxSql) => Promise<void>,
): Promise<void> =>
  app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    const where = { id: tenantId }
    const { deletedAt, ...before } = await sql.prisma.tenant.findUniqueOrThrow({ where, select: SUSPENSION })
    const after = next(before)
    const isSame = before.suspendedAt?.getTime() === after.suspendedAt?.getTime()
    if (deletedAt !== null || (isSame && before.suspensionReason === after.suspensionReason)) return
    await sql.prisma.tenant.update({ where, data: after })
    await also?.(sql)
    await recordAuditOf(sql, byService(tenantId), { action, targetId: tenantId, before, after })
  })
