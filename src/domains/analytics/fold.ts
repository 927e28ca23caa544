import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { ANALYTICS_METRICS, SUMMED, turns } from './metrics.ts'

/** The most deltas of one transaction, which then takes some tens of milliseconds. */
const BATCH = 2000

/**
 * Folds waiting deltas into the rollups, a batch of each tenant, until `signal` aborts. Any number
 * of workers may run it: each delta is taken once, in the transaction that counts it, and a tenant
 * whose rollups another worker has locked is skipped. Returns whether more deltas wait. Its pace
 * does not matter: reads add the deltas that are not folded yet.
 */
export async function foldWaiting({ db }: Pick<App, 'db'>, signal?: AbortSignal): Promise<boolean> {
  let more = false
  for (const tenantId of await selectWaitingTenants(db.query)) {
    if (signal?.aborted === true) return more
    const folded = await db.transaction(async (sql) =>
      (await tryLockRollups(sql, tenantId)) ? foldDeltas(sql, tenantId, BATCH) : 0,
    )
    more ||= folded === BATCH
  }
  return more
}

/**
 * Folds all waiting deltas of one tenant, unless a worker is folding them: for callers that write
 * many rows at once.
 */
export async function foldTenant({ db }: Pick<App, 'db'>, tenantId: Id): Promise<void> {
  for (let folded = BATCH; folded === BATCH;) {
    folded = await db.transaction(async (sql) =>
      (await tryLockRollups(sql, tenantId)) ? foldDeltas(sql, tenantId, BATCH) : 0,
    )
  }
}

/**
 * Folds the waiting deltas of a reader who has no comments, reactions and reports left. After that
 * none of the reader's deltas wait, and because each number is then zero, the rollups do not name
 * the reader either. Counts without a name stay. Call it last in the transaction that erases the
 * reader, because that transaction's own changes write deltas under the reader's name. The reader's
 * row is locked by then, so the tenant cannot be deleted meanwhile. A reader whose merge was under
 * way may still have rows when an erasure begins: call it again when these are gone.
 */
export async function forgetInAnalytics(sql: Sql, tenantId: Id, readerId: Id): Promise<void> {
  await sql(LOCK, [tenantId])
  await sql(FOLD_READER, [tenantId, readerId])
}

/**
 * Serialises all writers of a tenant's rollups, until the transaction ends. Nothing else uses this
 * lock.
 */
const LOCK_KEY = "hashtextextended('analytics ' || $1::uuid, 0)"

// Locks the tenant first, as the deletion of a tenant does.
const TRY_LOCK = statement(
  'analytics_try_lock',
  `WITH tenant AS (SELECT id FROM tenants WHERE id = $1 FOR KEY SHARE)
   SELECT CASE WHEN (SELECT count(*) FROM tenant) >= 0 THEN pg_try_advisory_xact_lock(${LOCK_KEY}) END AS "isHeld"`,
)
/** Waits for a worker that is changing the tenant's rollups. */
const LOCK = statement('analytics_lock', `SELECT pg_advisory_xact_lock(${LOCK_KEY})`)

/**
 * False if another transaction has locked the tenant's rollups. Otherwise the tenant cannot be
 * deleted before this transaction ends: its rollups, which have no foreign key, are deleted with
 * it.
 */
const tryLockRollups = async (sql: Sql, tenantId: Id): Promise<boolean> =>
  (await sql<{ isHeld: boolean }>(TRY_LOCK, [tenantId]))[0]?.isHeld === true

// Skips from tenant to tenant in the primary key: its cost grows with tenants, not deltas.
const WAITING = statement(
  'analytics_waiting',
  `WITH RECURSIVE waiting AS (
     (SELECT tenant_id FROM analytics_deltas ORDER BY tenant_id LIMIT 1)
     UNION ALL
     SELECT n.tenant_id FROM waiting w CROSS JOIN LATERAL (
       SELECT tenant_id FROM analytics_deltas WHERE tenant_id > w.tenant_id ORDER BY tenant_id LIMIT 1) n
   )
   SELECT tenant_id AS "tenantId" FROM waiting`,
)

/** Tenants with deltas to fold. */
const selectWaitingTenants = async (sql: Sql): Promise<Id[]> =>
  (await sql<{ tenantId: Id }>(WAITING)).map(({ tenantId }) => tenantId)

const COLUMNS = ANALYTICS_METRICS.join(', ')
const ADDED = [...ANALYTICS_METRICS, 'active_readers']
  .map((column) => `${column} = b.${column} + excluded.${column}`)
  .join(', ')

