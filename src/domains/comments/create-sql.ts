import type { Audience, EventActor } from '../../core/events.ts'
import type { Id } from '../../core/ids.ts'
import type { IfLocked } from '../../core/queues/shared-writer.ts'
import type { Sql } from '../../core/database/database.ts'
import { toSnakeCase } from '../../core/database/lists.ts'
import { type Param, statement } from '../../core/database/statements.ts'
import { queueDeliveries } from '../discussions/append-events.ts'
import { IS_HERE, writableState } from '../discussions/row.ts'
import { banIn } from '../readers/bans.ts'
import { inShadow } from './comment.ts'
import { type Field, FIELDS, GIVEN, JSON_FIELDS, type NamesOf, type Stored } from './fields.ts'
import { wantsReply } from './notify.ts'
import { approvedComments, onlyRejections, repeatsText, repetitionsSince } from './history/history-sql.ts'
import type { HoldPolicy, Judgement } from './rules.ts'
import { profileIn } from '../readers/fields.ts'

// Longer than other files, because both statements are read beside the parts that they share.

/** One comment to create. */
export interface CreateRow extends Pick<Stored, NamesOf<{ by: 'caller' }>>, Judgement, HoldPolicy {
  tenantId: Id
  authorId: Id
  maxDepth: number
  /** See `guestBelowOf`. */
  guestBelow: number
  createdEventId: Id
  /**
   * In a discussion with a slow mode of its own, `ask` is refused, until the author's last comment
   * was looked at; `pass` is not. `refuse` is refused in any.
   */
  pace: 'ask' | 'pass' | 'refuse'
  /** Null for a comment at the top level. */
  replyEventId: Id | null
  actor: EventActor
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
  | 'slow_mode'

export interface CreateResult {
  outcome: CreateOutcome
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
  /** The JSON text of the data of the reply's notification; null where nobody is told. */
  replyData: string | null
  recipientId: Id | null
  /** For the whole batch. */
  deliveries: number
}

/** What the statements take beside the given columns of a comment. */
const BESIDE = {
  tenantId: 'uuid',
  repeats: 'bool',
  rejections: 'int',
  approvedBelow: 'int',
  reason: 'text',
  flags: 'bool',
  asks: 'bool',
  maxDepth: 'int',
  guestBelow: 'int',
  createdEventId: 'uuid',
  replyEventId: 'uuid',
  actor: 'json',
  trace: 'text',
  details: 'jsonb',
  pace: 'text',
} as const satisfies Record<Exclude<keyof CreateRow, (typeof GIVEN)[number]>, string>

const TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(GIVEN.map((name) => [name, FIELDS[name].type])),
  ...BESIDE,
}
const INPUT = Object.keys(TYPES) as (keyof CreateRow)[]

/**
 * What makes a comment plain, as a value and as SQL: no reply and of no guest, of a tenant with
 * neither a classifier nor a rule for first comments or rejections, and not in slow mode.
 */
const PLAIN: { readonly [Name in keyof CreateRow]?: { is: CreateRow[Name]; sql: string } } = {
  parentId: { is: null, sql: 'NULL::uuid' },
  rejections: { is: 0, sql: '0' },
  approvedBelow: { is: 0, sql: '0' },
  asks: { is: false, sql: 'false' },
  guestBelow: { is: 0, sql: '0' },
  pace: { is: 'ask', sql: "'ask'::text" },
}
/** What the statement does not read of a comment without a parent. */
const OF_REPLIES: Partial<Record<keyof CreateRow, string>> = { maxDepth: '0', replyEventId: 'NULL::uuid' }

const constantOf = (name: keyof CreateRow): string | undefined => PLAIN[name]?.sql ?? OF_REPLIES[name]

const OF_ONE = INPUT.filter((name) => constantOf(name) === undefined)

const PLAIN_NAMES = INPUT.filter((name) => name in PLAIN)

const isPlain = (row: CreateRow): boolean => PLAIN_NAMES.every((name) => row[name] === PLAIN[name]?.is)

// Parts of both statements.

const PLACE = `tenant_id, id, ${writableState('discussions', '$2::timestamptz')} AS state, seq, moderation_mode AS mode, slow_mode_seconds`

