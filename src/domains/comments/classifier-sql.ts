import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'

const ASK = statement(
  'ask_classifier',
  `INSERT INTO classifier_requests (tenant_id, comment_id, revision, due_at) VALUES ($1, $2, $3, now())
   ON CONFLICT (tenant_id, comment_id) DO UPDATE SET revision = excluded.revision, due_at = excluded.due_at`,
)

/**
 * Has a worker ask about a comment's new text. An answer about the text before counts for nothing.
 */
export const askClassifier = (sql: Sql, tenantId: Id, commentId: Id, revision: number): Promise<unknown> =>
  sql(ASK, [tenantId, commentId, revision])

const FORGET = statement(
  'forget_classifier_request',
  'DELETE FROM classifier_requests WHERE tenant_id = $1 AND comment_id = $2',
)

/**
 * Somebody else has decided: an answer that is still to come counts for nothing. The comment's row
 * is locked.
 */
export const forgetClassifierRequest = (sql: Sql, tenantId: Id, commentId: Id): Promise<unknown> =>
  sql(FORGET, [tenantId, commentId])
