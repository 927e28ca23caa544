import type { Id } from '../../core/ids.ts'
import { type Sql, statement, toSnakeCase } from '../../core/sql.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import type { AuditItem } from './item.ts'
import type { Key } from './keys.ts'
import type { ImportedComment, ImportedDiscussion, ImportedReader } from './imported.ts'

// Rows go into the tables by the arrays of their columns: many in a statement, each statement
// short.

type Columns<Row> = { readonly [Field in keyof Row]?: string }

/** SQL: rows `t` of arrays, column by column, from parameter `$first` on. */
const rowsOf = (columns: object, first: number): string => {
  const entries = Object.entries(columns) as [string, string][]
  const arrays = entries.map(([, type], index) => `$${first + index}::${type}[]`)
  return `unnest(${arrays.join(', ')}) AS t (${namesOf(columns)})`
}

const namesOf = (columns: object): string => Object.keys(columns).map(toSnakeCase).join(', ')

/** The parameters of `rowsOf`. */
const arraysOf = <Field extends string>(
  columns: Readonly<Record<Field, string>>,
  rows: readonly Readonly<Record<Field, Cell>>[],
): Cell[][] => (Object.keys(columns) as Field[]).map((field) => rows.map((row) => row[field]))

type Cell = string | number | boolean | Date | null

// What is known

export interface KnownItem {
  key: Key
  /** Null of a reader who was erased. */
  itemId: Id | null
}

const FIND_ITEMS = statement(
  'find_import_items',
  `SELECT key, item_id AS "itemId" FROM import_items WHERE tenant_id = $1 AND key = ANY($2::uuid[])`,
)

/** What these items have become. */
export const findItems = async (sql: Sql, tenantId: Id, keys: readonly Key[]): Promise<KnownItem[]> =>
  keys.length === 0 ? [] : sql<KnownItem>(FIND_ITEMS, [tenantId, keys])

const LOCK_READERS = statement(
  'lock_import_readers',
  `SELECT i.key, r.id AS "itemId" FROM import_items i JOIN readers r ON r.tenant_id = $1 AND r.id = i.item_id
   WHERE i.tenant_id = $1 AND i.key = ANY($2::uuid[]) AND i.kind = 'reader' AND r.erasing_at IS NULL
   ORDER BY r.id FOR KEY SHARE OF r`,
)

/**
 * Locks the readers that these items have become, in the order of their ids, so that none is erased
 * before the end of the transaction. Gives those whose erasure has not begun.
 */
export const lockReaders = (sql: Sql, tenantId: Id, keys: readonly Key[]): Promise<{ key: Key; itemId: Id }[]> =>
  sql<{ key: Key; itemId: Id }>(LOCK_READERS, [tenantId, keys])

/** What a comment must be known by for others to hang on it. */
export interface CommentFacts {
  id: Id
  discussionId: Id
  parentId: Id | null
  depth: number
  createdAt: Date
}

const FACTS = statement(
  'import_comment_facts',
  `SELECT id, discussion_id AS "discussionId", parent_id AS "parentId", depth, created_at AS "createdAt"
   FROM comments WHERE tenant_id = $1 AND id = ANY($2::uuid[])`,
)