/**
 * Folds some of a tenant's deltas into the rollups, in one statement, so that every read sees a
 * delta either waiting or folded. The caller holds the lock: a reader's earlier actions (`held`)
 * are read in this statement's snapshot, and nobody else inserts such rows meanwhile. Where the
 * reader has less now, but no row, the row was deleted as too old: it is not made again. Deltas of
 * a deleted tenant are removed. `ceased` gets its tenant from a subselect, as
 * `lock_import_readers` does.
 */
const fold = <Name extends `analytics_fold${string}`>(name: Name, which: string) =>
  statement(
    name,
    `WITH taken AS (
     DELETE FROM analytics_deltas WHERE tenant_id = $1 AND ${which}
     RETURNING hour, discussion_id, reader_id, metric, n
   ),
   spread AS MATERIALIZED (
     SELECT i.interval, date_trunc(i.interval::text, t.hour, 'UTC') AS at, t.discussion_id, t.reader_id, t.metric, t.n
     FROM taken t CROSS JOIN (VALUES ('hour'::analytics_interval), ('day')) i(interval)
     WHERE EXISTS (SELECT FROM tenants WHERE id = $1)
   ),
   held AS MATERIALIZED (
     SELECT s.*, o.actions IS NULL AS is_new, coalesce(o.actions, 0) AS had_actions,
       coalesce(o.comments_approved, 0) AS had_comments
     FROM (
       SELECT interval, at, reader_id, sum(n) AS actions,
         coalesce(sum(n) FILTER (WHERE metric = 'comments_approved'), 0) AS comments
       FROM spread WHERE reader_id IS NOT NULL GROUP BY 1, 2, 3
     ) s
     LEFT JOIN LATERAL (
       SELECT actions, comments_approved FROM analytics_activity
       WHERE tenant_id = $1 AND interval = s.interval AND at = s.at AND reader_id = s.reader_id LIMIT 1
     ) o ON true
     WHERE s.actions <> 0 OR s.comments <> 0
   ),
   begun AS (
     INSERT INTO analytics_activity (tenant_id, interval, at, reader_id, actions, comments_approved)
     SELECT $1, interval, at, reader_id, actions, comments FROM held WHERE is_new AND actions > 0
     ORDER BY interval, at, reader_id
   ),
   acted AS (
     INSERT INTO analytics_activity AS a (tenant_id, interval, at, reader_id, actions, comments_approved)
     SELECT $1, interval, at, reader_id, actions, comments FROM held
     WHERE NOT is_new AND (had_actions + actions <> 0 OR had_comments + comments <> 0)
     ON CONFLICT (tenant_id, interval, at, reader_id) DO UPDATE SET
       actions = a.actions + excluded.actions, comments_approved = a.comments_approved + excluded.comments_approved
   ),
   ceased AS (
     DELETE FROM analytics_activity a USING held h
     WHERE a.tenant_id = (SELECT $1::uuid) AND a.interval = h.interval AND a.at = h.at AND a.reader_id = h.reader_id
       AND h.had_actions + h.actions = 0 AND h.had_comments + h.comments = 0
   ),
   discussed AS (
     INSERT INTO analytics_discussions AS d (tenant_id, at, discussion_id, comments_approved)
     SELECT $1, at, discussion_id, sum(n) FROM spread
     WHERE interval = 'day' AND metric = 'comments_approved' GROUP BY 2, 3 HAVING sum(n) <> 0
     ON CONFLICT (tenant_id, at, discussion_id) DO UPDATE SET comments_approved = d.comments_approved + excluded.comments_approved
   ),
   counted AS (
     INSERT INTO analytics_buckets AS b (tenant_id, interval, at, ${COLUMNS}, active_readers)
     SELECT $1, s.interval, s.at, ${ANALYTICS_METRICS.map((metric) => `s.${metric}`).join(', ')}, coalesce(r.active_readers, 0)
     FROM (SELECT interval, at, ${SUMMED} FROM spread GROUP BY 1, 2) s
     LEFT JOIN (
       SELECT interval, at, sum(${turns('had_actions', 'actions')}) AS active_readers FROM held GROUP BY 1, 2
     ) r ON r.interval = s.interval AND r.at = s.at
     ON CONFLICT (tenant_id, interval, at) DO UPDATE SET ${ADDED}
   )
   SELECT count(*)::int AS count FROM taken`,
  )

const FOLD = fold(
  'analytics_fold',
  'id = ANY (ARRAY(SELECT id FROM analytics_deltas WHERE tenant_id = $1 ORDER BY id LIMIT $2))',
)
const FOLD_READER = fold('analytics_fold_reader', 'reader_id = $2')

/** Folds the oldest deltas. Returns how many there were, at most `limit`. */
const foldDeltas = async (sql: Sql, tenantId: Id, limit: number): Promise<number> =>
  (await sql<{ count: number }>(FOLD, [tenantId, limit]))[0]?.count ?? 0
