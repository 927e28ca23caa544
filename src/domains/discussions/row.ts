import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { DISCUSSION_COLUMNS, type DiscussionRow } from './fields.ts'

/** SQL: a discussion that is not deleted. */
export const IS_HERE = 'deleted_at IS NULL'

/**
 * SQL: the state of a discussion for readers who write. From its `closesAt` on it is locked, also
 * before a worker has locked it. One that was unlocked after that is open.
 */
export const writableState = (discussion: string, now: string): string =>
  `CASE WHEN ${discussion}.state = 'open' AND ${discussion}.closes_at <= ${now} AND ${discussion}.auto_closed_at IS NULL
     THEN 'locked' ELSE ${discussion}.state END`

const BY_ID = statement(
  'discussion_by_id',
  `SELECT ${DISCUSSION_COLUMNS} FROM discussions WHERE tenant_id = $1 AND id = $2 AND ($3::boolean OR ${IS_HERE})`,
)

export const selectDiscussion = async (
  sql: Sql,
  tenantId: Id,
  id: Id,
  orDeleted = false,
): Promise<DiscussionRow | undefined> => (await sql<DiscussionRow>(BY_ID, [tenantId, id, orDeleted]))[0]
