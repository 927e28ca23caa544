import type { Id } from '../../core/ids.ts'
import { type Sql, statement, toSnakeCase } from '../../core/sql.ts'
import { queueDeliveries } from '../discussions/append-events.ts'
import { banIn } from '../readers/bans.ts'
import { approvedComments, repeatsText, repetitionsSince } from './history-sql.ts'
import type { CommentRow } from './row.ts'
import type { HoldPolicy, Judgement } from './rules.ts'

/** Stands for the depth, which only the statement knows, in the JSON of a comment to create. */
export const UNKNOWN_DEPTH = -1

/**
 * Where the statement puts the depth. A text within the JSON cannot hold it: its quotes are escaped
 * there.
 */
export const DEPTH_SLOT = `"depth":${UNKNOWN_DEPTH}`

/** What the JSON of a comment to create says of its status, until the statement has decided. */
export const STATUS_SLOT = '"status":"approved"'

/** What a new comment has from the defaults of its columns. */
type Default = 'pinnedAt' | 'editedAt' | 'deletedAt' | 'revision' | 'replyCount' | 'reactionCounts'
type OfReader = 'authorExternalId' | 'authorName' | 'authorAvatarUrl' | 'authorProfileUrl'
/** What the statement decides of the row. */
type Decided = 'depth' | 'status' | 'createdAt'
type Given = Pick<CommentRow, Exclude<keyof CommentRow, Default | OfReader | Decided>>

/**
 * One comment to create; arrays of these, column by column, are the parameters of the statement.
 */
export interface CreateRow extends Judgement, HoldPolicy, Given {
  tenantId: Id
  authorId: Id
  body: string
  bodyHtml: string
  maxDepth: number
  createdEventId: Id
  replyEventId: Id
  /** The actor of the event, JSON text. */
  actor: string
  /** The comment, JSON text with DEPTH_SLOT and STATUS_SLOT. */
  comment: string
  /** The trace of the request; null where it has none. */
  trace: string | null
}

export type CreateOutcome =
  | 'created'
  /**
   * Another transaction holds the discussion's lock: nothing was written. Only of
   * `insertUnlockedComments`.
   */
  | 'busy'
  | 'not_found'
  /** The reader's record went away between its look-up and now: see `asReader`. */
  | 'unavailable'
  | 'discussion_archived'
  | 'discussion_locked'
  | 'reader_banned'
  | 'parent_not_found'
  | 'too_deep'

export interface CreateResult {
  outcome: CreateOutcome
  depth: number
  /** What came of the rules and of the author's record. */
  status: 'approved' | 'pending'
  /** Whether it is in a queue of the moderators. */
  isQueued: boolean
  /** Whether a worker is to ask the tenant's classifier. */
  isAsked: boolean
  /**
   * Of `comment_created`; a `notification_reply` has the next one. Null where nothing was created.
   */
  seq: number | null
  /** The JSON text of the reply notification's data; null where nobody is told. */
  replyData: string | null
  recipientId: Id | null
  /** Of the whole batch. */
  deliveries: number
}

/** The columns of a new comment that are given, with their types. Its JSON says the same. */
const GIVEN = {
  tenantId: 'uuid',
  discussionId: 'uuid',
  parentId: 'uuid',
  id: 'uuid',
  authorId: 'uuid',
  body: 'text',
  bodyHtml: 'text',
  textDigest: 'bigint',
} as const satisfies Record<keyof Given | 'tenantId' | 'textDigest', string>

/** What the statement is given beside. */
const BESIDE = {
  repeats: 'bool',
  approvedBelow: 'int',
  reason: 'text',
  flags: 'bool',
  asks: 'bool',
  maxDepth: 'int',
  createdEventId: 'uuid',
  replyEventId: 'uuid',
  actor: 'text',
  comment: 'text',
  trace: 'text',
} as const satisfies Record<Exclude<keyof CreateRow, keyof typeof GIVEN>, string>

