import { requireCaller, type Ctx } from './context.ts'
import { newId } from './ids.ts'
import { type Sql, statement } from './sql.ts'

export interface AuditRecord {
  /** What was done: `<target type>.<verb>`, such as `api_key.create`. */
  action: string
  targetType: string
  targetId: string | null
  /** The target's public form, without any secret; null where there was none. */
  before?: unknown
  after?: unknown
}

const INSERT_AUDIT_ENTRY = statement(
  'insert_audit_entry',
  `INSERT INTO audit_log (tenant_id, id, actor_kind, actor_id, action, target_type, target_id, before, after)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9::jsonb)`,
)

/** Writes who did what, in the transaction `sql` of the change itself: neither stands without the other. */
export async function recordAudit(sql: Sql, ctx: Ctx, record: AuditRecord): Promise<void> {
  const { tenant, actor } = requireCaller(ctx)
  const { action, targetType, targetId, before, after } = record
  await sql(INSERT_AUDIT_ENTRY, [
    tenant.id,
    newId(),
    actor.kind,
    actor.id,
    action,
    targetType,
    targetId,
    json(before),
    json(after),
  ])
}

const json = (value: unknown): string | null => (value == null ? null : JSON.stringify(value))
