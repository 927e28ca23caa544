import type { Id } from '../../core/ids.ts'
import type { Prisma, Sql } from '../../core/database/database.ts'
import { anyId, toSnakeCase } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { ERASED } from '../readers/fields.ts'

/** The most audit entries of one statement. */
export const AUDIT_BATCH = 100

/**
 * Locks a reader's row exclusively. Finds one whose erasure has begun, but none who was merged into
 * another. Writers of comments, reactions and reports of the reader wait at their foreign keys for
 * the end of this transaction, and those under way end first.
 */
export const lockReaderToErase = statement(
  'lock_reader_to_erase',
  `SELECT external_id AS "externalId", erasing_at AS "erasingAt" FROM readers
   WHERE tenant_id = $1 AND id = $2 AND coalesce(isfinite(erasing_at), true) FOR UPDATE`,
).first<[tenantId: Id, readerId: Id], { externalId: string; erasingAt: Date | null }>()

/**
 * Blanks the profile, also on cached pages, and deletes the moderators' notes on the reader. From
 * now on no write finds the reader; the external id is free for a new record.
 */
export const beginErasure = statement(
  'begin_erasure',
  `WITH noted AS (
     DELETE FROM notes WHERE tenant_id = $1 AND reader_id = $2 AND reader_id IS NOT NULL
   ),
   begun AS (
     UPDATE readers SET erasing_at = $3, external_id = 'erased:' || gen_random_uuid(), shadow_banned = false,
       trust = DEFAULT, badges = DEFAULT, assigned_badges = DEFAULT, claimed_badges = DEFAULT,
       ${ERASED.map((name) => `${toSnakeCase(name)} = NULL`).join(', ')}
     WHERE tenant_id = $1 AND id = $2
     RETURNING tenant_id
   )
   UPDATE tenants t SET profile_version = t.profile_version + 1 FROM begun b WHERE t.id = b.tenant_id`,
).run<[tenantId: Id, readerId: Id, now: Date]>()

/** Renews the heartbeat, so that no other process takes the erasure over. */
export const touchErasure = async ({ reader }: Prisma, tenantId: Id, readerId: Id, now: Date): Promise<void> =>
  void (await reader.updateMany({
    where: { tenantId, id: readerId, erasingAt: { not: null } },
    data: { erasingAt: now },
  }))

/** Takes over an erasure without a heartbeat since `before`. Only one caller gets it. */
export const takeUpErasure = statement(
  'take_up_erasure',
  `UPDATE readers r SET erasing_at = $1
   FROM (SELECT tenant_id, id FROM readers WHERE erasing_at < $2 ORDER BY erasing_at LIMIT 1 FOR UPDATE SKIP LOCKED) due
   WHERE r.tenant_id = due.tenant_id AND r.id = due.id
   RETURNING r.tenant_id AS "tenantId", r.id AS "readerId"`,
).first<[now: Date, before: Date], { tenantId: Id; readerId: Id }>()

const HAS_TRACES = statement(
  'has_traces_of_reader',
  `SELECT EXISTS (SELECT 1 FROM comments WHERE tenant_id = $1 AND author_id = $2)
     OR EXISTS (SELECT 1 FROM reactions WHERE tenant_id = $1 AND reader_id = $2)
     OR EXISTS (SELECT 1 FROM shadow_reactions WHERE tenant_id = $1 AND reader_id = $2)
     OR EXISTS (SELECT 1 FROM reports WHERE tenant_id = $1 AND reader_id = $2) AS found`,
)

/** Whether rows still refer to the reader. */
export const hasTraces = async (sql: Sql, tenantId: Id, readerId: Id): Promise<boolean> =>
  (await sql<{ found: boolean }>(HAS_TRACES, [tenantId, readerId]))[0]?.found === true

const FORGET_AUDIT = statement(
  'forget_reader_in_audit_log',
  `UPDATE audit_log SET before = NULL, after = NULL WHERE tenant_id = $1 AND id = ANY(ARRAY(
     SELECT id FROM audit_log
     WHERE tenant_id = $1 AND target_id BETWEEN $2 AND $2 AND target_type = 'reader'
       AND (before IS NOT NULL OR after IS NOT NULL)
     ORDER BY target_id, id LIMIT ${AUDIT_BATCH}))
   RETURNING 1`,
)

/**
 * Keeps audit entries about the reader, without their data on the person: a batch of them. Returns
 * whether more may be left.
 */
export const forgetInAuditLog = async (sql: Sql, tenantId: Id, readerId: Id): Promise<boolean> =>
  (await sql(FORGET_AUDIT, [tenantId, readerId])).length === AUDIT_BATCH

/** A row of a reader, located by the comment that it is or belongs to. */
export interface CommentLocation {
  commentId: Id
  discussionId: Id
}

const hanging = <Table extends 'reactions' | 'shadow_reactions' | 'reports'>(table: Table) =>
  statement(
    `${table}_of_reader`,
    `SELECT t.comment_id AS "commentId", c.discussion_id AS "discussionId"
     FROM ${table} t JOIN comments c ON c.tenant_id = t.tenant_id AND c.id = t.comment_id
     WHERE t.tenant_id = $1 AND t.reader_id = $2 AND ${anyId('t.reader_id')} ORDER BY t.comment_id LIMIT $3`,
  )

const OF_READER = {
  comments: statement(
    'comments_of_reader',
    `SELECT id AS "commentId", discussion_id AS "discussionId" FROM comments
     WHERE tenant_id = $1 AND author_id = $2 AND ${anyId('author_id')} ORDER BY id DESC LIMIT $3`,
  ),
  reactions: hanging('reactions'),
  shadowReactions: hanging('shadow_reactions'),
  reports: hanging('reports'),
}

/** The kinds of rows that refer to a reader. */
export type RowKind = keyof typeof OF_READER

/**
 * Rows of the reader: comments in any state, newest first, so that replies come before their
 * parents; reactions, including removed ones, and those that only the reader sees; reports.
 */
export const selectRowsOf = (
  sql: Sql,
  kind: RowKind,
  { tenantId, readerId }: { tenantId: Id; readerId: Id },
  limit: number,
): Promise<CommentLocation[]> => sql(OF_READER[kind], [tenantId, readerId, limit])
