import { type Id, LAST_ID } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId, type Measured, upToBytes } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import type { AuditEntry } from '../../generated/prisma/client.ts'

/** With whether the list was cut. */
export type AuditRow = AuditEntry & Measured

/** The kinds of actors in the audit log. */
export const AUDIT_ACTOR_KINDS = ['key', 'admin', 'system'] as const

export type AuditActorKind = (typeof AUDIT_ACTOR_KINDS)[number]

export interface AuditFilter {
  action: string | null
  actorId: Id | null
  actorKind: AuditActorKind | null
  /** Inclusive. */
  from: Date | null
  /** Exclusive. */
  to: Date | null
}

const COLUMNS = `l.tenant_id AS "tenantId", l.id, l.action, l.actor_kind AS "actorKind", l.actor_id AS "actorId",
       l.target_type AS "targetType", l.target_id AS "targetId", l.before, l.after, l.at, l.import_id AS "importId"`

// In SQL, because PostgreSQL measures rows that may be long. A statement for each indexed filter:
// a common statement would get a plan without an index. A filter is a range of one value, and the
// first key of its order: with `=`, PostgreSQL may walk through the whole log, expecting to meet
// the value soon.
const list = (name: '' | '_by_action' | '_by_actor', order: string, condition: string) =>
  statement(
    `list_audit_log${name}`,
    upToBytes(
      `SELECT ${COLUMNS} FROM audit_log l
       WHERE l.tenant_id = $1 AND l.id < $2 AND ${condition}
         AND ($6::timestamptz IS NULL OR l.at >= $6) AND ($7::timestamptz IS NULL OR l.at < $7)
       ORDER BY ${order} LIMIT $8`,
      "octet_length(coalesce(before::text, '')) + octet_length(coalesce(after::text, ''))",
    ),
  )

const ANY_ACTION = '($3::text IS NULL OR l.action = $3)'
const ANY_ACTOR = '($4::uuid IS NULL OR l.actor_id = $4) AND ($5::text IS NULL OR l.actor_kind = $5)'

const LIST = list('', 'l.id DESC', `${ANY_ACTION} AND ${ANY_ACTOR} AND ${anyId('l.tenant_id', 'l.id')}`)
const LIST_BY_ACTION = list('_by_action', 'l.action DESC, l.id DESC', `l.action BETWEEN $3 AND $3 AND ${ANY_ACTOR}`)
const LIST_BY_ACTOR = list(
  '_by_actor',
  'l.actor_id DESC, l.id DESC',
  `${ANY_ACTION} AND l.actor_id BETWEEN $4 AND $4 AND ($5::text IS NULL OR l.actor_kind = $5)`,
)

/** Entries that pass the filter, newest first, older than `before`. */
export function listAuditLog(
  sql: Sql,
  tenantId: Id,
  { action, actorId, actorKind, from, to }: AuditFilter,
  before: Id | null,
  limit: number,
): Promise<AuditRow[]> {
  const plan = action !== null ? LIST_BY_ACTION : actorId !== null ? LIST_BY_ACTOR : LIST
  return sql<AuditRow>(plan, [tenantId, before ?? LAST_ID, action, actorId, actorKind, from, to, limit])
}
