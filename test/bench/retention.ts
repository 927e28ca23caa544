import { newId } from '../../src/core/ids.ts'
import type { Sql } from '../../src/core/database/database.ts'
import { statement } from '../../src/core/database/statements.ts'
import { deleteOldEvents } from '../../src/worker/statements/retention-sql.ts'
import { unnamed } from '../harness/sql.ts'
import { openBare } from './bare-posts.ts'
import { demoTenant } from './fill.ts'
import { figure, inTurns, median, print, printTurns } from './figures.ts'
import { closing } from './scripts.ts'
import { openDatabase, startBenchService } from './service.ts'
import { sized } from './size.ts'

const EVENTS = sized(400_000, 4000)
const DISCUSSIONS = sized(400, 4)
/** As the worker's chore does it. */
const BATCH = 2000
const SECONDS = sized(4, 0.1)

const PATIENCE = statement('retention_patience', 'SET statement_timeout = 0')
const VACUUM = statement('retention_vacuum', 'VACUUM (ANALYZE) events')
const SIZE = unnamed("SELECT pg_total_relation_size('events')::float8 / 1048576 AS mb")

const OLD_EVENTS = statement(
  'retention_old_events',
  `WITH made AS (
     INSERT INTO discussions (tenant_id, id, external_id) SELECT $1, d, d::text FROM unnest($2::uuid[]) AS d)
   INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
   SELECT $1, d, n, gen_random_uuid(), 'comment_created', 'public', now() - interval '60 days' + n * interval '1 second',
     '{"kind":"system"}', json_build_object('comment', json_build_object('body', repeat('text ', 120)))
   FROM unnest($2::uuid[]) AS d CROSS JOIN generate_series(1, $3::int / cardinality($2::uuid[])) AS n`,
)

/**
 * The cost of deleting events: the time of a batch, its effect on concurrent comments, and whether
 * the table grows when as many events come again.
 */
export const benchRetention = (): Promise<void> =>
  closing(async (opened) => {
    const service = opened(await startBenchService())
    const { db } = opened(await openDatabase(service))
    const bare = opened(await openBare(service))
    await db.query(PATIENCE)
    const tenantId = await demoTenant(db)
    const comments = async () => ({ perSecond: await bare.run(SECONDS) })
    await comments()
    const round = async () => {
      await db.query(OLD_EVENTS, [tenantId, Array.from({ length: DISCUSSIONS }, newId), EVENTS])
      await db.query(VACUUM)
      const mb = (await db.query<{ mb: number }>(SIZE))[0]?.mb ?? NaN
      const alone = await comments()
      const { beside, forgotten } = await forgetWhile(db.query, comments)
      await deleteAll(db.query)
      // As autovacuum would, long before as many have come again.
      await db.query(VACUUM)
      return { mb, alone, beside, forgotten }
    }
    const { all } = await inTurns({ all: round }, (side) => side(), { rounds: 3, warm: 0 })
    const title = `retention: ${EVENTS} old events, ${BATCH} at a time, beside the create statement on 16 connections`
    printTurns(title, {
      'comments alone': all.map(({ alone }) => alone),
      'comments meanwhile': all.map(({ beside }) => beside),
    })
    const of = (pick: (each: (typeof all)[number]['forgotten']) => number): string =>
      figure(median(all.map(({ forgotten }) => pick(forgotten))))
    print(`a batch: p50 ${of(({ p50 }) => p50)} ms, longest ${of(({ longest }) => longest)} ms`)
    print(`forgotten: ${of(({ perSecond }) => perSecond)} events/s`)
    print(`the table, round by round: ${all.map(({ mb }) => `${figure(mb)} MB`).join(', ')}`)
  })

/** Deletes as long as `work` takes. */
async function forgetWhile<T>(sql: Sql, work: () => Promise<T>) {
  let isOver = false
  const working = work().finally(() => (isOver = true))
  const taken: number[] = []
  let count = 0
  const begun = performance.now()
  while (!isOver) {
    const from = performance.now()
    count += (await deleteOldEvents(sql, BATCH)).deleted
    taken.push(performance.now() - from)
  }
  const perSecond = (count * 1000) / (performance.now() - begun)
  return { beside: await working, forgotten: { p50: median(taken), longest: Math.max(...taken), perSecond } }
}

async function deleteAll(sql: Sql): Promise<void> {
  while ((await deleteOldEvents(sql, BATCH)).deleted > 0);
}
