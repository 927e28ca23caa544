import { FIRST_ID, type Id, LAST_ID } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { queueDeliveries } from '../discussions/events.ts'

export interface CommentRow {
  id: Id
  discussionId: Id
  parentId: Id | null
  depth: number
  authorId: Id | null
  authorExternalId: string | null
  authorName: string | null
  authorAvatarUrl: string | null
  authorProfileUrl: string | null
  body: string | null
  bodyHtml: string | null
  status: CommentStatus
  pinnedAt: Date | null
  editedAt: Date | null
  deletedAt: Date | null
  revision: number
  replyCount: number
  reactionCounts: Record<string, number>
  createdAt: Date
}

export const COMMENT_COLUMNS = `c.id, c.discussion_id AS "discussionId", c.parent_id AS "parentId", c.depth, c.author_id AS "authorId",
  r.external_id AS "authorExternalId", r.name AS "authorName", r.avatar_url AS "authorAvatarUrl",
  r.profile_url AS "authorProfileUrl", c.body, c.body_html AS "bodyHtml", c.status::text, c.pinned_at AS "pinnedAt",
  c.edited_at AS "editedAt", c.deleted_at AS "deletedAt", c.revision, c.reply_count AS "replyCount",
  c.reaction_counts AS "reactionCounts", c.created_at AS "createdAt"`

const FROM = 'comments c LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id'

const BY_ID = statement('comment_by_id', `SELECT ${COMMENT_COLUMNS} FROM ${FROM} WHERE c.tenant_id = $1 AND c.id = $2`)

export const selectComment = async (sql: Sql, tenantId: Id, id: Id): Promise<CommentRow | undefined> =>
  (await sql<CommentRow>(BY_ID, [tenantId, id]))[0]

// A thread level in the order of its index; one statement per order and level, so that each has its own plan.
const level = (name: string, isRoot: boolean, order: 'ASC' | 'DESC') =>
  statement(
    name,
    `SELECT ${COMMENT_COLUMNS} FROM ${FROM}
     WHERE c.tenant_id = $1 AND c.discussion_id = $2 AND c.parent_id ${isRoot ? 'IS NULL' : '= $5'}
       AND c.status IN ('approved', 'deleted') AND (c.status = 'approved' OR c.reply_count > 0)
       AND c.id ${order === 'DESC' ? '<' : '>'} $3
     ORDER BY c.id ${order} LIMIT $4`,
  )

const LEVELS = {
  newest: { root: level('roots_newest', true, 'DESC'), replies: level('replies_newest', false, 'DESC') },
  oldest: { root: level('roots_oldest', true, 'ASC'), replies: level('replies_oldest', false, 'ASC') },
} as const

export type CommentSort = keyof typeof LEVELS

/** Comments in view of one level of a thread: the roots, or the replies of `parentId`. */
export function listLevel(
  sql: Sql,
  tenantId: Id,
  discussionId: Id,
  { parentId, sort, after, limit }: { parentId: Id | null; sort: CommentSort; after: Id | null; limit: number },
): Promise<CommentRow[]> {
  const from = after ?? (sort === 'newest' ? LAST_ID : FIRST_ID)
  const params = [tenantId, discussionId, from, limit]
  return parentId === null
    ? sql<CommentRow>(LEVELS[sort].root, params)
    : sql<CommentRow>(LEVELS[sort].replies, [...params, parentId])
}

/** Stands for the depth, which only the statement knows, in the JSON of a comment to create. */
export const UNKNOWN_DEPTH = -1

/** Where the statement puts the depth. A text within the JSON cannot hold it: its quotes are escaped there. */
export const DEPTH_SLOT = `"depth":${UNKNOWN_DEPTH}`

/** One comment to create; arrays of these, column by column, are the parameters of the statement. */
export interface CreateRow {
  tenantId: Id
  discussionId: Id
  parentId: Id | null
  id: Id
  authorId: Id
  body: string
  bodyHtml: string
  status: 'approved' | 'pending'
  maxDepth: number
  createdEventId: Id
  replyEventId: Id
  /** The actor of the event, JSON text. */
  actor: string
  /** The comment, JSON text with DEPTH_SLOT. */
  comment: string
}

export type CreateOutcome =
  | 'created'
  | 'not_found'
  /** The reader's record went away between its look-up and now. */
  | 'unavailable'
  | 'discussion_archived'
  | 'discussion_locked'
  | 'reader_banned'
  | 'parent_not_found'
  | 'too_deep'

export interface CreateResult {
  outcome: CreateOutcome
  depth: number
  /** Of `comment_created`; a `notification_reply` has the next one. Null where nothing was created. */
  seq: number | null
  /** The JSON text of the reply notification's data; null where nobody is told. */
  replyData: string | null
  recipientId: Id | null
  /** Of the whole batch. */
  deliveries: number
}

/**
 * Creates any number of comments in one statement, which is one transaction: rules, comments, counters, numbers, events,
 * deliveries. Discussions are locked in the order of their ids and before comments, so that two batches never wait for
 * each other. A refused row has its own outcome and harms no other.
 */
