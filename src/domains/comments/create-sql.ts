import type { Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { queueDeliveries } from '../discussions/events.ts'
import { isBanned } from '../readers/sql.ts'

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
  /** As the author's record may change it to pending, `comment` says it in the form `"status":"approved"`. */
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
  /** What the statement made of the row's: a shadow-banned reader's comment is pending. */
  status: 'approved' | 'pending'
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
     AS t (tenant_id, discussion_id, parent_id, id, author_id, body, body_html, proposed, max_depth, created_event_id,
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
     SELECT i.*, s.status, l.seq AS last_seq, coalesce(p.depth + 1, 0) AS depth, p.author_id AS recipient_id,
       pr.external_id AS recipient_external_id,
       CASE
         WHEN l.id IS NULL THEN 'not_found'
         WHEN a.id IS NULL THEN 'unavailable'
         WHEN l.state = 'archived' THEN 'discussion_archived'
         WHEN l.state = 'locked' THEN 'discussion_locked'
         WHEN ${isBanned('a', '$14')} AND NOT a.shadow_banned THEN 'reader_banned'
         WHEN i.parent_id IS NOT NULL AND p.id IS NULL THEN 'parent_not_found'
         WHEN p.depth + 1 > i.max_depth THEN 'too_deep'
         ELSE 'created'
       END AS outcome,
       CASE WHEN s.status = 'approved' AND p.author_id <> i.author_id THEN 1 ELSE 0 END AS notifies
     FROM input i
     LEFT JOIN readers a ON a.tenant_id = i.tenant_id AND a.id = i.author_id
     LEFT JOIN locked l ON l.tenant_id = i.tenant_id AND l.id = i.discussion_id
     LEFT JOIN (SELECT DISTINCT * FROM parents) p
       ON p.tenant_id = i.tenant_id AND p.id = i.parent_id AND p.discussion_id = i.discussion_id
     LEFT JOIN readers pr ON pr.tenant_id = p.tenant_id AND pr.id = p.author_id
     CROSS JOIN LATERAL (
       SELECT CASE WHEN ${isBanned('a', '$14')} AND a.shadow_banned THEN 'pending' ELSE i.proposed END AS status
     ) s
   ),
   numbered AS MATERIALIZED (
     SELECT *,
       last_seq - notifies + sum(1 + notifies) OVER (PARTITION BY tenant_id, discussion_id ORDER BY n) AS seq,
       '{"comment":' || replace(replace(comment, '${DEPTH_SLOT}', '"depth":' || depth),
         '"status":"' || proposed || '"', '"status":"' || status || '"') AS data
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
     INSERT INTO comments (tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status, first_approved_at,
       created_at)
     SELECT tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status::comment_status,
       CASE WHEN status = 'approved' THEN $14::timestamptz END, $14
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
   SELECT j.outcome, j.depth, j.status, c.seq, r.data AS "replyData", r.recipient_id AS "recipientId",
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
