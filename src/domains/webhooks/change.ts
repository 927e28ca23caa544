import { recordAudit } from '../../core/audit.ts'
import { CHANNELS } from '../../core/bus.ts'
import { type App, type Ctx, requireCaller, type Tenant } from '../../core/context.ts'
import { randomHex } from '../../core/crypto.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { auditForm } from './endpoint.ts'
import * as rows from './sql.ts'

/** What audit entries of endpoints are about. */
export const TARGET = { targetType: 'webhook_endpoint' } as const

/** 64 hex characters (specification, section 2.5). */
export const newChallenge = (): string => randomHex(32)

/** There may be something due. */
export const tellWorkers = (app: App): void => app.bus.publish(CHANNELS.work, '')

/** An endpoint of the tenant, locked until the transaction ends. Throws `not_found`. */
export async function lock(sql: Sql, tenant: Tenant, id: Id): Promise<rows.EndpointRow> {
  const row = isId(id) ? await rows.lockEndpoint(sql, tenant.id, id) : undefined
  if (row === undefined) throw new ServiceError('not_found')
  return row
}

/** Refuses with `invalid_transition` what only an endpoint that gets deliveries can do. */
export function requireVerified({ state }: Pick<rows.EndpointRow, 'state'>): void {
  if (state === 'verified') return
  throw new ServiceError('invalid_transition', { detail: `The endpoint is ${state}: it gets no deliveries.` })
}

/** Reads an endpoint back after a change and writes the change to the audit log. */
export async function audited(
  sql: Sql,
  ctx: Ctx,
  action: string,
  id: Id,
  before: rows.EndpointRow | null,
): Promise<rows.EndpointRow> {
  const { tenant } = requireCaller(ctx)
  const after = await lock(sql, tenant, id)
  await recordAudit(sql, ctx, {
    ...TARGET,
    action,
    targetId: id,
    before: before === null ? null : auditForm(before, tenant),
    after: auditForm(after, tenant),
  })
  return after
}
