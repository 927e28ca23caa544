import { anyId } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { storedNumber } from '../../core/stored.ts'
import { tenantSettings, tenantSettingsSchema } from '../../core/settings/tenant.ts'
import { HOURS_KEPT_DAYS } from '../../domains/analytics/kept.ts'

const DEFAULTS = tenantSettings({})
const { auditRetentionDays, analyticsRetentionDays } = tenantSettingsSchema.shape

/** SQL for a number of days of a tenant (`t`). */
const AUDIT_DAYS = `coalesce(${storedNumber('t.settings', 'auditRetentionDays', auditRetentionDays.unwrap())}, ${DEFAULTS.auditRetentionDays})`
const ANALYTICS_DAYS = `coalesce(${storedNumber('t.settings', 'analyticsRetentionDays', analyticsRetentionDays.unwrap())}, ${DEFAULTS.analyticsRetentionDays})`

/**
 * SQL that deletes up to $1 rows of each tenant (`t`) that `old` finds, in the order of an index:
 * so one look-up shows that a tenant has none. Rows that another worker deletes are skipped.
 */
const deletion = (table: string, old: string, order: string, tenants = 'true'): string =>
  `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
     SELECT f.row FROM tenants t CROSS JOIN LATERAL (
       SELECT ctid AS row FROM ${table} WHERE tenant_id = t.id AND ${old}
       ORDER BY ${order}
       LIMIT $1
       FOR UPDATE SKIP LOCKED) f
     WHERE ${tenants}
     LIMIT $1))
   RETURNING 1`

const deleteOld = <Name extends `delete_old_${string}`>(name: Name, table: string, old: string, order: string) =>
  statement(
    name,
    `WITH deleted AS (
       ${deletion(table, old, order)}
     )
     SELECT count(*)::int AS count FROM deleted`,
  )

/**
 * Deletes entries that are older than their tenants' retention. Ids are in the order of time.
 * Imported entries keep theirs.
 */
export const deleteOldAuditEntries = deleteOld(
  'delete_old_audit_entries',
  'audit_log',
  `id < first_id(now() - ${AUDIT_DAYS} * interval '1 day') AND ${anyId('tenant_id', 'id')}`,
  'id',
).count<[limit: number]>()

/**
 * Deletes client tokens that expired an hour ago: until then they are refused as expired, not as
 * unknown.
 */
export const deleteOldClientTokens = deleteOld(
  'delete_old_client_tokens',
  'client_tokens',
  "expires_at < now() - interval '1 hour'",
  'expires_at',
).count<[limit: number]>()

/** Deletes counts of texts that were last posted a day ago. */
export const deleteOldPostedTexts = deleteOld(
  'delete_old_posted_texts',
  'posted_texts',
  'expires_at < now()',
  'expires_at',
).count<[limit: number]>()

const before = (days: number | string): string =>
  `at >= '-infinity' AND at < date_trunc('day', now(), 'UTC') - ${days} * interval '1 day'`

// The fold counts a reader of an hour once as long as that hour is kept. An import may bring an old
// hour in several folds.
const NO_IMPORT =
  'NOT EXISTS (SELECT FROM imports i WHERE i.tenant_id = t.id AND i.finished_at IS NULL AND i.undone_at IS NULL)'

/**
 * Deletes up to `limit` rows of each kind from which readers of an hour or a day and the decisions
 * of the team are counted, once they are too old. The counts of readers stay. Returns the largest
 * number of a kind.
 */
export const deleteOldAnalytics = statement(
  'delete_old_analytics',
  `WITH hours AS (
   ${deletion('analytics_activity', `interval = 'hour' AND ${before(HOURS_KEPT_DAYS)}`, 'at', NO_IMPORT)}
 ),
 days AS (
   ${deletion('analytics_activity', `interval = 'day' AND ${before(ANALYTICS_DAYS)}`, 'at', NO_IMPORT)}
 ),
 pages AS (
   ${deletion('analytics_discussions', `${before(ANALYTICS_DAYS)} AND ${anyId('discussion_id')}`, 'at', NO_IMPORT)}
 ),
 decisions AS (
   ${deletion('comment_decisions', before(ANALYTICS_DAYS), 'at')}
 )
 SELECT greatest((SELECT count(*) FROM hours), (SELECT count(*) FROM days), (SELECT count(*) FROM pages),
   (SELECT count(*) FROM decisions))::int AS count`,
).count<[limit: number]>()