/** SQL: locks the discussion of a row of input. */
const discussion = (waits: string): string => `
  SELECT * FROM (
    SELECT ${PLACE} FROM discussions
    WHERE ${waits} AND tenant_id = i.tenant_id AND id = i.discussion_id AND ${IS_HERE} FOR NO KEY UPDATE
  ) waiting
  UNION ALL
  SELECT * FROM (
    SELECT ${PLACE} FROM discussions
    WHERE NOT ${waits} AND tenant_id = i.tenant_id AND id = i.discussion_id AND ${IS_HERE} FOR NO KEY UPDATE SKIP LOCKED
  ) skipping LIMIT 1`

/** SQL: the outcome for a comment whose discussion could not be locked. */
const notLocked = (waits: string): string => `coalesce((
  SELECT 'busy' FROM discussions
  WHERE NOT ${waits} AND tenant_id = i.tenant_id AND id = i.discussion_id AND ${IS_HERE}), 'not_found')`

const IS_SLOW = `i.pace = 'refuse' OR (i.pace = 'ask' AND l.slow_mode_seconds > 0)`

/** SQL: whether too few comments of a guest `r` were approved for any to appear. */
const IS_NEW_GUEST = `CASE WHEN i.guest_below > 0 AND r.trust <> 'never_hold'
      THEN ${approvedComments('r.tenant_id', 'r.id', 'i.guest_below')} < i.guest_below ELSE false END`

/** SQL: the author `a` of a row of input. */
const AUTHOR = `LEFT JOIN LATERAL (
    SELECT r.id, author, r.trust, ${banIn('r', '$2::timestamptz')} AS ban, ${IS_NEW_GUEST} AS new_guest
    FROM readers r
    CROSS JOIN LATERAL (
      SELECT ${profileIn('r')}
    ) author
    WHERE r.tenant_id = i.tenant_id AND r.id = i.author_id AND r.erasing_at IS NULL LIMIT 1
  ) a ON true`

/**
 * What a discussion's own moderation mode decides over the tenant's, and the trust in the author
 * over both. See `underMode` and `underTrust`. No mode publishes what a new guest has written.
 */
const OVER_TENANT: Partial<Record<keyof CreateRow, string>> = {
  reason: `CASE WHEN l.mode IS NULL THEN i.reason WHEN l.mode = 'pre' THEN coalesce(i.reason, 'pre_moderation')
    ELSE nullif(i.reason, 'pre_moderation') END`,
  flags: `a.trust <> 'hold' AND NOT a.new_guest AND CASE WHEN l.mode IS NULL THEN i.flags ELSE l.mode = 'post' END`,
  asks: `i.asks AND a.trust <> 'never_hold'`,
}

/** SQL: a row of input, as it is judged in its discussion and of its author. */
const JUDGED = INPUT.map((name) => `${OVER_TENANT[name] ?? `i.${toSnakeCase(name)}`} AS ${toSnakeCase(name)}`)
  .concat('a.new_guest')
  .join(', ')

/** SQL: the rules' decision on each row of `judged`. OFFSET 0 has the verdict computed once. */
const decided = (since: string): string => `
   ruled AS (
     SELECT *, outcome = 'created' AS is_created, coalesce(CASE
       WHEN outcome <> 'created' OR trust = 'never_hold' THEN NULL
       WHEN trust = 'hold' THEN 'held_reader'
       WHEN repeats AND text_digest IS NOT NULL
         AND ${repeatsText('judged.tenant_id', 'judged.author_id', 'judged.text_digest', since)}
       THEN 'repeated_text'
       WHEN rejections > 0 AND ${onlyRejections('judged.tenant_id', 'judged.author_id', 'judged.rejections')}
       THEN 'earlier_rejections'
       WHEN approved_below > 0
         AND ${approvedComments('judged.tenant_id', 'judged.author_id', 'judged.approved_below')} < approved_below
       THEN 'first_comments'
       ELSE reason
     END, CASE WHEN new_guest THEN 'guest' END) AS verdict
     FROM judged OFFSET 0
   ),
   decided AS (
     SELECT *, CASE WHEN in_shadow OR asks OR (verdict IS NOT NULL AND NOT flags) THEN 'pending' ELSE 'approved' END AS status,
       CASE WHEN in_shadow AND (verdict IS NULL OR flags) THEN 'shadow_ban'
         ELSE coalesce(verdict, CASE WHEN asks THEN 'classifier' END) END AS hold_reason,
       verdict IS NOT NULL AND flags AND NOT in_shadow AS flagged,
       is_created AND asks AND NOT in_shadow AND (verdict IS NULL OR flags) AS is_asked,
       to_char($2::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
     FROM ruled
   )`

