import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { DISCUSSION_COLUMNS, type DiscussionRow } from './fields.ts'
import { IS_HERE } from './row.ts'

// The lock on a discussion's row is held until the transaction ends: no one else writes in the
// discussion meanwhile.

const LOCK = statement(
  'lock_discussion',
  `SELECT ${DISCUSSION_COLUMNS} FROM discussions WHERE tenant_id = $1 AND id = $2 AND ($3::boolean OR ${IS_HERE})
   FOR NO KEY UPDATE`,
)

/** An erasure goes on in a deleted discussion, until nothing of it is left (`orDeleted`). */
export const lockDiscussionRow = async (
  sql: Sql,
  tenantId: Id,
  id: Id,
  orDeleted = false,
): Promise<DiscussionRow | undefined> => (await sql<DiscussionRow>(LOCK, [tenantId, id, orDeleted]))[0]

/** Locks the discussions of some comments, in the order that all writers use. */
export const lockDiscussionsOf = statement(
  'lock_discussions_of_comments',
  `SELECT d.id FROM (
     SELECT DISTINCT c.discussion_id AS id FROM unnest($2::uuid[]) AS k (id) CROSS JOIN LATERAL (
       SELECT discussion_id FROM comments WHERE tenant_id = $1 AND id = k.id LIMIT 1) c
     ORDER BY 1
   ) i CROSS JOIN LATERAL (
     SELECT id FROM discussions WHERE tenant_id = $1 AND id = i.id LIMIT 1 FOR NO KEY UPDATE) d`,
).run<[tenantId: Id, commentIds: readonly Id[]]>()
