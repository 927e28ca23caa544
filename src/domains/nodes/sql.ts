import type { Id } from '../../core/ids.ts'
import { statement } from '../../core/database/statements.ts'

/** The tables of the types that are looked up by id. */
const TABLES = {
  Comment: 'comments',
  Discussion: 'discussions',
  Reader: 'readers',
  Delivery: 'deliveries',
  AuditEntry: 'audit_log',
  Note: 'notes',
  Notification: 'notifications',
  ApiKey: 'api_keys',
  Site: 'sites',
  NoticeChannel: 'notice_channels',
  WebhookEndpoint: 'webhook_endpoints',
  Import: 'imports',
  ImportUpload: 'import_uploads',
  TenantExport: 'tenant_exports',
  Member: 'members',
} as const

export type StoredType = keyof typeof TABLES

const LOOK_UPS = Object.entries(TABLES).map(
  ([type, table]) =>
    `(SELECT '${type}' AS type FROM ${table} WHERE tenant_id = $1 AND id = a.id AND '${type}' = ANY($3::text[]) LIMIT 1)`,
)

// Each id is looked up by itself, in the tables of the given types alone.
/** Of which of the given types each id is; unknown ids are left out. */
export const findNodeTypes = statement(
  'find_node_types',
  `SELECT a.id, t.type FROM unnest($2::uuid[]) AS a (id)
   CROSS JOIN LATERAL (${LOOK_UPS.join('\n     UNION ALL ')}) t`,
).rows<[tenantId: Id, ids: readonly Id[], types: readonly StoredType[]], { id: Id; type: StoredType }>()
