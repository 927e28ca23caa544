import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { statement } from '../../src/core/sql.ts'
import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import { openTestDatabase } from '../harness/database.ts'

const FOLDER = join(import.meta.dirname, '../../prisma/migrations')
const NAME = readdirSync(FOLDER).find((name) => name.endsWith('_analytics')) ?? ''

/** Rows of every kind and state, of two tenants, over the hours of four days. */
const FILL = `
  INSERT INTO tenants (id, slug) SELECT gen_random_uuid(), 'tenant-' || n FROM generate_series(1, 2) n;
  INSERT INTO readers (tenant_id, id, external_id, profile_issued_at)
  SELECT t.id, gen_random_uuid(), 'reader-' || n, now() FROM tenants t, generate_series(1, 7) n;
  INSERT INTO discussions (tenant_id, id, external_id)
  SELECT t.id, gen_random_uuid(), 'page-' || n FROM tenants t, generate_series(1, 4) n;
  INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, deleted_at, created_at)
  SELECT d.tenant_id, gen_random_uuid(), d.id, CASE WHEN random() < 0.9 THEN r.id END, 'text', 'text',
    s.status::comment_status, CASE s.status WHEN 'deleted' THEN now() END, now() - random() * interval '4 days'
  FROM discussions d JOIN readers r ON r.tenant_id = d.tenant_id
  CROSS JOIN unnest(ARRAY['pending', 'approved', 'approved', 'rejected', 'deleted']) s(status);
  INSERT INTO reactions (tenant_id, comment_id, reader_id, type, updated_at)
  SELECT c.tenant_id, c.id, r.id, CASE WHEN random() < 0.7 THEN 'like' END, now() - random() * interval '4 days'
  FROM comments c JOIN readers r ON r.tenant_id = c.tenant_id WHERE random() < 0.2;
  INSERT INTO reports (tenant_id, comment_id, reader_id, reason, created_at)
  SELECT c.tenant_id, c.id, r.id, 'spam', now() - random() * interval '4 days'
  FROM comments c JOIN readers r ON r.tenant_id = c.tenant_id WHERE random() < 0.1;
  INSERT INTO webhook_endpoints (tenant_id, id, url, event_types)
  SELECT id, gen_random_uuid(), 'https://example.com', ARRAY['*'] FROM tenants;
  INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, status, lease_id,
    delivered_at, created_at)
  SELECT e.tenant_id, gen_random_uuid(), e.id, gen_random_uuid(), 'comment_created', gen_random_uuid(), 1,
    s.status::delivery_status, CASE s.status WHEN 'delivering' THEN gen_random_uuid() END,
    CASE s.status WHEN 'delivered' THEN now() END, now() - random() * interval '4 days'
  FROM webhook_endpoints e, generate_series(1, 20) n,
    unnest(ARRAY['pending', 'delivering', 'delivered', 'failed', 'held']) s(status);`

const UNDO = `
  DROP TABLE analytics_deltas, analytics_buckets, analytics_activity, analytics_discussions;
  DROP FUNCTION analytics_count_comments, analytics_count_reactions, analytics_count_reports, analytics_count_deliveries CASCADE;
  DROP TYPE analytics_metric, analytics_interval;`

const ROLLUPS = statement(
  'test_rollups',
  `SELECT json_build_object(
     'buckets', (SELECT json_agg(b ORDER BY tenant_id, interval, at) FROM analytics_buckets b),
     'activity', (SELECT json_agg(a ORDER BY tenant_id, interval, at, reader_id) FROM analytics_activity a),
     'discussions', (SELECT json_agg(d ORDER BY tenant_id, at, discussion_id) FROM analytics_discussions d),
     'waiting', (SELECT count(*) FROM analytics_deltas)) AS rollups`,
)

test('on a database in use the migration counts what is there as the triggers would have', async () => {
  const database = await openTestDatabase()
  try {
    const { db } = database
    const run = (script: string) =>
      database.exclusively(async (adapter) => (await adapter.connect()).executeScript(script))
    const rollups = async () => (await db.query<{ rollups: Record<string, unknown> }>(ROLLUPS))[0]?.rollups
    await run(FILL)
    while (await foldWaiting({ db }));
    const counted = await rollups()
    expect(counted?.buckets).toHaveProperty('length')
    await run(UNDO)
    await run(readFileSync(join(FOLDER, NAME, 'migration.sql'), 'utf8'))
    expect(await rollups()).toEqual(counted)
  } finally {
    await database.close()
  }
})
