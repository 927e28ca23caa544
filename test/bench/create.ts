import { randomUUID } from 'node:crypto'

import pg from 'pg'

import { openBare } from './post.ts'
import { cpuMsOf, median, startBenchService } from './service.ts'

const CONNECTIONS = 16
const SECONDS = 4
const ROUNDS = 5

const TENANT = '00000000-0000-0000-0000-000000000001'

/** The minimum that stores a comment, its number, its event and its delivery. */
const SCHEMA = `
  CREATE SCHEMA lean;
  CREATE TABLE lean.discussions (tenant_id uuid, id uuid, state text DEFAULT 'open', seq bigint DEFAULT 0,
    comment_count int DEFAULT 0, PRIMARY KEY (tenant_id, id));
  CREATE TABLE lean.readers (tenant_id uuid, id uuid, external_id text, name text, PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, external_id));
  CREATE TABLE lean.comments (tenant_id uuid, id uuid, discussion_id uuid, parent_id uuid, author_id uuid, body text,
    body_html text, status text, created_at timestamptz DEFAULT now(), PRIMARY KEY (tenant_id, id));
  CREATE INDEX ON lean.comments (tenant_id, discussion_id, id);
  CREATE TABLE lean.events (tenant_id uuid, discussion_id uuid, seq bigint, id uuid, type text, payload text,
    created_at timestamptz DEFAULT now(), PRIMARY KEY (tenant_id, discussion_id, seq));
  CREATE TABLE lean.endpoints (tenant_id uuid, id uuid, types text[], PRIMARY KEY (tenant_id, id));
  CREATE TABLE lean.deliveries (tenant_id uuid, id uuid DEFAULT gen_random_uuid(), endpoint_id uuid, event_id uuid,
    status text DEFAULT 'pending', next_attempt_at timestamptz DEFAULT now(), PRIMARY KEY (tenant_id, id));
  CREATE INDEX ON lean.deliveries (next_attempt_at) WHERE status = 'pending';
  INSERT INTO lean.discussions (tenant_id, id)
    SELECT '${TENANT}', ('00000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid FROM generate_series(1, 500) n;
  INSERT INTO lean.readers SELECT '${TENANT}', gen_random_uuid(), 'r' || n, 'n' || n FROM generate_series(1, 1000) n;
  INSERT INTO lean.endpoints VALUES ('${TENANT}', gen_random_uuid(), '{*}')`

const CREATE = `
  WITH d AS (
    UPDATE lean.discussions SET seq = seq + 1, comment_count = comment_count + 1
    WHERE tenant_id = '${TENANT}' AND state = 'open'
      AND id = ('00000000-0000-0000-0000-' || lpad(to_hex($1::int), 12, '0'))::uuid
    RETURNING *
  ),
  r AS (SELECT * FROM lean.readers WHERE tenant_id = '${TENANT}' AND external_id = 'r' || $2::int),
  c AS (
    INSERT INTO lean.comments (tenant_id, id, discussion_id, author_id, body, body_html, status)
    SELECT d.tenant_id, gen_random_uuid(), d.id, r.id, repeat('x', 180), repeat('x', 180), 'approved' FROM d, r
    RETURNING *
  ),
  e AS (
    INSERT INTO lean.events (tenant_id, discussion_id, seq, id, type, payload)
    SELECT d.tenant_id, d.id, d.seq, gen_random_uuid(), 'comment_created',
      json_build_object('id', c.id, 'body', c.body, 'author', r.name)::text FROM d, c, r
    RETURNING *
  ),
  w AS (
    INSERT INTO lean.deliveries (tenant_id, endpoint_id, event_id)
    SELECT e.tenant_id, p.id, e.id FROM e JOIN lean.endpoints p ON p.tenant_id = e.tenant_id
    WHERE p.types && ARRAY['*', e.type]
  )
  SELECT e.seq, e.payload FROM e`

interface Rate {
  perSecond: number
  cpuMicros: number
}

interface Round {
  ours: Rate
  lean: Rate
}

/**
 * The create statement, a comment each, beside one that does the least for a comment, turn by turn
 * in the same database. Both have one endpoint, 500 discussions and a pool of 16.
 */
export async function benchCreate(): Promise<void> {
  const service = await startBenchService()
  const pool = new pg.Pool({ connectionString: service.databaseUrl, max: CONNECTIONS })
  try {
    const bare = await openBare(service)
    await pool.query(SCHEMA)
    await pool.query(
      `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state, policy)
       VALUES ($1, $2, 'https://receiver.example/', '{*}', 'verified', '{}')`,
      [bare.tenantId, randomUUID()],
    )
    const rounds: Round[] = []
    const measure = async (run: () => Promise<number>): Promise<Rate> => {
      const before = await backendsMs(pool)
      const perSecond = await run()
      return { perSecond, cpuMicros: (((await backendsMs(pool)) - before) / SECONDS / perSecond) * 1000 }
    }
    for (let n = 0; n <= ROUNDS; n++) {
      rounds.push({ ours: await measure(() => bare.run()), lean: await measure(() => runLean(pool)) })
    }
    // The first one warms both up.
    report(rounds.slice(1))
    await bare.close()
  } finally {
    await pool.end()
    await service.close()
  }
}

/** Statements per second. */
async function runLean(pool: pg.Pool): Promise<number> {
  const until = performance.now() + SECONDS * 1000
  const started = performance.now()
  let count = 0
  const loop = async (): Promise<void> => {
    for (; performance.now() < until; count++) {
      const values = [1 + Math.floor(Math.random() * 500), 1 + Math.floor(Math.random() * 1000)]
      await pool.query({ name: 'lean', text: CREATE, values })
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
  return count / ((performance.now() - started) / 1000)
}

/** Milliseconds of CPU that the connections to the database have used, which is on this machine. */
async function backendsMs(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database()',
  )
  return rows.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0)
}

function report(rounds: readonly Round[]): void {
  const of = (pick: (each: Round) => number): number => median(rounds.map(pick))
  const figures = (name: keyof Round): string =>
    `${of((each) => each[name].perSecond).toFixed(0)}/s, ${of((each) => each[name].cpuMicros).toFixed(0)} µs of PostgreSQL's CPU`
  console.log(`create: one comment each, ${CONNECTIONS} connections, 500 discussions, median of ${ROUNDS} rounds
  the least for a comment  ${figures('lean')}
  the create statement     ${figures('ours')}
  ratio                    ${of(({ ours, lean }) => ours.perSecond / lean.perSecond).toFixed(2)} (target: at least 0.7), CPU ${of(({ ours, lean }) => ours.cpuMicros / lean.cpuMicros).toFixed(1)}`)
}