/** Those of these comments that there are. */
export const selectFacts = (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<CommentFacts[]> =>
  sql<CommentFacts>(FACTS, [tenantId, ids])

const LOCK_DISCUSSIONS = statement(
  'lock_import_discussions',
  'SELECT id FROM discussions WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR NO KEY UPDATE',
)

/** Locks discussions, in the order in which all writers lock. */
export const lockDiscussions = (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<unknown> =>
  sql(LOCK_DISCUSSIONS, [tenantId, ids])

// Readers and discussions. One of the same external id is the same.

export interface FoundByName {
  id: Id
  externalId: string
}

export type NewReader = Omit<
  ImportedReader,
  'kind' | 'key' | 'place' | 'keptId' | 'item' | 'formerly' | 'createdAt' | 'profileIssuedAt'
> & { id: Id; profileIssuedAt: Date; createdAt: Date }

const READER = {
  id: 'uuid',
  externalId: 'text',
  name: 'text',
  avatarUrl: 'text',
  profileUrl: 'text',
  profileIssuedAt: 'timestamptz',
  bannedAt: 'timestamptz',
  bannedUntil: 'timestamptz',
  banReason: 'text',
  shadowBanned: 'bool',
  createdAt: 'timestamptz',
} as const satisfies Record<keyof NewReader, string>

const INSERT_READERS = statement(
  'import_readers',
  `INSERT INTO readers (tenant_id, ${namesOf(READER)}) SELECT $1, ${namesOf(READER)} FROM ${rowsOf(READER, 2)}
   ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id`,
)

/** Gives the ids of those that were not there. */
export const insertReaders = (sql: Sql, tenantId: Id, rows: readonly NewReader[]): Promise<{ id: Id }[]> =>
  sql<{ id: Id }>(INSERT_READERS, [tenantId, ...arraysOf(READER, rows)])

export interface NewFormer {
  id: Id
  /** Into whom they were merged. */
  intoId: Id
  /** The hidden row that keeps the external id. */
  aliasId: Id
  externalId: string
  mergedAt: Date
}

const FORMER = {
  id: 'uuid',
  intoId: 'uuid',
  aliasId: 'uuid',
  externalId: 'text',
  mergedAt: 'timestamptz',
} as const satisfies Record<keyof NewFormer, string>

// As a merge leaves them.
const INSERT_FORMER = statement(
  'import_former_readers',
  `WITH former AS (
     SELECT * FROM ${rowsOf(FORMER, 2)}
     WHERE NOT EXISTS (SELECT FROM readers r WHERE r.tenant_id = $1 AND r.id = t.id)
       AND NOT EXISTS (SELECT FROM reader_merges m WHERE m.tenant_id = $1 AND m.reader_id = t.id)
   ),
   kept AS (
     INSERT INTO readers (tenant_id, id, external_id, profile_issued_at, erasing_at)
     SELECT $1, alias_id, external_id, merged_at, 'infinity' FROM former
     ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id
   )
   INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, created_at)
   SELECT $1, f.id, f.into_id, f.alias_id, f.merged_at FROM former f JOIN kept k ON k.id = f.alias_id
   RETURNING alias_id AS "aliasId"`,
)

/**
 * Has the external ids of former readers lead to those into whom they were merged. Gives the hidden
 * rows of those whose id and external id nobody has.
 */
export const insertFormer = async (sql: Sql, tenantId: Id, rows: readonly NewFormer[]): Promise<Set<Id>> => {
  if (rows.length === 0) return new Set()
  const inserted = await sql<{ aliasId: Id }>(INSERT_FORMER, [tenantId, ...arraysOf(FORMER, rows)])
  return new Set(inserted.map(({ aliasId }) => aliasId))
}

const READERS_BY_NAME = statement(
  'import_readers_by_name',
  `SELECT r.id, n.external_id AS "externalId" FROM readers n
   LEFT JOIN reader_merges m ON m.tenant_id = n.tenant_id AND m.alias_id = n.id
   JOIN readers r ON r.tenant_id = n.tenant_id AND r.id = coalesce(m.into_id, n.id)
   WHERE n.tenant_id = $1 AND (n.external_id = ANY($2::text[]) OR n.id = ANY($3::uuid[])) AND r.erasing_at IS NULL
   ORDER BY r.id FOR KEY SHARE OF r`,
)

/**
 * Locks them, too: an erasure waits for the end of the transaction, or ends first. A reader who was
 * merged into another one is that one, under either external id.
 */
export const findReaders = (
  sql: Sql,
  tenantId: Id,
  externalIds: readonly string[],
  ids: readonly Id[],
): Promise<FoundByName[]> => sql<FoundByName>(READERS_BY_NAME, [tenantId, externalIds, ids])

const REMOVE_INSERTED = statement(
  'remove_inserted_readers',
  'DELETE FROM readers WHERE tenant_id = $1 AND id = ANY($2::uuid[])',
)

/** Takes readers back whom the same transaction has inserted. */
export const removeInserted = async (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<void> => {
  if (ids.length > 0) await sql(REMOVE_INSERTED, [tenantId, ids])
}

export type NewDiscussion = Omit<
  ImportedDiscussion,
  'kind' | 'key' | 'place' | 'keptId' | 'item' | 'lacksAddress' | 'createdAt' | 'updatedAt' | 'activeAt'
> & { id: Id; createdAt: Date; updatedAt: Date; activeAt: Date }

const DISCUSSION = {
  id: 'uuid',
  externalId: 'text',
  title: 'text',
  url: 'text',
  state: 'discussion_state',
  seq: 'bigint',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
  lastCommentedAt: 'timestamptz',
  activeAt: 'timestamptz',
  autoClosedAt: 'timestamptz',
} as const satisfies Record<keyof NewDiscussion, string>

const INSERT_DISCUSSIONS = statement(
  'import_discussions',
  `INSERT INTO discussions (tenant_id, ${namesOf(DISCUSSION)})
   SELECT $1, ${namesOf(DISCUSSION).replace('active_at', "date_trunc('minute', active_at)")} FROM ${rowsOf(DISCUSSION, 2)}
   ORDER BY external_id ON CONFLICT DO NOTHING RETURNING id`,
)

/** Gives the ids of those that were not there. */
export const insertDiscussions = (sql: Sql, tenantId: Id, rows: readonly NewDiscussion[]): Promise<{ id: Id }[]> =>
  sql<{ id: Id }>(INSERT_DISCUSSIONS, [tenantId, ...arraysOf(DISCUSSION, rows)])

const DISCUSSIONS_BY_NAME = statement(
  'import_discussions_by_name',
  `SELECT id, external_id AS "externalId" FROM discussions
   WHERE tenant_id = $1 AND (external_id = ANY($2::text[]) OR id = ANY($3::uuid[]))`,
)

export const findDiscussions = (
  sql: Sql,
  tenantId: Id,
  externalIds: readonly string[],
  ids: readonly Id[],
): Promise<FoundByName[]> => sql<FoundByName>(DISCUSSIONS_BY_NAME, [tenantId, externalIds, ids])

export interface NewItem {
  key: Key
  kind: 'reader' | 'discussion' | 'comment'
  /** Null of a reader who was erased. */
  itemId: Id | null
  made: boolean
  /** The latest time that the import writes on it; null where that is before the import began. */
  latestAt: Date | null
}

const ITEM = {
  key: 'uuid',
  kind: 'text',
  itemId: 'uuid',
  made: 'bool',
  latestAt: 'timestamptz',
} as const satisfies Record<keyof NewItem, string>

const INSERT_ITEMS = statement(
  'insert_import_items',
  `INSERT INTO import_items (tenant_id, import_id, ${namesOf(ITEM)})
   SELECT $1, $2, ${namesOf(ITEM)} FROM ${rowsOf(ITEM, 3)}`,
)

/** Remembers what items have become. */
export const insertItems = async (sql: Sql, tenantId: Id, importId: Id, items: readonly NewItem[]): Promise<void> => {
  if (items.length > 0) await sql(INSERT_ITEMS, [tenantId, importId, ...arraysOf(ITEM, items)])
}

// An undo keeps what has been touched since: also by another import.
const NOTE_HUNG = statement(
  'note_hung_on_imported',
  `UPDATE import_items i SET touched = i.touched OR h.is_foreign, latest_at = greatest(i.latest_at, h.at)
   FROM (SELECT k.key, k.at, NOT (f.made AND f.import_id = $2) AS is_foreign
     FROM unnest($3::uuid[], $4::timestamptz[]) AS k (key, at)
     JOIN import_items f ON f.tenant_id = $1 AND f.key = k.key) h
   WHERE i.tenant_id = $1 AND i.key = h.key AND (h.is_foreign OR h.at IS NOT NULL)`,
)

/**
 * Remembers that the import has hung something on these comments: on those of others that it has,
 * and on its own until when, where that is after it began.
 */
export const noteHung = (sql: Sql, tenantId: Id, importId: Id, hung: ReadonlyMap<Key, Date | null>): Promise<unknown> =>
  sql(NOTE_HUNG, [tenantId, importId, [...hung.keys()], [...hung.values()]])

// Comments and what hangs on them, whose discussions are locked.

export interface NewComment extends Pick<
  ImportedComment,
  | 'id'
  | 'body'
  | 'bodyHtml'
  | 'textDigest'
  | 'status'
  | 'pinnedAt'
  | 'editedAt'
  | 'deletedAt'
  | 'firstApprovedAt'
  | 'holdReason'
  | 'flagged'
  | 'revision'
  | 'createdAt'
> {
  discussionId: Id
  parentId: Id | null
  depth: number
  authorId: Id | null
  replyCount: number
  /** JSON text. */
  reactionCounts: string
}

const COMMENT = {
  id: 'uuid',
  discussionId: 'uuid',
  parentId: 'uuid',
  depth: 'int',
  authorId: 'uuid',
  body: 'text',
  bodyHtml: 'text',
  textDigest: 'bigint',
  status: 'comment_status',
  pinnedAt: 'timestamptz',
  editedAt: 'timestamptz',
  deletedAt: 'timestamptz',
  firstApprovedAt: 'timestamptz',
  holdReason: 'text',
  flagged: 'bool',
  revision: 'int',
  replyCount: 'int',
  reactionCounts: 'jsonb',
  createdAt: 'timestamptz',
} as const satisfies Record<keyof NewComment, string>

const INSERT_COMMENTS = statement(
  'import_comments',
  `INSERT INTO comments (tenant_id, ${namesOf(COMMENT)}) SELECT $1, ${namesOf(COMMENT)} FROM ${rowsOf(COMMENT, 2)}`,
)

export const insertComments = (sql: Sql, tenantId: Id, rows: readonly NewComment[]): Promise<unknown> =>
  sql(INSERT_COMMENTS, [tenantId, ...arraysOf(COMMENT, rows)])

export interface NewRevision {
  commentId: Id
  revision: number
  body: string
  createdAt: Date
}

const REVISION = {
  commentId: 'uuid',
  revision: 'int',
  body: 'text',
  createdAt: 'timestamptz',
} as const satisfies Columns<NewRevision>

const INSERT_REVISIONS = statement(
  'import_revisions',
  `INSERT INTO comment_revisions (tenant_id, ${namesOf(REVISION)}) SELECT $1, ${namesOf(REVISION)} FROM ${rowsOf(REVISION, 2)}`,
)

export const insertRevisions = (sql: Sql, tenantId: Id, rows: readonly NewRevision[]): Promise<unknown> =>
  sql(INSERT_REVISIONS, [tenantId, ...arraysOf(REVISION, rows)])

export interface NewReaction {
  commentId: Id
  readerId: Id
  type: string
  updatedAt: Date
}

const REACTION = {
  commentId: 'uuid',
  readerId: 'uuid',
  type: 'text',
  updatedAt: 'timestamptz',
} as const satisfies Columns<NewReaction>

const INSERT_REACTIONS = statement(
  'import_reactions',
  `INSERT INTO reactions (tenant_id, ${namesOf(REACTION)}) SELECT $1, ${namesOf(REACTION)} FROM ${rowsOf(REACTION, 2)}
   ON CONFLICT DO NOTHING RETURNING comment_id AS "commentId", type`,
)

/** Gives those that were not there: what a reader holds, or has taken back, stays. */
export const insertReactions = (
  sql: Sql,
  tenantId: Id,
  rows: readonly NewReaction[],
): Promise<Pick<NewReaction, 'commentId' | 'type'>[]> =>
  sql<Pick<NewReaction, 'commentId' | 'type'> & { type: string }>(INSERT_REACTIONS, [
    tenantId,
    ...arraysOf(REACTION, rows),
  ])

const ADD_REACTIONS = statement(
  'import_add_reactions',
  `UPDATE comments c SET reaction_counts = (
     SELECT jsonb_object_agg(key, n) FROM (
       SELECT key, sum(value::int) AS n FROM (
         SELECT * FROM jsonb_each_text(c.reaction_counts) UNION ALL SELECT * FROM jsonb_each_text(a.counts)
       ) parts GROUP BY key
     ) sums)
   FROM unnest($2::uuid[], $3::jsonb[]) AS a (id, counts)
   WHERE c.tenant_id = $1 AND c.id = a.id`,
)

export type ReactionCounts = ReadonlyMap<string, number>

/** Adds to the counts of comments. */
export const addReactions = (sql: Sql, tenantId: Id, added: ReadonlyMap<Id, ReactionCounts>): Promise<unknown> =>
  sql(ADD_REACTIONS, [
    tenantId,
    [...added.keys()],
    [...added.values()].map((counts) => JSON.stringify(Object.fromEntries(counts))),
  ])

export interface NewReport {
  commentId: Id
  readerId: Id
  reason: string
  note: string | null
  counted: boolean
  createdAt: Date
}

const REPORT = {
  commentId: 'uuid',
  readerId: 'uuid',
  reason: 'text',
  note: 'text',
  counted: 'bool',
  createdAt: 'timestamptz',
} as const satisfies Columns<NewReport>

const INSERT_REPORTS = statement(
  'import_reports',
  `INSERT INTO reports (tenant_id, ${namesOf(REPORT)}) SELECT $1, ${namesOf(REPORT)} FROM ${rowsOf(REPORT, 2)}
   ON CONFLICT DO NOTHING RETURNING comment_id AS "commentId", reader_id AS "readerId"`,
)

/** Gives those that were not there: a reader reports a comment once. */
export const insertReports = (
  sql: Sql,
  tenantId: Id,
  rows: readonly NewReport[],
): Promise<Pick<NewReport, 'commentId' | 'readerId'>[]> =>
  sql<Pick<NewReport, 'commentId' | 'readerId'>>(INSERT_REPORTS, [tenantId, ...arraysOf(REPORT, rows)])

export interface ReportNumbers {
  reports: number
  answered: number
}

const ADD_REPORTS = statement(
  'import_add_reports',
  `UPDATE comments c SET report_count = c.report_count + a.reports, reports_answered = c.reports_answered + a.answered
   FROM unnest($2::uuid[], $3::int[], $4::int[]) AS a (id, reports, answered)
   WHERE c.tenant_id = $1 AND c.id = a.id`,
)

/** Adds to the numbers of reports of comments. */
export const addReports = (sql: Sql, tenantId: Id, added: ReadonlyMap<Id, ReportNumbers>): Promise<unknown> =>
  sql(ADD_REPORTS, [
    tenantId,
    [...added.keys()],
    [...added.values()].map(({ reports }) => reports),
    [...added.values()].map(({ answered }) => answered),
  ])

const ADD_REPLIES = statement(
  'import_add_replies',
  `UPDATE comments c SET reply_count = c.reply_count + a.replies
   FROM unnest($2::uuid[], $3::int[]) AS a (id, replies)
   WHERE c.tenant_id = $1 AND c.id = a.id
   RETURNING c.parent_id AS "parentId", c.status::text, c.reply_count AS "replyCount", a.replies`,
)

interface Replied {
  parentId: Id | null
  status: CommentStatus
  replyCount: number
  replies: number
}

/**
 * Adds replies in view to comments. A tombstone comes into view with its first one and leaves it
 * with its last one, and so is a reply in view of its own parent more or less, and so on upwards.
 */
export async function addReplies(sql: Sql, tenantId: Id, added: ReadonlyMap<Id, number>): Promise<void> {
  for (let next = added; next.size > 0;) {
    const rows = await sql<Replied>(ADD_REPLIES, [tenantId, [...next.keys()], [...next.values()]])
    const above = new Map<Id, number>()
    for (const { parentId, status, replyCount, replies } of rows) {
      const by = Number(replyCount > 0) - Number(replyCount - replies > 0)
      if (status === 'deleted' && parentId !== null && by !== 0) above.set(parentId, (above.get(parentId) ?? 0) + by)
    }
    next = new Map([...above].filter(([, by]) => by !== 0))
  }
}

export interface DiscussionChange {
  /** More approved comments, or less. */
  approved: number
  /** When the last comment that came was written. */
  lastAt: Date
  /** The same of those that are approved. */
  lastApprovedAt: Date | null
}

const ADD_COMMENTS = statement(
  'import_add_comments',
  `UPDATE discussions d SET comment_count = d.comment_count + a.approved, updated_at = greatest(d.updated_at, a.last_at),
     last_commented_at = greatest(d.last_commented_at, a.last_approved_at),
     active_at = greatest(d.active_at, date_trunc('minute', a.last_approved_at))
   FROM unnest($2::uuid[], $3::int[], $4::timestamptz[], $5::timestamptz[]) AS a (id, approved, last_at, last_approved_at)
   WHERE d.tenant_id = $1 AND d.id = a.id`,
)

/** Counts comments that came in their discussions. */
export const addComments = (sql: Sql, tenantId: Id, added: ReadonlyMap<Id, DiscussionChange>): Promise<unknown> => {
  const changes = [...added.values()]
  return sql(ADD_COMMENTS, [
    tenantId,
    [...added.keys()],
    changes.map(({ approved }) => approved),
    changes.map(({ lastAt }) => lastAt),
    changes.map(({ lastApprovedAt }) => lastApprovedAt),
  ])
}

// Pages that are cached know by it that they may look different. Last in a transaction: the row is
// one for the whole tenant.
const TOUCH = statement('import_touch_pages', 'UPDATE tenants SET profile_version = profile_version + 1 WHERE id = $1')

/** Tells cached pages of the tenant that they may be out of date. */
export const touchPages = (sql: Sql, tenantId: Id): Promise<unknown> => sql(TOUCH, [tenantId])

/** SQL: whether an entry of the audit log is of what an import has itself done. */
export const IS_OF_IMPORT = `(target_type = 'import'
  OR import_id IS NOT NULL AND actor_kind = 'system' AND action IN ('settings.update', 'webhook.create'))`

const TAKES_AUDIT = statement(
  'import_takes_audit_entries',
  `SELECT EXISTS (SELECT FROM audit_log WHERE tenant_id = $1 AND import_id = $2 AND NOT ${IS_OF_IMPORT})
     OR NOT EXISTS (SELECT FROM audit_log WHERE tenant_id = $1 AND import_id IS NULL AND target_type <> 'import')
     AS "takesAudit"`,
)

/** Whether the tenant has no entries of its own, or had none when this import brought its first. */
export const takesAuditEntries = async (sql: Sql, { tenantId, importId }: OfImport): Promise<boolean> =>
  (await sql<{ takesAudit: boolean }>(TAKES_AUDIT, [tenantId, importId]))[0]?.takesAudit === true

interface OfImport {
  tenantId: Id
  importId: Id
}

const KNOWN_AUDIT = statement(
  'import_known_audit_entries',
  'SELECT id FROM audit_log WHERE tenant_id = $1 AND id = ANY($2::uuid[])',
)

/** Those of these entries that there are. */
export const findAuditEntries = async (sql: Sql, tenantId: Id, ids: readonly string[]): Promise<Set<string>> =>
  new Set((await sql<{ id: Id }>(KNOWN_AUDIT, [tenantId, ids])).map(({ id }) => id))

const AUDIT_ENTRIES = statement(
  'import_audit_entries',
  `INSERT INTO audit_log (tenant_id, import_id, id, actor_kind, actor_id, action, target_type, target_id, before, after, at)
   SELECT $1, $2, t.* FROM unnest($3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::jsonb[],
     $10::jsonb[], $11::timestamptz[]) AS t
   ON CONFLICT DO NOTHING RETURNING id`,
)

/**
 * Gives how many of them were not there. What entries say of these readers, who were erased, is
 * left out.
 */
export async function insertImportedAuditEntries(
  sql: Sql,
  { tenantId, importId }: OfImport,
  entries: readonly AuditItem[],
  erased: ReadonlySet<string>,
): Promise<number> {
  const isOfErased = ({ targetType, targetId }: AuditItem): boolean =>
    targetType === 'reader' && targetId != null && erased.has(targetId)
  const json = (entry: AuditItem, value: unknown): string | null =>
    value == null || isOfErased(entry) ? null : JSON.stringify(value)
  const rows = await sql<{ id: Id }>(AUDIT_ENTRIES, [
    tenantId,
    importId,
    entries.map(({ id }) => id),
    entries.map(({ actorKind }) => actorKind),
    entries.map(({ actorId = null }) => actorId),
    entries.map(({ action }) => action),
    entries.map(({ targetType }) => targetType),
    entries.map(({ targetId = null }) => targetId),
    entries.map((entry) => json(entry, entry.before)),
    entries.map((entry) => json(entry, entry.after)),
    entries.map(({ at }) => new Date(at)),
  ])
  return rows.length
}
