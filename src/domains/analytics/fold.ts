import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { ANALYTICS_METRICS, SUMMED, turns } from './metrics.ts'

/** A transaction of some tens of milliseconds. */
const BATCH = 2000

/**
 * Folds what is waiting into the rollups, a batch of each tenant, until `signal` aborts. Any number
 * of workers may: each delta is taken once, in the transaction that counts it, and a tenant that
 * another worker is at is left to it. Returns whether more is waiting. Nobody depends on its pace:
 * reading adds what is not folded yet.
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
 * Folds what is waiting of one tenant, until nothing is or a worker is at it: for those who write
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
 * Folds what is waiting of a reader who has nothing left: no comments, reactions and reports. Then
 * nothing of theirs waits, and as each number is exact, the rollups do not name them either. What
 * was counted without a name stays as it is. To be called last in the transaction that erases the
 * reader, as the changes of that transaction name the reader to analytics. The reader's row is
 * locked by then, so the tenant does not go meanwhile. A reader whose merge is under way still has
 * rows when an erasure begins: it is called once more when these are gone.
 */
export async function forgetInAnalytics(sql: Sql, tenantId: Id, readerId: Id): Promise<void> {
  await sql(LOCK, [tenantId])
  await sql(FOLD_READER, [tenantId, readerId])
}

/**
 * Serialises all who write a tenant's rollups, until the transaction ends. Nobody else takes it.
 */
const LOCK_KEY = "hashtextextended('analytics ' || $1::uuid, 0)"

// The tenant first, as a deletion of the tenant does.
const TRY_LOCK = statement(
  'analytics_try_lock',
  `WITH tenant AS (SELECT id FROM tenants WHERE id = $1 FOR KEY SHARE)
   SELECT CASE WHEN (SELECT count(*) FROM tenant) >= 0 THEN pg_try_advisory_xact_lock(${LOCK_KEY}) END AS "isHeld"`,
)
/** Waits for a worker that is changing the tenant's rollups. */
const LOCK = statement('analytics_lock', `SELECT pg_advisory_xact_lock(${LOCK_KEY})`)

/**
 * False where another transaction is at the tenant's rollups. Otherwise the tenant does not go
 * before the transaction ends: its rollups, which have no foreign key to it, go with it.
 */
const tryLockRollups = async (sql: Sql, tenantId: Id): Promise<boolean> =>
  (await sql<{ isHeld: boolean }>(TRY_LOCK, [tenantId]))[0]?.isHeld === true

// It hops from tenant to tenant in the primary key: it costs by tenants, not by deltas.
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
 * Folds some of a tenant's deltas into the rollups: one statement, so that every reader sees a
 * delta either waiting or folded. The caller holds the lock: what a reader had (`held`) is read in
 * this statement's snapshot, and nobody else inserts such rows meanwhile. Deltas of a deleted
 * tenant are removed. `ceased` has its tenant from a subselect, as `lock_import_readers` does.
 */
const fold = (which: string): string =>
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
     SELECT $1, interval, at, reader_id, actions, comments FROM held WHERE is_new ORDER BY interval, at, reader_id
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
   SELECT count(*)::int AS count FROM taken`

const FOLD = statement(
  'analytics_fold',
  fold('id = ANY (ARRAY(SELECT id FROM analytics_deltas WHERE tenant_id = $1 ORDER BY id LIMIT $2))'),
)
const FOLD_READER = statement('analytics_fold_reader', fold('reader_id = $2'))

/** Folds the oldest ones. Returns how many there were, at most `limit`. */
const foldDeltas = async (sql: Sql, tenantId: Id, limit: number): Promise<number> =>
  (await sql<{ count: number }>(FOLD, [tenantId, limit]))[0]?.count ?? 0