const INPUT = Object.entries({ ...GIVEN, ...BESIDE }) as [keyof CreateRow, string][]
const NOW = `$${INPUT.length + 1}`
const REPETITIONS_SINCE = `$${INPUT.length + 2}`

const columns = (names: object): string => Object.keys(names).map(toSnakeCase).join(', ')

interface Shape {
  /** What follows the locking clause. */
  ifLocked: '' | 'SKIP LOCKED'
  /** The outcome of a comment whose discussion's row was not locked. */
  otherwise: string
  /** Whether any of the comments may be a reply. */
  hasReplies: boolean
}

/**
 * Creates any number of comments in one statement, which is one transaction: rules, comments,
 * counters, numbers, events, deliveries. Discussions are locked in the order of their ids and
 * before comments, so that two batches never wait for each other. A refused row has its own outcome
 * and harms no other.
 *
 * It is written so that its plan is good for tables of which PostgreSQL has no statistics yet. `IS
 * NOT DISTINCT FROM` keeps it from looking for a parent among all comments of the discussion: that
 * took 0.7 s a statement in a new, busy one. LATERAL keeps it from reading all discussions. Each
 * part of a plan costs time even where it finds nothing: without replies theirs are left out. The
 * input stands in subselects, which hide how long the arrays are: where PostgreSQL knows it, it
 * takes a plan for that length to be cheaper, and plans each execution again.
 */
