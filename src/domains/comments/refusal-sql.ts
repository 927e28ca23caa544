import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { writableState } from '../discussions/row.ts'
import { banIn } from '../readers/bans.ts'
import { inShadow } from './comment.ts'
import type { CreateOutcome } from './create-sql.ts'

// CREATE (create-sql.ts) decides again, under its locks. `status =` would let PostgreSQL take the
// partial index of lists, without statistics, and read all of it for a parent.
const OUTCOME = statement(
  'comment_outcome',
  `SELECT CASE
     WHEN $2::uuid IS NOT NULL AND d.id IS NULL THEN 'not_found'
     WHEN d.state = 'archived' THEN 'discussion_archived'
     WHEN ${writableState('d', '$6')} = 'locked' THEN 'discussion_locked'
     WHEN ${banIn('a', '$6')} = 'open' THEN 'reader_banned'
     WHEN $3::uuid IS NOT NULL AND p.id IS NULL THEN 'parent_not_found'
     WHEN p.depth + 1 > $5 THEN 'too_deep'
     ELSE 'created'
   END AS outcome
   FROM (SELECT $1::uuid AS tenant_id) t
   LEFT JOIN discussions d ON d.tenant_id = t.tenant_id AND d.id = $2 AND d.deleted_at IS NULL
   LEFT JOIN readers n ON n.tenant_id = t.tenant_id AND n.external_id = $4
   LEFT JOIN reader_merges m ON m.tenant_id = n.tenant_id AND m.alias_id = n.id
   LEFT JOIN readers a ON a.tenant_id = t.tenant_id AND a.id = coalesce(m.into_id, n.id) AND a.erasing_at IS NULL
   LEFT JOIN comments p
     ON p.tenant_id = t.tenant_id AND p.id = $3 AND p.discussion_id IS NOT DISTINCT FROM d.id
       AND (p.status IS NOT DISTINCT FROM 'approved'
         OR (${banIn('a', '$6')} = 'shadow' AND p.author_id = a.id AND ${inShadow('p')}))`,
)

interface RefusalInput {
  tenantId: Id
  /** Null for a page without a discussion. */
  discussionId: Id | null
  parentId: Id | null
  authorExternalId: string
  maxDepth: number
}

/** The outcome of a comment in this place, as far as its place and author decide it. */
export async function foreseeOutcome(sql: Sql, place: RefusalInput, now: Date): Promise<CreateOutcome> {
  const { tenantId, discussionId, parentId, authorExternalId, maxDepth } = place
  const values = [tenantId, discussionId, parentId, authorExternalId, maxDepth, now]
  const [row] = await sql<{ outcome: CreateOutcome }>(OUTCOME, values)
  return row?.outcome ?? 'not_found'
}
