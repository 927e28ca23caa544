import { statement } from './database/statements.ts'

/**
 * For the rest of a transaction that reads a few hundred rows by key: without right statistics, the
 * planner might read the whole table.
 */
export const planByKey = statement(
  'plan_by_key',
  `SELECT set_config('enable_seqscan', 'off', true) AS seqscan,
     set_config('enable_hashjoin', 'off', true) AS hashjoin, set_config('enable_mergejoin', 'off', true) AS mergejoin`,
).run()
