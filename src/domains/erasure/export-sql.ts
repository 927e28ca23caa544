import { FIRST_ID, type Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { columnsOf } from '../comments/comment.ts'
import { SHOWN_COLUMNS, type ShownColumn, type Stored } from '../comments/fields.ts'

/**
 * Left out because `bodyHtml` is made from `body`, and the rest belongs to the thread. The author
 * is the reader.
 */
const LEFT_OUT = ['bodyHtml', 'depth', 'replyCount', 'pinnedAt'] as const satisfies readonly ShownColumn[]

type ExportedField = Exclude<ShownColumn, (typeof LEFT_OUT)[number]>

export const EXPORTED_FIELDS = SHOWN_COLUMNS.filter(
  (name): name is ExportedField => !LEFT_OUT.some((each) => each === name),
)

export interface ExportedCommentRow extends Pick<Stored, ExportedField> {
  discussionExternalId: string
}

const COMMENTS = statement(
  'export_comments',
  `SELECT ${columnsOf(EXPORTED_FIELDS)}, d.external_id AS "discussionExternalId"
   FROM comments c JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
   WHERE c.tenant_id = $1 AND c.author_id = $2 AND c.id > $3 ORDER BY c.id LIMIT $4`,
)

/**
 * Comments of the reader in any state, oldest first, after `after`; deleted ones with their stored
 * text.
 */
export const exportComments = (
  sql: Sql,
  tenantId: Id,
  readerId: Id,
  after: Id | undefined,
  limit: number,
): Promise<ExportedCommentRow[]> => sql<ExportedCommentRow>(COMMENTS, [tenantId, readerId, after ?? FIRST_ID, limit])

export interface ExportedRevision {
  commentId: Id
  revision: number
  body: string
  createdAt: Date
}

const REVISIONS = statement(
  'export_revisions',
  `SELECT comment_id AS "commentId", revision, body, created_at AS "createdAt" FROM comment_revisions
   WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[]) ORDER BY comment_id, revision`,
)

/** The earlier bodies of these edited comments. */
export const exportRevisions = (sql: Sql, tenantId: Id, commentIds: readonly Id[]): Promise<ExportedRevision[]> =>
  sql<ExportedRevision>(REVISIONS, [tenantId, commentIds])

export interface ExportedReport {
  commentId: Id
  reason: string
  note: string | null
  createdAt: Date
}

const REPORT = 'comment_id AS "commentId", reason, note, created_at AS "createdAt"'

const REPORTS_RECEIVED = statement(
  'export_reports_received',
  `SELECT ${REPORT} FROM reports WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[]) ORDER BY created_at`,
)

/** Reports of others on these comments, without who reported. */
export const exportReportsReceived = (sql: Sql, tenantId: Id, commentIds: readonly Id[]): Promise<ExportedReport[]> =>
  sql<ExportedReport>(REPORTS_RECEIVED, [tenantId, commentIds])

const REPORTS_MADE = statement(
  'export_reports_made',
  `SELECT ${REPORT} FROM reports WHERE tenant_id = $1 AND reader_id = $2 ORDER BY created_at`,
)

export const exportReportsMade = (sql: Sql, tenantId: Id, readerId: Id): Promise<ExportedReport[]> =>
  sql<ExportedReport>(REPORTS_MADE, [tenantId, readerId])

export interface ExportedReaction {
  commentId: Id
  type: string | null
  updatedAt: Date
}

const REACTIONS = statement(
  'export_reactions',
  `SELECT comment_id AS "commentId", type, updated_at AS "updatedAt" FROM (
     SELECT comment_id, type, updated_at FROM reactions WHERE tenant_id = $1 AND reader_id = $2
     UNION ALL
     SELECT comment_id, type, updated_at FROM shadow_reactions WHERE tenant_id = $1 AND reader_id = $2
   ) held ORDER BY comment_id, updated_at`,
)

/**
 * The reader's reactions, and when removed ones were removed; also those that a ban in shadow has
 * kept from counting.
 */
export const exportReactions = (sql: Sql, tenantId: Id, readerId: Id): Promise<ExportedReaction[]> =>
  sql<ExportedReaction>(REACTIONS, [tenantId, readerId])

export interface ExportedNotification {
  eventId: Id
  discussionId: Id
  seq: number
  commentId: Id
  parentCommentId: Id
  occurredAt: Date
}

const NOTIFICATIONS = statement(
  'export_notifications',
  `SELECT id AS "eventId", discussion_id AS "discussionId", seq, data->'comment'->>'id' AS "commentId",
     data->>'parentCommentId' AS "parentCommentId", occurred_at AS "occurredAt"
   FROM events WHERE tenant_id = $1 AND recipient_id = $2 AND type = 'notification_reply' ORDER BY id`,
)

/** The reader's notifications that are still in the log. */
export const exportNotifications = (sql: Sql, tenantId: Id, readerId: Id): Promise<ExportedNotification[]> =>
  sql<ExportedNotification>(NOTIFICATIONS, [tenantId, readerId])

export interface ExportedAuditEntry {
  id: Id
  action: string
  targetType: string
  targetId: string | null
  before: unknown
  after: unknown
  at: Date
}

const AUDIT = statement(
  'export_audit_entries',
  `SELECT id, action, target_type AS "targetType", target_id AS "targetId", before, after, at FROM audit_log
   WHERE tenant_id = $1 AND target_id = ANY($2::text[]) AND target_type = $3 ORDER BY id`,
)

/** Audit entries about these targets. */
export const exportAuditEntries = (
  sql: Sql,
  tenantId: Id,
  targetType: 'reader' | 'comment',
  targetIds: readonly Id[],
): Promise<ExportedAuditEntry[]> => sql<ExportedAuditEntry>(AUDIT, [tenantId, targetIds, targetType])
