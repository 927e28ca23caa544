import { statement } from '../../src/core/database/statements.ts'
import type { Db } from '../../src/core/database/database.ts'
import { openBare } from './bare-posts.ts'
import { type Figures, inTurns, printTurns, run, times } from './figures.ts'
import { closing } from './scripts.ts'
import { ask, type BenchService, openDatabase, startBenchService } from './service.ts'
import { sized } from './size.ts'

const DAY_MS = 86_400_000
const TIMES = sized(40, 2)
const READERS = sized(200_000, 2000)

// A year of 10 million comments, as the rollups hold it: every hour and day has a row; 3 000
// discussions, 300 of them commented on each day; 5 000 readers a day over the quarter that the
// tops can reach, of 200 000.
const FILL = [
  `INSERT INTO analytics_buckets (tenant_id, interval, at, comments_approved, comments_pending, comments_rejected,
     comments_deleted, reactions, reports, deliveries_delivered, deliveries_failed, active_readers)
   SELECT t.id, i.interval::analytics_interval, at, 1000, 5, 50, 80, 4000, 30, 5000, 20, 800
   FROM tenants t CROSS JOIN (VALUES ('hour'), ('day')) i(interval) CROSS JOIN LATERAL generate_series(
     date_trunc('day', now(), 'UTC') - interval '364 days', date_trunc('day', now(), 'UTC') + interval '23 hours',
     ('1 ' || i.interval)::interval) at`,
  `INSERT INTO discussions (tenant_id, id, external_id)
   SELECT t.id, md5('discussion ' || n)::uuid, 'page-' || n FROM tenants t, generate_series(0, 2999) n`,
  `INSERT INTO analytics_discussions (tenant_id, at, discussion_id, comments_approved)
   SELECT t.id, date_trunc('day', now(), 'UTC') - d * interval '1 day', md5('discussion ' || (d * 7 + n) % 3000)::uuid,
     1 + (n * 31 + d) % 200
   FROM tenants t, generate_series(0, 364) d, generate_series(1, 300) n`,
  `INSERT INTO readers (tenant_id, id, external_id, profile_issued_at)
   SELECT t.id, md5('reader ' || n)::uuid, 'reader-' || n, now() FROM tenants t, generate_series(0, ${READERS - 1}) n`,
  `INSERT INTO analytics_activity (tenant_id, interval, at, reader_id, actions, comments_approved)
   SELECT t.id, 'day', date_trunc('day', now(), 'UTC') - d * interval '1 day',
     md5('reader ' || (d * 997 + n * 37) % ${READERS})::uuid, 9, 1 + (n * 31 + d) % 20
   FROM tenants t, generate_series(0, 91) d, generate_series(1, ${READERS / 40}) n`,
  'VACUUM ANALYZE',
]

/** The deltas of two busy seconds. */
const WAIT = `INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n)
  SELECT t.id, date_trunc('hour', now(), 'UTC'), md5('discussion ' || n % 300)::uuid, md5('reader ' || n)::uuid,
    'comments_approved', 1
  FROM tenants t, generate_series(1, 2000) n`

const TRIGGERS = ['comments', 'reactions', 'reports', 'deliveries']

let statements = 0
const execute = (db: Db, text: string): Promise<unknown> => db.query(statement(`bench_analytics_${statements++}`, text))

/**
 * Reading a year of analytics beside SELECT 1, and what the triggers cost the create statement,
 * turn by turn.
 */
export const benchAnalytics = (): Promise<void> =>
  closing(async (opened) => {
    const service = opened(await startBenchService())
    const { db } = opened(await openDatabase(service, 2))
    for (const text of FILL) await execute(db, text)
    const get = async (path: string): Promise<string> => (await ask(service, 'GET', path)).text()
    const tomorrow = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS
    const since = (days: number): string => `from=${new Date(tomorrow - days * DAY_MS).toISOString()}`
    const select = statement('bench_select_1', 'SELECT 1')
    const reads = {
      'SELECT 1': () => db.query(select),
      'GET /settings': () => get('/settings'),
      'summary, a year by day': () => get(`/analytics/summary?${since(365)}`),
      'summary, a year by hour': () => get(`/analytics/summary?interval=hour&${since(365)}`),
      'top, 7 days': () => get('/analytics/top'),
      'top, 92 days': () => get(`/analytics/top?${since(92)}`),
    }
    await measure('analytics: a year of 10 million comments over HTTP', reads)
    await execute(db, WAIT)
    await measure('analytics: the same with 2 000 changes that no worker has folded yet', reads)
    await benchTriggers(service, db)
  })

/** Many rounds of one request each are one. */
async function measure(title: string, reads: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  const all = Object.fromEntries(Object.keys(reads).map((name) => [name, [] as number[]]))
  for (let n = -2; n < TIMES; n++) {
    for (const [name, read] of Object.entries(reads)) {
      const started = performance.now()
      await read()
      if (n >= 0) all[name]?.push(performance.now() - started)
    }
  }
  printTurns(title, Object.fromEntries(Object.entries(all).map(([name, ms]) => [name, [times(ms)]])))
}

const benchTriggers = (service: BenchService, db: Db): Promise<void> =>
  closing(async (opened) => {
    const bare = opened(await openBare(service))
    const turn = (state: 'ENABLE' | 'DISABLE') => async (): Promise<Figures> => {
      for (const table of TRIGGERS) await execute(db, `ALTER TABLE ${table} ${state} TRIGGER USER`)
      return { perSecond: await bare.run(sized(4, 0.1)) }
    }
    const sides = { 'without the triggers': turn('DISABLE'), 'with them': turn('ENABLE') }
    printTurns(
      'analytics: the create statement, one comment each, 16 at once',
      await inTurns(sides, run, { rounds: 5 }),
    )
  })
