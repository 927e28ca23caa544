import { expect } from 'vitest'

import type { Db } from '../../src/core/database/database.ts'
import { unnamed } from './sql.ts'

const COUNTS = unnamed(`SELECT d.external_id AS page, d.comment_count AS stored,
     (SELECT count(*) FROM comments c WHERE c.tenant_id = d.tenant_id AND c.discussion_id = d.id AND c.status = 'approved') AS counted
   FROM discussions d WHERE d.tenant_id = $1`)
const REPLIES = unnamed(`SELECT c.id, c.reply_count AS stored,
     (SELECT count(*) FROM comments r WHERE r.tenant_id = c.tenant_id AND r.parent_id = c.id
       AND (r.status = 'approved' OR r.reply_count > 0)) AS counted
   FROM comments c WHERE c.tenant_id = $1`)
const REACTIONS = unnamed(`SELECT c.id, c.reaction_counts AS stored, coalesce((
     SELECT jsonb_object_agg(type, n) FROM (
       SELECT type, count(*) AS n FROM reactions r
       WHERE r.tenant_id = c.tenant_id AND r.comment_id = c.id AND r.type IS NOT NULL GROUP BY type) g), '{}') AS counted
   FROM comments c WHERE c.tenant_id = $1`)
const REPORTS = unnamed(`SELECT c.id, c.report_count AS stored,
     (SELECT count(*) FROM reports r WHERE r.tenant_id = c.tenant_id AND r.comment_id = c.id AND r.counted) AS counted
   FROM comments c WHERE c.tenant_id = $1`)
const SEQS =
  unnamed(`SELECT d.id, d.seq AS stored, (SELECT count(*) FROM events e WHERE e.tenant_id = d.tenant_id AND e.discussion_id = d.id) AS counted
   FROM discussions d WHERE d.tenant_id = $1`)

/** Every number that is kept is what a count gives. */
export async function expectExactCounts(db: Db, tenantId: string): Promise<void> {
  for (const of of [COUNTS, REPLIES, REACTIONS, REPORTS, SEQS]) {
    const rows = await db.query<{ stored: unknown; counted: unknown }>(of, [tenantId])
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter(({ stored, counted }) => JSON.stringify(stored) !== JSON.stringify(counted))).toEqual([])
  }
}
