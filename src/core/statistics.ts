import type { Db } from './database/database.ts'
import { isLockFailure } from './database/locks.ts'
import { statement } from './database/statements.ts'

/** One worker at a time: each ANALYZE makes every connection plan its statements again. */
const TURN = statement('statistics_turn', 'SELECT pg_try_advisory_xact_lock(7203114560) AS "isMine"')

// Tables that have had more rows written since their last ANALYZE than they had then, and that
// this role may analyze.
const OUTGROWN = statement(
  'outgrown_statistics',
  `SELECT format('%I', s.relname) AS name FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
   WHERE s.schemaname = current_schema() AND s.n_mod_since_analyze > greatest(500, c.reltuples)
     AND pg_has_role(c.relowner, 'USAGE')
     AND coalesce(greatest(s.last_analyze, s.last_autoanalyze), '-infinity') < now() - make_interval(secs => $1)
   ORDER BY 1`,
)

/**
 * The least time between two looks at a table: a small one with many writes would be analyzed all
 * the time.
 */
const PAUSE_SECONDS = 30

/**
 * Analyzes tables that have outgrown their statistics. Autovacuum comes only once a minute, and the
 * embedded form has none; until then a statement may keep a plan that was good for an empty table.
 */
export const renewStatistics = ({ transaction }: Db, pauseSeconds = PAUSE_SECONDS): Promise<void> =>
  transaction(async (sql) => {
    const [turn] = await sql<{ isMine: boolean }>(TURN)
    if (turn?.isMine !== true) return
    for (const { name } of await sql<{ name: string }>(OUTGROWN, [pauseSeconds])) {
      await sql(statement(`analyze_${name}`, `ANALYZE ${name}`))
    }
  }).catch((error: unknown) => {
    // A migration or autovacuum has locked a table; the next run comes soon.
    if (!isLockFailure(error)) throw error
  })
