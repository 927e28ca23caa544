import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'

const SET_STATE = statement(
  'set_discussion_state',
  'UPDATE discussions SET state = $3::discussion_state WHERE tenant_id = $1 AND id = $2',
)

export const setDiscussionState = async (sql: Sql, tenantId: Id, id: Id, state: DiscussionState): Promise<void> =>
  void (await sql(SET_STATE, [tenantId, id, state]))

const PARENT_AUTHOR = statement(
  'parent_author',
  `SELECT r.id AS "readerId", r.external_id AS "externalId"
   FROM comments p JOIN readers r ON r.tenant_id = p.tenant_id AND r.id = p.author_id
   WHERE p.tenant_id = $1 AND p.id = $2 AND p.status <> 'deleted'`,
)

/** Who wrote a comment; undefined for a deleted one. */
export const findParentAuthor = async (
  sql: Sql,
  tenantId: Id,
  id: Id,
): Promise<{ readerId: Id; externalId: string } | undefined> =>
  (await sql<{ readerId: Id; externalId: string }>(PARENT_AUTHOR, [tenantId, id]))[0]