const createComments = <Name extends string>(name: Name, { ifLocked, otherwise, hasReplies }: Shape) => {
  const ofReplies = (sql: string): string => (hasReplies ? sql : '')
  return statement(
    name,
    `WITH input AS (
     SELECT * FROM unnest(${INPUT.map(([, type], index) => `(SELECT $${index + 1}::${type}[])`).join(', ')}) WITH ORDINALITY
     AS t (${columns(GIVEN)}, ${columns(BESIDE)}, n)
   ),
   locked AS MATERIALIZED (
     SELECT l.* FROM (SELECT DISTINCT tenant_id, discussion_id FROM input ORDER BY 1, 2) i
     CROSS JOIN LATERAL (
       SELECT d.tenant_id, d.id, d.state, d.seq FROM discussions d
       WHERE d.tenant_id = i.tenant_id AND d.id = i.discussion_id FOR NO KEY UPDATE OF d ${ifLocked}
     ) l
   ),${ofReplies(`
   parents AS MATERIALIZED (
     SELECT p.tenant_id, p.id, p.discussion_id, p.depth, p.author_id FROM locked l
     JOIN input i ON i.tenant_id = l.tenant_id AND i.discussion_id = l.id
     JOIN comments p ON p.tenant_id = i.tenant_id AND p.id = i.parent_id
     WHERE p.discussion_id IS NOT DISTINCT FROM i.discussion_id AND p.status = 'approved'
     FOR NO KEY UPDATE OF p
   ),`)}
   judged AS MATERIALIZED (
     SELECT i.*, l.seq AS last_seq, ${banIn('a', NOW)} IS NOT DISTINCT FROM 'shadow' AS in_shadow,
       ${hasReplies ? 'coalesce(p.depth + 1, 0) AS depth, p.author_id AS recipient_id, pr.external_id AS recipient_external_id' : '0 AS depth'},
       CASE
         WHEN l.id IS NULL THEN ${otherwise}
         WHEN a.id IS NULL THEN 'unavailable'
         WHEN l.state = 'archived' THEN 'discussion_archived'
         WHEN l.state = 'locked' THEN 'discussion_locked'
         WHEN ${banIn('a', NOW)} = 'open' THEN 'reader_banned'
         ${ofReplies(`WHEN i.parent_id IS NOT NULL AND p.id IS NULL THEN 'parent_not_found'
         WHEN p.depth + 1 > i.max_depth THEN 'too_deep'`)}
         ELSE 'created'
       END AS outcome
     FROM input i
     LEFT JOIN readers a ON a.tenant_id = i.tenant_id AND a.id = i.author_id AND a.erasing_at IS NULL
     LEFT JOIN locked l ON l.tenant_id = i.tenant_id AND l.id = i.discussion_id${ofReplies(`
     LEFT JOIN (SELECT DISTINCT * FROM parents) p
       ON p.tenant_id = i.tenant_id AND p.id = i.parent_id AND p.discussion_id = i.discussion_id
     LEFT JOIN readers pr ON pr.tenant_id = p.tenant_id AND pr.id = p.author_id`)}
   ),
   ruled AS MATERIALIZED (
     SELECT *, outcome = 'created' AS is_created, CASE
       WHEN outcome <> 'created' THEN NULL
       WHEN repeats AND text_digest IS NOT NULL
         AND ${repeatsText('judged.tenant_id', 'judged.author_id', 'judged.text_digest', `${REPETITIONS_SINCE}::uuid`)}
       THEN 'repeated_text'
       WHEN approved_below > 0
         AND ${approvedComments('judged.tenant_id', 'judged.author_id', 'judged.approved_below')} < approved_below
       THEN 'first_comments'
       ELSE reason
     END AS verdict
     FROM judged
   ),
   decided AS (
     SELECT *, CASE WHEN in_shadow OR asks OR (verdict IS NOT NULL AND NOT flags) THEN 'pending' ELSE 'approved' END AS status,
       coalesce(verdict, CASE WHEN in_shadow THEN 'shadow_ban' WHEN asks THEN 'classifier' END) AS hold_reason,
       verdict IS NOT NULL AND flags AND NOT in_shadow AS flagged,
       is_created AND asks AND NOT in_shadow AND (verdict IS NULL OR flags) AS is_asked
     FROM ruled
   ),
   numbered AS MATERIALIZED (
     SELECT d.*, ${ofReplies('s.notifies,')}
       CASE WHEN is_created THEN last_seq ${ofReplies('- s.notifies')}
         + sum(${hasReplies ? '1 + s.notifies' : '1'}) FILTER (WHERE is_created) OVER (PARTITION BY tenant_id, discussion_id ORDER BY n) END AS seq,
       '{"comment":' || replace(replace(comment, '${DEPTH_SLOT}', '"depth":' || depth),
         '${STATUS_SLOT}', '"status":"' || status || '"') AS data
     FROM decided d${ofReplies(`
     CROSS JOIN LATERAL (
       SELECT CASE WHEN is_created AND status = 'approved' AND recipient_id <> author_id THEN 1 ELSE 0 END AS notifies
     ) s`)}
   ),
   bumped AS (
     UPDATE discussions d SET
       seq = d.seq + s.events, comment_count = d.comment_count + s.approved, updated_at = ${NOW},
       last_commented_at = CASE WHEN s.approved > 0 THEN ${NOW} ELSE d.last_commented_at END,
       active_at = CASE WHEN s.approved > 0 THEN date_trunc('minute', ${NOW}::timestamptz) ELSE d.active_at END
     FROM (
       SELECT tenant_id, discussion_id, ${hasReplies ? 'sum(1 + notifies)' : 'count(*)'} AS events,
         count(*) FILTER (WHERE status = 'approved') AS approved
       FROM numbered WHERE is_created GROUP BY tenant_id, discussion_id
     ) s
     WHERE d.tenant_id = s.tenant_id AND d.id = s.discussion_id
   ),
   created AS (
     INSERT INTO comments (${columns(GIVEN)}, depth, status, hold_reason, flagged, first_approved_at, created_at)
     SELECT ${columns(GIVEN)}, depth, status::comment_status, hold_reason, flagged,
       CASE WHEN status = 'approved' THEN ${NOW}::timestamptz END, ${NOW}
     FROM numbered WHERE is_created
   ),
   asked AS (
     INSERT INTO classifier_requests (tenant_id, comment_id, revision, due_at)
     SELECT tenant_id, id, 1, now() FROM numbered WHERE is_asked
   ),${ofReplies(`
   replied AS (
     UPDATE comments p SET reply_count = p.reply_count + s.replies
     FROM (
       SELECT tenant_id, parent_id, count(*) AS replies FROM numbered
       WHERE is_created AND parent_id IS NOT NULL AND status = 'approved' GROUP BY tenant_id, parent_id
     ) s
     WHERE p.tenant_id = s.tenant_id AND p.id = s.parent_id
   ),`)}
   happened AS MATERIALIZED (
     SELECT n, tenant_id, discussion_id, seq, created_event_id AS event_id, 'comment_created' AS type,
       CASE WHEN status = 'approved' THEN 'public' ELSE 'tenant' END AS audience, NULL::uuid AS recipient_id,
       actor, data || '}' AS data, trace
     FROM numbered WHERE is_created${ofReplies(`
     UNION ALL
     SELECT n, tenant_id, discussion_id, seq + 1, reply_event_id, 'notification_reply', 'recipient', recipient_id, actor,
       data || ',"parentCommentId":"' || parent_id || '","recipient":{"readerId":"' || recipient_id
         || '","externalId":' || to_json(recipient_external_id) || '}}', trace
     FROM numbered WHERE notifies = 1`)}
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data, trace)
     SELECT tenant_id, discussion_id, seq, event_id, type, audience, recipient_id, ${NOW}, actor::json, data::json, trace FROM happened
   ),
   queued AS (${queueDeliveries('happened')})
   SELECT c.outcome, c.depth, CASE WHEN is_created THEN c.status ELSE 'pending' END AS status, c.is_asked AS "isAsked",
     c.is_created AND (c.status = 'pending' OR c.flagged) AS "isQueued", c.seq,
     ${hasReplies ? 'r.data AS "replyData", r.recipient_id AS "recipientId"' : 'NULL AS "replyData", NULL::uuid AS "recipientId"'},
     (SELECT count(*) FROM queued) AS deliveries
   FROM numbered c${ofReplies(`
   LEFT JOIN happened r ON r.n = c.n AND r.type = 'notification_reply'`)}
   ORDER BY c.n`,
  )
}

