import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { DiscussionState } from '../../generated/prisma/enums.ts'

export interface DiscussionRow {
  id: Id
  externalId: string
  title: string | null
  url: string | null
  state: DiscussionState
  commentCount: number
  seq: number
  createdAt: Date
  updatedAt: Date
  lastCommentedAt: Date | null
  activeAt: Date
}

export const DISCUSSION_COLUMNS = `id, external_id AS "externalId", title, url, state::text, comment_count AS "commentCount", seq,
  created_at AS "createdAt", updated_at AS "updatedAt", last_commented_at AS "lastCommentedAt", active_at AS "activeAt"`

const BY_ID = statement(
  'discussion_by_id',
  `SELECT ${DISCUSSION_COLUMNS} FROM discussions WHERE tenant_id = $1 AND id = $2`,
)

export const selectDiscussion = async (sql: Sql, tenantId: Id, id: Id): Promise<DiscussionRow | undefined> =>
  (await sql<DiscussionRow>(BY_ID, [tenantId, id]))[0]

/** What of a discussion a tenant may change. */
export type DiscussionFields = Pick<DiscussionRow, 'externalId' | 'title' | 'url'>

/** The fields of a discussion with these changes; undefined keeps the old value. */
export const changedRow = (
  row: DiscussionFields,
  changes: { [Name in keyof DiscussionFields]?: DiscussionFields[Name] | undefined },
): DiscussionFields => ({
  externalId: changes.externalId ?? row.externalId,
  title: changes.title === undefined ? row.title : changes.title,
  url: changes.url === undefined ? row.url : changes.url,
})

/** What the audit log holds of a discussion. */
export const auditForm = ({ externalId, title, url }: DiscussionFields): DiscussionFields => ({
  externalId,
  title,
  url,
})