const CREATE = statement(
  'create_comments',
  `WITH input AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[],
       $9::int[], $10::uuid[], $11::uuid[], $12::text[], $13::text[]) WITH ORDINALITY
     AS t (tenant_id, discussion_id, parent_id, id, author_id, body, body_html, status, max_depth, created_event_id,
       reply_event_id, actor, comment, n)
   ),
   locked AS MATERIALIZED (
     SELECT d.tenant_id, d.id, d.state, d.seq FROM discussions d
     WHERE (d.tenant_id, d.id) IN (SELECT tenant_id, discussion_id FROM input)
     ORDER BY d.tenant_id, d.id FOR NO KEY UPDATE OF d
   ),
   parents AS MATERIALIZED (
     SELECT p.tenant_id, p.id, p.discussion_id, p.depth, p.author_id FROM locked l
     JOIN input i ON i.tenant_id = l.tenant_id AND i.discussion_id = l.id
     JOIN comments p ON p.tenant_id = i.tenant_id AND p.id = i.parent_id AND p.discussion_id = i.discussion_id
     WHERE p.status = 'approved'
     FOR NO KEY UPDATE OF p
   ),
   judged AS MATERIALIZED (
     SELECT i.*, l.seq AS last_seq, coalesce(p.depth + 1, 0) AS depth, p.author_id AS recipient_id,
       pr.external_id AS recipient_external_id,
       CASE
         WHEN l.id IS NULL THEN 'not_found'
         WHEN a.id IS NULL THEN 'unavailable'
         WHEN l.state = 'archived' THEN 'discussion_archived'
         WHEN l.state = 'locked' THEN 'discussion_locked'
         WHEN a.banned_at IS NOT NULL AND NOT a.shadow_banned AND coalesce(a.banned_until > $14, true) THEN 'reader_banned'
         WHEN i.parent_id IS NOT NULL AND p.id IS NULL THEN 'parent_not_found'
         WHEN p.depth + 1 > i.max_depth THEN 'too_deep'
         ELSE 'created'
       END AS outcome,
       CASE WHEN i.status = 'approved' AND p.author_id <> i.author_id THEN 1 ELSE 0 END AS notifies
     FROM input i
     LEFT JOIN readers a ON a.tenant_id = i.tenant_id AND a.id = i.author_id
     LEFT JOIN locked l ON l.tenant_id = i.tenant_id AND l.id = i.discussion_id
     LEFT JOIN (SELECT DISTINCT * FROM parents) p
       ON p.tenant_id = i.tenant_id AND p.id = i.parent_id AND p.discussion_id = i.discussion_id
     LEFT JOIN readers pr ON pr.tenant_id = p.tenant_id AND pr.id = p.author_id
   ),
   numbered AS MATERIALIZED (
     SELECT *,
       last_seq - notifies + sum(1 + notifies) OVER (PARTITION BY tenant_id, discussion_id ORDER BY n) AS seq,
       '{"comment":' || replace(comment, '${DEPTH_SLOT}', '"depth":' || depth) AS data
     FROM judged WHERE outcome = 'created'
   ),
   bumped AS (
     UPDATE discussions d SET
       seq = d.seq + s.events, comment_count = d.comment_count + s.approved, updated_at = $14,
       last_commented_at = CASE WHEN s.approved > 0 THEN $14 ELSE d.last_commented_at END,
       active_at = CASE WHEN s.approved > 0 THEN date_trunc('minute', $14::timestamptz) ELSE d.active_at END
     FROM (
       SELECT tenant_id, discussion_id, sum(1 + notifies) AS events, count(*) FILTER (WHERE status = 'approved') AS approved
       FROM numbered GROUP BY tenant_id, discussion_id
     ) s
     WHERE d.tenant_id = s.tenant_id AND d.id = s.discussion_id
   ),
   created AS (
     INSERT INTO comments (tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status, created_at)
     SELECT tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status::comment_status, $14
     FROM numbered
   ),
   replied AS (
     UPDATE comments p SET reply_count = p.reply_count + s.replies
     FROM (
       SELECT tenant_id, parent_id, count(*) AS replies FROM numbered
       WHERE parent_id IS NOT NULL AND status = 'approved' GROUP BY tenant_id, parent_id
     ) s
     WHERE p.tenant_id = s.tenant_id AND p.id = s.parent_id
   ),
   happened AS MATERIALIZED (
     SELECT n, tenant_id, discussion_id, seq, created_event_id AS event_id, 'comment_created' AS type,
       CASE WHEN status = 'approved' THEN 'public' ELSE 'tenant' END AS audience, NULL::uuid AS recipient_id,
       actor, data || '}' AS data
     FROM numbered
     UNION ALL
     SELECT n, tenant_id, discussion_id, seq + 1, reply_event_id, 'notification_reply', 'recipient', recipient_id, actor,
       data || ',"parentCommentId":"' || parent_id || '","recipient":{"readerId":"' || recipient_id
         || '","externalId":' || to_json(recipient_external_id) || '}}'
     FROM numbered WHERE notifies = 1
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data)
     SELECT tenant_id, discussion_id, seq, event_id, type, audience, recipient_id, $14, actor::json, data::json FROM happened
   ),
   queued AS (${queueDeliveries('happened')})
   SELECT j.outcome, j.depth, c.seq, r.data AS "replyData", r.recipient_id AS "recipientId",
     (SELECT count(*) FROM queued) AS deliveries
   FROM judged j
   LEFT JOIN numbered c ON c.n = j.n
   LEFT JOIN happened r ON r.n = j.n AND r.type = 'notification_reply'
   ORDER BY j.n`,
)

const CREATE_COLUMNS = [
  'tenantId',
  'discussionId',
  'parentId',
  'id',
  'authorId',
  'body',
  'bodyHtml',
  'status',
  'maxDepth',
  'createdEventId',
  'replyEventId',
  'actor',
  'comment',
] as const satisfies readonly (keyof CreateRow)[]

/** See CREATE. The results are in the order of `rows`. */
export const insertComments = (sql: Sql, rows: readonly CreateRow[], now: Date): Promise<CreateResult[]> =>
  sql<CreateResult>(CREATE, [...CREATE_COLUMNS.map((column) => rows.map((row) => row[column])), now])
