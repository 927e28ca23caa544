import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type pg from 'pg'

import { rateOf } from './measure.ts'
import { missing } from './size.ts'

export const LEAN_CONNECTIONS = 16
const DISCUSSIONS = 500
const READERS = 1000

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
    SELECT '${TENANT}', ('00000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid
    FROM generate_series(1, ${DISCUSSIONS}) n;
  INSERT INTO lean.readers SELECT '${TENANT}', gen_random_uuid(), 'r' || n, 'n' || n FROM generate_series(1, ${READERS}) n;
  INSERT INTO lean.endpoints VALUES ('${TENANT}', gen_random_uuid(), '{*}')`

/** The statement; `discussion` and `reader` are SQL. */
const create = (discussion: string, reader: string): string => `
  WITH d AS (
    UPDATE lean.discussions SET seq = seq + 1, comment_count = comment_count + 1
    WHERE tenant_id = '${TENANT}' AND state = 'open'
      AND id = ('00000000-0000-0000-0000-' || lpad(to_hex((${discussion})::int), 12, '0'))::uuid
    RETURNING *
  ),
  r AS (SELECT * FROM lean.readers WHERE tenant_id = '${TENANT}' AND external_id = 'r' || (${reader})::int),
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

export const makeLean = (pool: pg.Pool): Promise<unknown> => pool.query(SCHEMA)

/** Statements per second over a pool of LEAN_CONNECTIONS. */
export function runLean(pool: pg.Pool, seconds: number): Promise<number> {
  const text = create('$1', '$2')
  const one = (): Promise<unknown> => {
    const values = [DISCUSSIONS, READERS].map((most) => 1 + Math.floor(Math.random() * most))
    return pool.query({ name: 'lean', text, values })
  }
  return rateOf(one, { connections: LEAN_CONNECTIONS, seconds })
}

const run = promisify(execFile)

/** The same by pgbench, which costs less than a pool in Node. */
export async function pgbenchLean(databaseUrl: string, seconds: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-lean-'))
  const file = join(folder, 'create.sql')
  try {
    const random = `\\set d random(1, ${DISCUSSIONS})\n\\set r random(1, ${READERS})\n`
    writeFileSync(file, `${random}${create(':d', ':r').replaceAll(/\s*\n\s*/g, ' ')};\n`)
    const options = [
      '-n',
      '-M',
      'prepared',
      '-c',
      `${LEAN_CONNECTIONS}`,
      '-j',
      '2',
      '-T',
      `${Math.ceil(seconds)}`,
      '-f',
      file,
    ]
    const { stdout } = await run('pgbench', [...options, databaseUrl]).catch(missing('pgbench'))
    return Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1])
  } finally {
    rmSync(folder, { recursive: true })
  }
}
