import type { Audience } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { IfLocked } from '../../core/shared-writer.ts'
import { type Param, type Sql, statement, toSnakeCase } from '../../core/sql.ts'
import { queueDeliveries } from '../discussions/append-events.ts'
import { banIn } from '../readers/bans.ts'
import { approvedComments, repeatsText, repetitionsSince } from './history-sql.ts'
import { type CommentRow, inShadow } from './comment.ts'
import type { HoldPolicy, Judgement } from './rules.ts'

/** A placeholder for the depth in a new comment's JSON: only the statement knows the depth. */
export const UNKNOWN_DEPTH = -1

/**
 * Where the statement inserts the depth. Text in the JSON cannot contain it, because its quotes are
 * escaped.
 */
const DEPTH_SLOT = `"depth":${UNKNOWN_DEPTH}`

/** What the JSON of a comment to create says of its status, until the statement has decided. */
const STATUS_SLOT = '"status":"approved"'

/** Fields that a new comment gets from the defaults of its columns. */
type Default = 'pinnedAt' | 'editedAt' | 'deletedAt' | 'revision' | 'replyCount' | 'reactionCounts'
type OfReader = 'authorExternalId' | 'authorName' | 'authorAvatarUrl' | 'authorProfileUrl'
/** Fields that the statement decides. */
type Decided = 'depth' | 'status' | 'inShadow' | 'createdAt'
type Given = Pick<CommentRow, Exclude<keyof CommentRow, Default | OfReader | Decided>>

/** One comment to create. Arrays of these, column by column, are the statement's parameters. */
export interface CreateRow extends Judgement, HoldPolicy, Given {
  tenantId: Id
  authorId: Id
  body: string
  bodyHtml: string
  maxDepth: number
  createdEventId: Id
  /** Null for a comment at the top level. */
  replyEventId: Id | null
  /** The event's actor, as JSON. */
  actor: string
  /** The comment, JSON text, with UNKNOWN_DEPTH and the status `approved`. */
  comment: string
  /** The request's trace; null if it has none. */
  trace: string | null
}

export type CreateOutcome =
  | 'created'
  /** The discussion is locked by another transaction, and nothing was written. Only with `skip`. */
  | 'busy'
  | 'not_found'
  /** The reader's record was removed after its look-up: see `asReader`. */
  | 'unavailable'
  | 'discussion_archived'
  | 'discussion_locked'
  | 'reader_banned'
  | 'parent_not_found'
  | 'too_deep'

export interface CreateResult {
  outcome: CreateOutcome
  depth: number
  /** The outcome of the rules and the author's history. */
  status: 'approved' | 'pending'
  /** Only the author's ban in shadow holds it: the answer says that it is approved. */
  inShadow: boolean
  /** Whether it is in a moderation queue. */
  isQueued: boolean
  /** Whether the tenant's classifier must be asked. */
  isAsked: boolean
  /**
   * The number of `comment_created`; a `notification_reply` has the next one. Null if nothing was
   * created.
   */
  seq: number | null
  audience: Exclude<Audience, 'own'>
  /** The JSON text of the data of `comment_created`; null where nothing was created. */
  data: string | null
  /** The same of the reply's notification; null where nobody is told. */
  replyData: string | null
  recipientId: Id | null
  /** For the whole batch. */
  deliveries: number
}

/** The given columns of a new comment, with their types. Its JSON has the same values. */
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

/** Further parameters of the statement. */
const BESIDE = {
  repeats: 'bool',
  reason: 'text',
  flags: 'bool',
  createdEventId: 'uuid',
  actor: 'text',
  comment: 'text',
  trace: 'text',
  approvedBelow: 'int',
  asks: 'bool',
  maxDepth: 'int',
  replyEventId: 'uuid',
} as const satisfies Record<Exclude<keyof CreateRow, keyof typeof GIVEN>, string>

/**
 * Fields that need not be passed if none of the comments is a reply, of a tenant with a classifier,
 * or judged by its author's number of comments; with the SQL for their value then.
 */