/**
 * SQL: the JSON of a new comment `d`. PostgreSQL writes a row without spaces, in the order of its
 * columns: the bytes are those of `JSON.stringify`.
 */
const COMMENT = `SELECT ${JSON_FIELDS.map((name) => {
  if (name === 'author') return 'd.author'
  const field: Field = FIELDS[name]
  const value = field.by === 'viewer' ? 'NULL' : field.by === 'default' ? field.initially : `d.${toSnakeCase(name)}`
  return `${value} AS "${name}"`
}).join(', ')}`

const AUDIENCE = `CASE WHEN d.status = 'approved' THEN 'public' WHEN d.hold_reason = 'shadow_ban' THEN 'recipient' ELSE 'tenant' END`

const COLUMNS = GIVEN.map(toSnakeCase).join(', ')

const CREATED = `
   created AS (
     INSERT INTO comments (tenant_id, ${COLUMNS}, depth, status, hold_reason, hold_details, flagged, first_approved_at, created_at)
     SELECT tenant_id, ${COLUMNS}, depth, status::comment_status, hold_reason, CASE WHEN hold_reason = reason THEN details END, flagged,
       CASE WHEN status = 'approved' THEN $2::timestamptz END, $2
     FROM numbered WHERE is_created
   )`

/** SQL: the events of the new comments. */
const COMMENT_CREATED = `
   SELECT n, tenant_id, discussion_id, seq, created_event_id AS event_id, 'comment_created' AS type, audience,
     CASE WHEN audience = 'recipient' THEN author_id END AS recipient_id, actor, row_to_json(data) AS data, trace
   FROM numbered CROSS JOIN LATERAL (SELECT comment) data WHERE is_created`

const LOGGED = `
   logged AS (
     INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data, trace)
     SELECT tenant_id, discussion_id, seq, event_id, type, audience, recipient_id, $2, actor, data, trace FROM happened
   ),
   queued AS (${queueDeliveries('happened')})`

const RESULT = `n.outcome, n.is_asked AS "isAsked", n.hold_reason IS NOT DISTINCT FROM 'shadow_ban' AS "inShadow",
     n.is_created AND (n.status = 'pending' OR n.flagged) AS "isQueued", n.seq, n.audience,
     CASE WHEN n.is_created THEN row_to_json(created)::text END AS data, (SELECT count(*) FROM queued) AS deliveries`

/**
 * Creates one plain comment. $1: whether to wait for a locked discussion; $2: now; $3: see
 * `repeatsText`; then the comment. See `createMany`.
 */
const createOne = statement(
  'create_comment',
  `WITH input AS NOT MATERIALIZED (
     SELECT 0 AS n, ${INPUT.map((name) => `${constantOf(name) ?? `$${OF_ONE.indexOf(name) + 4}::${TYPES[name]}`} AS ${toSnakeCase(name)}`).join(', ')}
   ),
   locked AS MATERIALIZED (
     SELECT d.* FROM input i CROSS JOIN LATERAL (${discussion('$1')}) d
   ),
   judged AS (
     SELECT i.n, ${JUDGED}, l.seq AS last_seq, a.author, a.trust, a.ban IS NOT DISTINCT FROM 'shadow' AS in_shadow, 0 AS depth,
       CASE
         WHEN l.id IS NULL THEN ${notLocked('$1')}
         WHEN a.id IS NULL THEN 'unavailable'
         WHEN l.state = 'archived' THEN 'discussion_archived'
         WHEN l.state = 'locked' THEN 'discussion_locked'
         WHEN a.ban = 'open' THEN 'reader_banned'
         WHEN ${IS_SLOW} THEN 'slow_mode'
         ELSE 'created'
       END AS outcome
     FROM input i LEFT JOIN locked l ON true ${AUTHOR} OFFSET 0
   ),${decided('$3::uuid')},
   numbered AS MATERIALIZED (
     SELECT d.*, CASE WHEN is_created THEN row_to_json(comment) END AS comment, ${AUDIENCE} AS audience,
       CASE WHEN is_created THEN last_seq + 1 END AS seq
     FROM decided d CROSS JOIN LATERAL (${COMMENT}) comment
   ),
   bumped AS (
     UPDATE discussions d SET
       seq = d.seq + 1, comment_count = d.comment_count + CASE WHEN n.status = 'approved' THEN 1 ELSE 0 END, updated_at = $2,
       last_commented_at = CASE WHEN n.status = 'approved' THEN greatest(d.last_commented_at, $2) ELSE d.last_commented_at END,
       active_at = CASE WHEN n.status = 'approved' THEN greatest(d.active_at, date_trunc('minute', $2::timestamptz)) ELSE d.active_at END
     FROM numbered n, input i
     WHERE is_created AND d.tenant_id = i.tenant_id AND d.id = i.discussion_id
   ),${CREATED},
   happened AS NOT MATERIALIZED (${COMMENT_CREATED}),${LOGGED}
   SELECT ${RESULT}, NULL AS "replyData", NULL::uuid AS "recipientId"
   FROM numbered n CROSS JOIN LATERAL (SELECT n.comment) created`,
)

