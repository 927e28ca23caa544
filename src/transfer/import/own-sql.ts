import { insertAuditEntries } from '../../core/audit.ts'
import type { Id } from '../../core/ids.ts'
import type { Prisma, Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { AuditItem } from '../item.ts'

/** The actions that an import records of its own changes. */
export const OF_IMPORT: readonly string[] = [
  'settings.update',
  'webhook.create',
  'site.create',
  'notice_channel.create',
]

/** SQL: whether an audit entry is about an import's own changes. */
export const IS_OF_IMPORT = `(target_type = 'import'
  OR import_id IS NOT NULL AND actor_kind = 'system' AND action IN (${OF_IMPORT.map((action) => `'${action}'`).join(', ')}))`

const TAKES_AUDIT = statement(
  'import_takes_audit_entries',
  `SELECT EXISTS (SELECT FROM audit_log WHERE tenant_id = $1 AND import_id = $2 AND NOT ${IS_OF_IMPORT})
     OR NOT EXISTS (SELECT FROM audit_log WHERE tenant_id = $1 AND import_id IS NULL AND target_type <> 'import')
     AS "takesAudit"`,
)

/** Whether the tenant has no audit entries of its own, or had none at this import's first entry. */
export const takesAuditEntries = async (sql: Sql, { tenantId, importId }: OfImport): Promise<boolean> =>
  (await sql<{ takesAudit: boolean }>(TAKES_AUDIT, [tenantId, importId]))[0]?.takesAudit === true

interface OfImport {
  tenantId: Id
  importId: Id
}

/** Those of these entries that exist. */
export async function findAuditEntries(
  { auditEntry }: Prisma,
  tenantId: Id,
  ids: readonly string[],
): Promise<Set<string>> {
  const found = await auditEntry.findMany({ where: { tenantId, id: { in: [...ids] } }, select: { id: true } })
  return new Set(found.map(({ id }) => id))
}

const AUDIT_ENTRIES = statement(
  'import_audit_entries',
  `${insertAuditEntries(`
     SELECT $1::uuid, id, actor_kind, actor_id, action, target_type, target_id, before, after, $2::uuid, at
     FROM unnest($3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::jsonb[], $10::jsonb[],
       $11::timestamptz[]) AS t (id, actor_kind, actor_id, action, target_type, target_id, before, after, at)`)}
   ON CONFLICT DO NOTHING RETURNING id`,
)

/** Returns the ids of new entries. Leaves out what entries say about these erased readers. */
export async function insertImportedAuditEntries(
  sql: Sql,
  { tenantId, importId }: OfImport,
  entries: readonly AuditItem[],
  erased: ReadonlySet<string>,
): Promise<Set<string>> {
  const isOfErased = ({ targetType, targetId }: AuditItem): boolean =>
    targetType === 'reader' && targetId != null && erased.has(targetId)
  const json = (entry: AuditItem, value: unknown): string | null =>
    value == null || isOfErased(entry) ? null : JSON.stringify(value)
  const rows = await sql<{ id: Id }>(AUDIT_ENTRIES, [
    tenantId,
    importId,
    entries.map(({ id }) => id),
    entries.map(({ actorKind }) => actorKind),
    entries.map(({ actorId = null }) => actorId),
    entries.map(({ action }) => action),
    entries.map(({ targetType }) => targetType),
    entries.map(({ targetId = null }) => targetId),
    entries.map((entry) => json(entry, entry.before)),
    entries.map((entry) => json(entry, entry.after)),
    entries.map(({ at }) => new Date(at)),
  ])
  return new Set(rows.map(({ id }) => id))
}