const PLAIN: Partial<Record<keyof CreateRow, string>> = {
  parentId: 'NULL::uuid',
  approvedBelow: '0',
  asks: 'false',
  maxDepth: '0',
  replyEventId: 'NULL::uuid',
}

const isPlain = ({ parentId, approvedBelow, asks }: CreateRow): boolean =>
  parentId === null && approvedBelow === 0 && !asks

const ALL = Object.entries({ ...GIVEN, ...BESIDE }) as [keyof CreateRow, string][]
const INPUT = { plain: ALL.filter(([field]) => PLAIN[field] === undefined), any: ALL }

const COLUMNS = Object.keys(GIVEN) as (keyof typeof GIVEN)[]

/**
 * Always true. Makes PostgreSQL expect one row, whose discussion or parent it looks up by key. It
 * expects ten rows of an array, for which it would read a table of some thousand rows.
 */
const FEW = 'n BETWEEN 1 AND 1000000'

interface Shape {
  /** Follows the locking clause. */
  ifLocked: '' | 'SKIP LOCKED'
  /** The outcome of a comment whose discussion could not be locked. */
  otherwise: (tenant: string, discussion: string) => string
  /** Whether all comments are plain: `PLAIN`. */
  arePlain: boolean
  /** Whether it creates one comment, whose fields are the parameters. */
  isOne: boolean
}

/**
 * Creates any number of comments in one statement, which is one transaction: rules, comments,
 * counters, numbers, events, deliveries. Discussions are locked in the order of their ids and
 * before comments, so that two batches never deadlock. A refused row has its own outcome and does
 * not affect the others.
 *
 * Its plan must be good while PostgreSQL has no statistics of the tables. `IS NOT DISTINCT FROM`
 * keeps it from searching for a parent among all comments of the discussion, which took 0.7 s a
 * statement in a new, busy one. LATERAL keeps it from reading all discussions or readers. Each part
 * of a plan costs time even if it finds nothing: the parts that plain comments do not need are left
 * out, and a single comment is not an array. The input is in subselects, which hide the arrays'
 * lengths: otherwise PostgreSQL would estimate a plan for that length to be cheaper, and plan each
 * execution again. OFFSET 0 keeps a part from being merged into the next one, which would compute
 * it several times.
 */
