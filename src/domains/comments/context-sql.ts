import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { COMMENT_COLUMNS, COMMENT_FROM, type CommentRow } from './sql.ts'

const BY_IDS = statement(
  'comments_by_ids',
  `SELECT ${COMMENT_COLUMNS} FROM ${COMMENT_FROM} WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[])`,
)

/** Those of the comments that there are, in no order. */
export const selectComments = (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<CommentRow[]> =>
  sql(BY_IDS, [tenantId, ids])
