import { FIRST_ID, type Id, LAST_ID } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { queueDeliveries } from '../discussions/events.ts'
import { isBanned } from '../readers/sql.ts'

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

type Order = 'ASC' | 'DESC'

const inLevel = (isRoot: boolean): string =>
  `c.tenant_id = $1 AND c.discussion_id = $2 AND c.parent_id ${isRoot ? 'IS NULL' : '= $5'}
   AND c.status IN ('approved', 'deleted') AND (c.status = 'approved' OR c.reply_count > 0)`

const unpinned = (isRoot: boolean, order: Order): string =>
  `SELECT ${COMMENT_COLUMNS} FROM ${FROM}
   WHERE ${inLevel(isRoot)} AND c.pinned_at IS NULL AND c.id ${order === 'DESC' ? '<' : '>'} $3
   ORDER BY c.id ${order} LIMIT $4`

// A thread level in the order of its index; one statement per order and level, so that each has its own plan.
const level = (name: string, isRoot: boolean, order: Order) => statement(name, unpinned(isRoot, order))

// The same where pinned ones come first: the last pinned before the others.
const pinnedLevel = (name: string, isRoot: boolean, order: Order) => {
  const [pinnedAt, id] = isRoot ? ['$5', '$6'] : ['$6', '$7']
  return statement(
    `${name}_pinned_first`,
    `SELECT * FROM (
       (SELECT ${COMMENT_COLUMNS} FROM ${FROM}
        WHERE ${inLevel(isRoot)} AND c.pinned_at IS NOT NULL AND (c.pinned_at, c.id) < (${pinnedAt}, ${id}::uuid)
        ORDER BY c.pinned_at DESC, c.id DESC LIMIT $4)
       UNION ALL
       (${unpinned(isRoot, order)})
     ) both_parts ORDER BY "pinnedAt" DESC NULLS LAST, CASE WHEN "pinnedAt" IS NOT NULL THEN id END DESC, id ${order} LIMIT $4`,
  )
}

const levels = (name: string, order: Order) => ({
  root: level(`roots_${name}`, true, order),
  replies: level(`replies_${name}`, false, order),
  pinnedRoot: pinnedLevel(`roots_${name}`, true, order),
  pinnedReplies: pinnedLevel(`replies_${name}`, false, order),
})

const LEVELS = { newest: levels('newest', 'DESC'), oldest: levels('oldest', 'ASC') } as const

export type CommentSort = keyof typeof LEVELS

/** The place of a comment in its level: pinned ones, the last pinned first, stand before all others. */
export interface LevelPlace {
  pinnedAt: string | null
  id: Id
}

interface Level {
  parentId: Id | null
  sort: CommentSort
  /** Null: from the beginning. */
  after: LevelPlace | null
  limit: number
}

/** Comments in view of one level of a thread: the roots, or the replies of `parentId`. */
export function listLevel(sql: Sql, tenantId: Id, discussionId: Id, at: Level): Promise<CommentRow[]> {
  const { root, replies, pinnedRoot, pinnedReplies } = LEVELS[at.sort]
  const parent = at.parentId === null ? [] : [at.parentId]
  if (at.after !== null && at.after.pinnedAt === null) {
    return sql(at.parentId === null ? root : replies, [tenantId, discussionId, at.after.id, at.limit, ...parent])
  }
  const start = at.sort === 'newest' ? LAST_ID : FIRST_ID
  const { pinnedAt, id } = at.after ?? { pinnedAt: 'infinity', id: LAST_ID }
  const params = [tenantId, discussionId, start, at.limit, ...parent, pinnedAt, id]
  return sql(at.parentId === null ? pinnedRoot : pinnedReplies, params)
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