const WAIT = { ifLocked: '', otherwise: "'not_found'" } as const
const SKIP = {
  ifLocked: 'SKIP LOCKED',
  otherwise: `coalesce(
    (SELECT 'busy' FROM discussions d WHERE d.tenant_id = i.tenant_id AND d.id = i.discussion_id), 'not_found')`,
} as const

const CREATE = {
  roots: createComments('create_roots', { ...WAIT, hasReplies: false }),
  any: createComments('create_comments', { ...WAIT, hasReplies: true }),
}
const CREATE_UNLOCKED = {
  roots: createComments('create_unlocked_roots', { ...SKIP, hasReplies: false }),
  any: createComments('create_unlocked_comments', { ...SKIP, hasReplies: true }),
}

/** See `createComments`. Waits for locks of discussions. The results are in the order of `rows`. */
export const insertComments = (sql: Sql, rows: readonly CreateRow[], now: Date): Promise<CreateResult[]> =>
  sql<CreateResult>(CREATE[shapeOf(rows)], paramsOf(rows, now))

/**
 * The same, but comments in a discussion that another transaction has locked are `busy`: no other
 * comment waits for it.
 */
export const insertUnlockedComments = (sql: Sql, rows: readonly CreateRow[], now: Date): Promise<CreateResult[]> =>
  sql<CreateResult>(CREATE_UNLOCKED[shapeOf(rows)], paramsOf(rows, now))

const shapeOf = (rows: readonly CreateRow[]): keyof typeof CREATE =>
  rows.every(({ parentId }) => parentId === null) ? 'roots' : 'any'

const paramsOf = (rows: readonly CreateRow[], now: Date): unknown[] => [
  ...INPUT.map(([field]) => rows.map((row) => row[field])),
  now,
  repetitionsSince(now),
]
