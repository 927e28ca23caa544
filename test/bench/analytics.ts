import { statement } from '../../src/core/sql.ts'
import type { Db } from '../../src/core/sql.ts'
import { openServer } from '../../src/data/server.ts'
import { openBare } from './post.ts'
import { median, startBenchService } from './service.ts'

const DAY_MS = 86_400_000
const TIMES = 40
const ROUNDS = 5

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
   SELECT t.id, md5('reader ' || n)::uuid, 'reader-' || n, now() FROM tenants t, generate_series(0, 199999) n`,
  `INSERT INTO analytics_activity (tenant_id, interval, at, reader_id, actions, comments_approved)
   SELECT t.id, 'day', date_trunc('day', now(), 'UTC') - d * interval '1 day',
     md5('reader ' || (d * 997 + n * 37) % 200000)::uuid, 9, 1 + (n * 31 + d) % 20
   FROM tenants t, generate_series(0, 91) d, generate_series(1, 5000) n`,
  'VACUUM ANALYZE',
]

/** The deltas of two busy seconds. */
const WAIT = `INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n)
  SELECT t.id, date_trunc('hour', now(), 'UTC'), md5('discussion ' || n % 300)::uuid, md5('reader ' || n)::uuid,
    'comments_approved', 1
  FROM tenants t, generate_series(1, 2000) n`

const TRIGGERS = ['comments', 'reactions', 'reports', 'deliveries']

let statements = 0
const run = (db: Db, text: string): Promise<unknown> => db.query(statement(`bench_analytics_${statements++}`, text))

/**
 * Reading a year of analytics beside SELECT 1, and what the triggers cost the create statement,
 * turn by turn.
 */
export async function benchAnalytics(): Promise<void> {
  const service = await startBenchService()
  const { db, close } = await openServer({ url: service.databaseUrl, size: 2, onError: () => undefined })
  try {
    for (const text of FILL) await run(db, text)
    const get = async (path: string): Promise<void> => {
      const url = `http://127.0.0.1:${service.port}/api/v1${path}`
      const response = await fetch(url, { headers: { 'x-api-key': service.apiKey } })
      const text = await response.text()
      if (response.status !== 200) throw new Error(text)
    }
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
    console.log('analytics: a year of 10 million comments, p50 and p99 over HTTP')
    await measure(reads)
    await run(db, WAIT)
    console.log('  the same with 2 000 changes that no worker has folded yet')
    await measure(reads)
    await benchTriggers(service.databaseUrl, db)
  } finally {
    await close()
    await service.close()
  }
}

async function measure(reads: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  const times = Object.keys(reads).map((): number[] => [])
  for (let n = -2; n < TIMES; n++) {
    for (const [index, read] of Object.values(reads).entries()) {
      const started = performance.now()
      await read()
      if (n >= 0) times[index]?.push(performance.now() - started)
    }
  }
  const reference = median(times[0] ?? [])
  for (const [index, name] of Object.keys(reads).entries()) {
    const sorted = (times[index] ?? []).toSorted((a, b) => a - b)
    const [p50, p99] = [median(sorted), sorted[Math.floor(sorted.length * 0.99)] ?? 0]
    const ratio = (p50 / reference).toFixed(1)
    console.log(`    ${name.padEnd(32)} ${p50.toFixed(2)} ms, ${p99.toFixed(2)} ms, ${ratio} times SELECT 1`)
  }
}

async function benchTriggers(databaseUrl: string, db: Db): Promise<void> {
  const bare = await openBare({ databaseUrl })
  const turn = async (state: 'ENABLE' | 'DISABLE'): Promise<number> => {
    for (const table of TRIGGERS) await run(db, `ALTER TABLE ${table} ${state} TRIGGER USER`)
    return bare.run()
  }
  await turn('ENABLE')
  const rounds = []
  for (let n = 0; n < ROUNDS; n++) rounds.push({ without: await turn('DISABLE'), with: await turn('ENABLE') })
  await bare.close()
  const rates = [median(rounds.map((each) => each.without)), median(rounds.map((each) => each.with))]
  const ratio = median(rounds.map((each) => each.with / each.without))
  console.log(`  the create statement, one comment each, 16 at once, median of ${ROUNDS} rounds
    without the triggers             ${rates[0]?.toFixed(0)} comments/s
    with them                        ${rates[1]?.toFixed(0)} comments/s, ratio ${ratio.toFixed(2)}`)
}