/**
 * Always true. Makes PostgreSQL expect one row, whose discussion or parent it looks up by key. It
 * expects a hundred rows of JSON, for which it would read a table of some thousand rows.
 */
const FEW = 'n BETWEEN 0 AND 1000000'

/**
 * Creates any number of comments in one statement, which is one transaction: rules, comments,
 * counters, numbers, events, notifications, deliveries. $1: whether to wait for locked
 * discussions; $2: now; $3: see `repeatsText`; $4: the comments, as JSON. Discussions are locked in
 * the order of their ids and before comments, so that two batches never deadlock. A refused row has
 * its own outcome and does not affect the others.
 *
 * Its plan must be good while PostgreSQL has no statistics of the tables. `IS NOT DISTINCT FROM`
 * keeps it from searching for a parent among all comments of the discussion, which took 0.7 s a
 * statement in a new, busy one. LATERAL keeps it from reading all discussions or readers. $1 and $3
 * are in subselects, which hide their values: otherwise PostgreSQL would estimate a plan for these
 * values to be cheaper, and plan each execution again.
 */
const createMany = statement(
  'create_comments',
  `WITH input AS (
     SELECT * FROM json_to_recordset($4) AS i (n int, ${INPUT.map((name) => `${toSnakeCase(name)} ${TYPES[name]}`).join(', ')})
   ),
   locked AS MATERIALIZED (
     SELECT d.* FROM (SELECT DISTINCT tenant_id, discussion_id FROM input ORDER BY 1, 2) i
     CROSS JOIN LATERAL (${discussion('(SELECT $1::bool)')}) d
   ),
   parents AS MATERIALIZED (
     SELECT i.n, p.*, r.external_id FROM locked l
     JOIN input i ON i.tenant_id = l.tenant_id AND i.discussion_id = l.id
     CROSS JOIN LATERAL (
       SELECT p.depth, p.author_id, p.status = 'approved' AS is_open FROM comments p
       WHERE p.tenant_id = i.tenant_id AND p.id = i.parent_id
         AND p.discussion_id IS NOT DISTINCT FROM i.discussion_id
         AND (p.status IS NOT DISTINCT FROM 'approved' OR (p.author_id = i.author_id AND ${inShadow('p')}))
       FOR NO KEY UPDATE
     ) p
     LEFT JOIN LATERAL (
       SELECT external_id FROM readers WHERE tenant_id = i.tenant_id AND id = p.author_id LIMIT 1
     ) r ON true
   ),
   judged AS (
     SELECT i.n, ${JUDGED}, l.seq AS last_seq, a.author, a.trust, a.ban IS NOT DISTINCT FROM 'shadow' AS in_shadow,
       coalesce(p.depth + 1, 0) AS depth, p.author_id AS recipient_id, p.external_id AS recipient_external_id,
       CASE
         WHEN l.id IS NULL THEN ${notLocked('(SELECT $1::bool)')}
         WHEN a.id IS NULL THEN 'unavailable'
         WHEN l.state = 'archived' THEN 'discussion_archived'
         WHEN l.state = 'locked' THEN 'discussion_locked'
         WHEN a.ban = 'open' THEN 'reader_banned'
         WHEN i.parent_id IS NOT NULL AND (p.n IS NULL OR NOT (p.is_open OR a.ban IS NOT DISTINCT FROM 'shadow'))
           THEN 'parent_not_found'
         WHEN p.depth + 1 > i.max_depth THEN 'too_deep'
         WHEN ${IS_SLOW} THEN 'slow_mode'
         ELSE 'created'
       END AS outcome
     FROM input i
     LEFT JOIN locked l ON l.tenant_id = i.tenant_id AND l.id = i.discussion_id
     LEFT JOIN parents p ON p.n = i.n ${AUTHOR} OFFSET 0
   ),${decided('(SELECT $3::uuid)')},
   numbered AS MATERIALIZED (
     SELECT d.*, s.notifies, CASE WHEN is_created THEN row_to_json(comment) END AS comment, ${AUDIENCE} AS audience,
       CASE WHEN is_created THEN last_seq - s.notifies + sum(1 + s.notifies)
         FILTER (WHERE is_created) OVER (PARTITION BY tenant_id, discussion_id ORDER BY n) END AS seq
     FROM decided d
     CROSS JOIN LATERAL (
       SELECT CASE WHEN is_created AND d.status = 'approved' AND recipient_id <> author_id THEN 1 ELSE 0 END AS notifies
     ) s
     CROSS JOIN LATERAL (${COMMENT}) comment
   ),
   bumped AS (
     UPDATE discussions d SET
       seq = d.seq + s.events, comment_count = d.comment_count + s.approved, updated_at = $2,
       last_commented_at = CASE WHEN s.approved > 0 THEN greatest(d.last_commented_at, $2) ELSE d.last_commented_at END,
       active_at = CASE WHEN s.approved > 0 THEN greatest(d.active_at, date_trunc('minute', $2::timestamptz)) ELSE d.active_at END
     FROM (
       SELECT tenant_id, discussion_id, sum(1 + notifies) AS events, count(*) FILTER (WHERE status = 'approved') AS approved
       FROM numbered WHERE is_created AND ${FEW} GROUP BY tenant_id, discussion_id
     ) s
     WHERE d.tenant_id = s.tenant_id AND d.id = s.discussion_id
   ),${CREATED},
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
   ),
   notified AS (
     INSERT INTO notifications (tenant_id, id, reader_id, kind, comment_id, created_at)
     SELECT tenant_id, reply_event_id, recipient_id, 'reply', id, $2 FROM numbered n
     WHERE notifies = 1 AND ${wantsReply('n.tenant_id', 'n.recipient_id', 'n.author_id')}
   ),
   happened AS MATERIALIZED (${COMMENT_CREATED}
     UNION ALL
     SELECT n, tenant_id, discussion_id, seq + 1, reply_event_id, 'notification_reply', 'recipient', recipient_id, actor,
       row_to_json(data), trace
     FROM numbered
     CROSS JOIN LATERAL (SELECT recipient_id AS "readerId", recipient_external_id AS "externalId") recipient
     CROSS JOIN LATERAL (SELECT comment, parent_id AS "parentCommentId", recipient) data
     WHERE notifies = 1
   ),${LOGGED}
   SELECT ${RESULT}, r.data::text AS "replyData", r.recipient_id AS "recipientId"
   FROM numbered n CROSS JOIN LATERAL (SELECT n.comment) created
   LEFT JOIN happened r ON r.n = n.n AND r.type = 'notification_reply'
   ORDER BY n.n`,
)

/**
 * See `createMany`. With `skip`, comments in a locked discussion are `busy`, and delay no others.
 * The results are in the order of `rows`.
 */
export function insertComments(
  sql: Sql,
  rows: readonly CreateRow[],
  now: Date,
  ifLocked: IfLocked,
): Promise<CreateResult[]> {
  const common = [ifLocked === 'wait', now, repetitionsSince(now)]
  const [first] = rows
  return rows.length === 1 && first !== undefined && isPlain(first)
    ? sql<CreateResult>(createOne, [...common, ...OF_ONE.map((name) => paramOf(first[name]))])
    : sql<CreateResult>(createMany, [...common, JSON.stringify(rows.map(recordOf))])
}

const paramOf = (value: CreateRow[keyof CreateRow]): Param =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value

const RECORD = INPUT.map((name) => [name, toSnakeCase(name)] as const)

/** A row by the names of its columns. */
function recordOf(row: CreateRow, n: number): object {
  const record: Record<string, unknown> = { n }
  for (const [name, column] of RECORD) record[column] = row[name]
  return record
}
