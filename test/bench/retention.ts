import { newId } from '../../src/core/ids.ts'
import type { Sql } from '../../src/core/sql.ts'
import { statement } from '../../src/core/sql.ts'
import { openServer } from '../../src/data/server.ts'
import { deleteOldEvents } from '../../src/worker/retention-sql.ts'
import { unnamed } from '../harness/sql.ts'
import { openBare } from './post.ts'
import { median, startBenchService } from './service.ts'

const EVENTS = 400_000
const DISCUSSIONS = 400
/** As the worker's chore does it. */
const BATCH = 2000
const ROUNDS = 3

const TENANT = unnamed("SELECT id FROM tenants WHERE slug = 'demo'")
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

interface Round {
  /** Of the table, full. */
  mb: number
  /** Comments per second, alone and beside the deletion. */
  alone: number
  beside: number
  /** Milliseconds of a batch. */
  p50: number
  longest: number
  /** Events deleted per second. */
  perSecond: number
}

/**
 * The cost of deleting events: the time of a batch, its effect on concurrent comments, and whether
 * the table grows when as many events come again.
 */
export async function benchRetention(): Promise<void> {
  const service = await startBenchService()
  const { db, close } = await openServer({ url: service.databaseUrl, size: 1, onError: () => undefined })
  const bare = await openBare(service)
  try {
    await db.query(PATIENCE)
    const tenantId = (await db.query<{ id: string }>(TENANT))[0]?.id ?? ''
    await bare.run()
    const rounds: Round[] = []
    for (let n = 0; n < ROUNDS; n++) {
      await db.query(OLD_EVENTS, [tenantId, Array.from({ length: DISCUSSIONS }, newId), EVENTS])
      await db.query(VACUUM)
      const mb = (await db.query<{ mb: number }>(SIZE))[0]?.mb ?? 0
      const alone = await bare.run()
      rounds.push({ mb, alone, ...(await forgetWhile(db.query, bare.run)) })
      await deleteAll(db.query)
      // As autovacuum would, long before as many have come again.
      await db.query(VACUUM)
    }
    const of = (pick: (round: Round) => number): number => median(rounds.map(pick))
    console.log(`retention: ${EVENTS} old events, ${BATCH} at a time, beside the create statement on 16 connections
  a batch                   p50 ${of(({ p50 }) => p50).toFixed(0)} ms, longest ${of(({ longest }) => longest).toFixed(0)} ms
  forgotten                 ${of(({ perSecond }) => perSecond).toFixed(0)} events/s
  comments alone            ${of(({ alone }) => alone).toFixed(0)}/s
  comments meanwhile        ${of(({ beside }) => beside).toFixed(0)}/s
  the table, round by round ${rounds.map(({ mb }) => `${mb.toFixed(0)} MB`).join(', ')}`)
  } finally {
    await bare.close()
    await close()
    await service.close()
  }
}

/** Deletes as long as `work` takes. */
async function forgetWhile(sql: Sql, work: () => Promise<number>): Promise<Omit<Round, 'mb' | 'alone'>> {
  let isOver = false
  const working = work().finally(() => (isOver = true))
  const times: number[] = []
  let forgotten = 0
  const begun = performance.now()
  while (!isOver) {
    const from = performance.now()
    forgotten += (await deleteOldEvents(sql, BATCH)).deleted
    times.push(performance.now() - from)
  }
  const perSecond = (forgotten * 1000) / (performance.now() - begun)
  return { beside: await working, p50: median(times), longest: Math.max(...times), perSecond }
}

async function deleteAll(sql: Sql): Promise<void> {
  while ((await deleteOldEvents(sql, BATCH)).deleted > 0);
}