const createComments = <Name extends string>(name: Name, { ifLocked, otherwise, arePlain, isOne }: Shape) => {
  const unlessPlain = (sql: string): string => (arePlain ? '' : sql)
  const ofMany = (sql: string): string => (isOne ? '' : sql)
  const input = arePlain ? INPUT.plain : INPUT.any
  const [now, repetitionsFrom] = [`$${input.length + 1}::timestamptz`, `$${input.length + 2}::uuid`]
  const ofOne = Object.fromEntries(input.map(([field, type], index) => [field, `$${index + 1}::${type}`]))
  /** A field of the row in `from`, or a parameter if there is only one row. */
  const given = (field: keyof CreateRow, from?: string): string =>
    (arePlain ? PLAIN[field] : undefined) ??
    (isOne ? ofOne[field] : undefined) ??
    (from === undefined ? toSnakeCase(field) : `${from}.${toSnakeCase(field)}`)
  const [tenant, discussion] = [given('tenantId', 'i'), given('discussionId', 'i')]
  return statement(
    name,
    `WITH ${ofMany(`input AS (
     SELECT * FROM unnest(${input.map(([, type], index) => `(SELECT $${index + 1}::${type}[])`).join(', ')}) WITH ORDINALITY
     AS t (${input.map(([field]) => toSnakeCase(field)).join(', ')}, n)
   ),`)}
   locked AS MATERIALIZED (
     ${ofMany(`SELECT l.* FROM (SELECT DISTINCT tenant_id, discussion_id FROM input ORDER BY 1, 2) i
     CROSS JOIN LATERAL (`)}
       SELECT d.tenant_id, d.id, d.state, d.seq FROM discussions d
       WHERE d.tenant_id = ${tenant} AND d.id = ${discussion} FOR NO KEY UPDATE OF d ${ifLocked}
     ${ofMany(') l')}
   ),${unlessPlain(`
   parents AS MATERIALIZED (
     SELECT p.tenant_id, p.id, p.discussion_id, p.depth, p.author_id, p.status = 'approved' AS is_open FROM locked l
     JOIN input i ON i.tenant_id = l.tenant_id AND i.discussion_id = l.id
     JOIN comments p ON p.tenant_id = i.tenant_id AND p.id = i.parent_id
     WHERE p.discussion_id IS NOT DISTINCT FROM i.discussion_id
       AND (p.status IS NOT DISTINCT FROM 'approved' OR (p.author_id = i.author_id AND ${inShadow('p')}))
     FOR NO KEY UPDATE OF p
   ),`)}
   judged AS (
     SELECT i.*, l.seq AS last_seq, a.ban IS NOT DISTINCT FROM 'shadow' AS in_shadow,
       ${arePlain ? '0 AS depth' : 'coalesce(p.depth + 1, 0) AS depth, p.author_id AS recipient_id, pr.external_id AS recipient_external_id'},
       CASE
         WHEN l.id IS NULL THEN ${otherwise(tenant, discussion)}
         WHEN a.id IS NULL THEN 'unavailable'
         WHEN l.state = 'archived' THEN 'discussion_archived'
         WHEN l.state = 'locked' THEN 'discussion_locked'
         WHEN a.ban = 'open' THEN 'reader_banned'
         ${unlessPlain(`WHEN i.parent_id IS NOT NULL AND (p.id IS NULL OR NOT (p.is_open OR a.ban IS NOT DISTINCT FROM 'shadow'))
           THEN 'parent_not_found'
         WHEN p.depth + 1 > i.max_depth THEN 'too_deep'`)}
         ELSE 'created'
       END AS outcome
     FROM ${isOne ? '(SELECT 1::bigint AS n)' : 'input'} i
     LEFT JOIN LATERAL (
       SELECT id, ${banIn('readers', now)} AS ban FROM readers
       WHERE tenant_id = ${tenant} AND id = ${given('authorId', 'i')} AND erasing_at IS NULL LIMIT 1
     ) a ON true
     LEFT JOIN locked l ON ${isOne ? 'true' : 'l.tenant_id = i.tenant_id AND l.id = i.discussion_id'}${unlessPlain(`
     LEFT JOIN (SELECT DISTINCT * FROM parents) p
       ON p.tenant_id = i.tenant_id AND p.id = i.parent_id AND p.discussion_id = i.discussion_id
     LEFT JOIN readers pr ON pr.tenant_id = p.tenant_id AND pr.id = p.author_id`)}
     OFFSET 0
   ),
   ruled AS (
     SELECT *, outcome = 'created' AS is_created, CASE
       WHEN outcome <> 'created' THEN NULL
       WHEN ${given('repeats', 'judged')} AND ${given('textDigest', 'judged')} IS NOT NULL
         AND ${repeatsText(given('tenantId', 'judged'), given('authorId', 'judged'), given('textDigest', 'judged'), repetitionsFrom)}
       THEN 'repeated_text'
       WHEN ${given('approvedBelow', 'judged')} > 0
         AND ${approvedComments(given('tenantId', 'judged'), given('authorId', 'judged'), given('approvedBelow', 'judged'))} < ${given('approvedBelow', 'judged')}
       THEN 'first_comments'
       ELSE ${given('reason', 'judged')}
     END AS verdict
     FROM judged OFFSET 0
   ),
   decided AS (
     SELECT *, CASE WHEN in_shadow OR ${given('asks')} OR (verdict IS NOT NULL AND NOT ${given('flags')})
         THEN 'pending' ELSE 'approved' END AS status,
       CASE WHEN in_shadow AND (verdict IS NULL OR ${given('flags')}) THEN 'shadow_ban'
         ELSE coalesce(verdict, CASE WHEN ${given('asks')} THEN 'classifier' END) END AS hold_reason,
       verdict IS NOT NULL AND ${given('flags')} AND NOT in_shadow AS flagged,
       is_created AND ${given('asks')} AND NOT in_shadow AND (verdict IS NULL OR ${given('flags')}) AS is_asked
     FROM ruled
   ),
   numbered AS MATERIALIZED (
     SELECT d.*, ${unlessPlain('s.notifies,')} ${filledIn(given('comment'))} AS filled,
       CASE WHEN status = 'approved' THEN 'public' WHEN hold_reason = 'shadow_ban' THEN 'recipient' ELSE 'tenant' END AS audience,
       CASE WHEN is_created THEN last_seq ${unlessPlain('- s.notifies')} + ${
         isOne
           ? '1'
           : `sum(${arePlain ? '1' : '1 + s.notifies'})
              FILTER (WHERE is_created) OVER (PARTITION BY tenant_id, discussion_id ORDER BY n)`
       } END AS seq
     FROM decided d${unlessPlain(`
     CROSS JOIN LATERAL (
       SELECT CASE WHEN is_created AND status = 'approved' AND recipient_id <> author_id THEN 1 ELSE 0 END AS notifies
     ) s`)}
   ),
   bumped AS (
     UPDATE discussions d SET
       seq = d.seq + s.events, comment_count = d.comment_count + s.approved, updated_at = ${now},
       last_commented_at = CASE WHEN s.approved > 0 THEN greatest(d.last_commented_at, ${now}) ELSE d.last_commented_at END,
       active_at = CASE WHEN s.approved > 0 THEN greatest(d.active_at, date_trunc('minute', ${now})) ELSE d.active_at END
     FROM (
       SELECT ${ofMany('tenant_id, discussion_id,')} ${arePlain ? 'count(*)' : 'sum(1 + notifies)'} AS events,
         count(*) FILTER (WHERE status = 'approved') AS approved
       FROM numbered WHERE is_created ${ofMany(`AND ${FEW} GROUP BY tenant_id, discussion_id`)}
     ) s
     WHERE d.tenant_id = ${given('tenantId', 's')} AND d.id = ${given('discussionId', 's')} AND s.events > 0
   ),
   created AS (
     INSERT INTO comments (${COLUMNS.map(toSnakeCase).join(', ')}, depth, status, hold_reason, flagged, first_approved_at, created_at)
     SELECT ${COLUMNS.map((field) => given(field)).join(', ')}, depth, status::comment_status, hold_reason, flagged,
       CASE WHEN status = 'approved' THEN ${now} END, ${now}
     FROM numbered WHERE is_created
   ),${unlessPlain(`
   asked AS (
     INSERT INTO classifier_requests (tenant_id, comment_id, revision, due_at)
     SELECT tenant_id, id, 1, now() FROM numbered WHERE is_asked
   ),
   replied AS (
     UPDATE comments p SET reply_count = p.reply_count + s.replies
     FROM (
       SELECT tenant_id, parent_id, count(*) AS replies FROM numbered
       WHERE is_created AND parent_id IS NOT NULL AND status = 'approved' AND ${FEW} GROUP BY tenant_id, parent_id
     ) s
     WHERE p.tenant_id = s.tenant_id AND p.id = s.parent_id
   ),`)}
   happened AS ${arePlain ? 'NOT ' : ''}MATERIALIZED (
     SELECT n, ${given('tenantId')} AS tenant_id, ${given('discussionId')} AS discussion_id, seq, ${given('createdEventId')} AS event_id,
       'comment_created' AS type, audience, CASE WHEN audience = 'recipient' THEN ${given('authorId')} END AS recipient_id, ${given('actor')} AS actor,
       ${CREATED_DATA} AS data, ${given('trace')} AS trace
     FROM numbered WHERE is_created${unlessPlain(`
     UNION ALL
     SELECT n, tenant_id, discussion_id, seq + 1, reply_event_id, 'notification_reply', 'recipient', recipient_id, actor,
       '{"comment":' || filled || ',"parentCommentId":"' || parent_id || '","recipient":{"readerId":"' || recipient_id
         || '","externalId":' || to_json(recipient_external_id) || '}}', trace
     FROM numbered WHERE notifies = 1`)}
   ),
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data, trace)
     SELECT tenant_id, discussion_id, seq, event_id, type, audience, recipient_id, ${now}, actor::json, data::json, trace FROM happened
   ),
   queued AS (${queueDeliveries('happened')})
   SELECT c.outcome, c.depth, CASE WHEN is_created THEN c.status ELSE 'pending' END AS status, c.is_asked AS "isAsked",
     c.hold_reason IS NOT DISTINCT FROM 'shadow_ban' AS "inShadow",
     c.is_created AND (c.status = 'pending' OR c.flagged) AS "isQueued", c.seq, c.audience,
     CASE WHEN is_created THEN ${CREATED_DATA} END AS data,
     ${arePlain ? 'NULL AS "replyData", NULL::uuid AS "recipientId"' : 'r.data AS "replyData", r.recipient_id AS "recipientId"'},
     (SELECT count(*) FROM queued) AS deliveries
   FROM numbered c${unlessPlain(`
   LEFT JOIN happened r ON r.n = c.n AND r.type = 'notification_reply'`)}
   ${ofMany('ORDER BY c.n')}`,
  )
}

/** SQL: the JSON of a comment with what only the statement knows of it. */
const filledIn = (comment: string): string =>
  `replace(replace(${comment}, '${DEPTH_SLOT}', '"depth":' || depth), '${STATUS_SLOT}', '"status":"' || status || '"')`

/** SQL: the data of `comment_created`. */
const CREATED_DATA = `'{"comment":' || filled || '}'`

const WAIT = { ifLocked: '', otherwise: () => "'not_found'" } as const
const SKIP = {
  ifLocked: 'SKIP LOCKED',
  otherwise: (tenant: string, discussion: string) =>
    `coalesce((SELECT 'busy' FROM discussions d WHERE d.tenant_id = ${tenant} AND d.id = ${discussion}), 'not_found')`,
} as const

const CREATE = {
  wait: {
    one: createComments('create_comment', { ...WAIT, arePlain: true, isOne: true }),
    plain: createComments('create_plain_comments', { ...WAIT, arePlain: true, isOne: false }),
    any: createComments('create_comments', { ...WAIT, arePlain: false, isOne: false }),
  },
  skip: {
    one: createComments('create_unlocked_comment', { ...SKIP, arePlain: true, isOne: true }),
    plain: createComments('create_unlocked_plain_comments', { ...SKIP, arePlain: true, isOne: false }),
    any: createComments('create_unlocked_comments', { ...SKIP, arePlain: false, isOne: false }),
  },
} as const

/**
 * See `createComments`. With `skip`, comments in a locked discussion are `busy`, and delay no
 * others. The results are in the order of `rows`.
 */
export const insertComments = (
  sql: Sql,
  rows: readonly CreateRow[],
  now: Date,
  ifLocked: IfLocked,
): Promise<CreateResult[]> => {
  const shape = shapeOf(rows)
  const [first] = rows
  const input: Param[] =
    shape === 'one'
      ? INPUT.plain.map(([field]) => first?.[field] ?? null)
      : INPUT[shape].map(([field]) => rows.map((row) => row[field]))
  return sql<CreateResult>(CREATE[ifLocked][shape], [...input, now, repetitionsSince(now)])
}

function shapeOf(rows: readonly CreateRow[]): keyof typeof CREATE.wait {
  if (!rows.every(isPlain)) return 'any'
  return rows.length === 1 ? 'one' : 'plain'
}
