import { columnsOf } from '../../core/fields.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import * as comments from '../../domains/comments/fields.ts'
import * as discussions from '../../domains/discussions/fields.ts'
import { IS_HERE } from '../../domains/discussions/row.ts'
import type { NoticeCause, NoticeKind } from '../../domains/notices/causes.ts'
import * as readers from '../../domains/readers/fields.ts'
import type { Site } from '../../domains/sites/sites.ts'
import { IS_OF_IMPORT } from '../import/own-sql.ts'

/** Lets the transaction stand idle for any time: a client may read an export slowly. */
export const takeAnyTime = statement(
  'tenant_export_patience',
  'SET LOCAL idle_in_transaction_session_timeout = 0',
).run()

export const countComments = statement(
  'tenant_export_count',
  'SELECT count(*)::int AS count FROM comments WHERE tenant_id = $1',
).count<[tenantId: Id]>()

export interface ExportedTenant {
  slug: string
  /** The values that differ from the defaults. */
  settings: Record<string, unknown>
  /** Its sites, of which there are few, without its id. */
  sites: ExportedSite[]
  /** Its notice channels, of which there are few, without their addresses. */
  notices: ExportedNotice[]
}

interface ExportedNotice {
  id: Id
  form: NoticeKind
  host: string
  on: NoticeCause[]
  createdAt: string
}

export type ExportedSite = Omit<Site, 'tenantId' | 'createdAt'> & { createdAt: string }

const TENANT = statement(
  'tenant_export_settings',
  `SELECT slug, settings, coalesce((SELECT jsonb_agg(jsonb_build_object('id', id, 'name', name, 'origins', origins,
       'publicKey', public_key, 'posting', posting, 'guests', guests, 'createdAt', created_at) ORDER BY id)
     FROM sites WHERE tenant_id = $1), '[]') AS sites,
     coalesce((SELECT jsonb_agg(jsonb_build_object('id', id, 'form', kind, 'host', host, 'on', causes,
       'createdAt', created_at) ORDER BY id)
     FROM notice_channels WHERE tenant_id = $1), '[]') AS notices
   FROM tenants WHERE id = $1`,
)

export async function selectTenant(sql: Sql, tenantId: Id): Promise<ExportedTenant> {
  const [row] = await sql<ExportedTenant>(TENANT, [tenantId])
  if (row === undefined) throw new Error('the tenant is gone')
  return row
}

/** Where a list continues: after the id, or the pair of ids, of the last row. */
export interface KeysetPage {
  tenantId: Id
  after: Id | null
  limit: number
}

const listOf = <Name extends `tenant_export_${string}`>(name: Name, columns: string, from: string, condition: string) =>
  statement(
    name,
    `SELECT ${columns} FROM ${from} WHERE tenant_id = $1 AND id > $2 AND ${anyId('tenant_id', 'id')} AND ${condition}
     ORDER BY id LIMIT $3`,
  )

const paramsOf = ({ tenantId, after, limit }: KeysetPage): [Id, Id, number] => [tenantId, after ?? FIRST_ID, limit]

export interface TenantExportEndpoint {
  id: Id
  url: string
  description: string | null
  eventTypes: string[]
  discussionIds: Id[]
  policy: Record<string, unknown>
  createdAt: Date
}

const ENDPOINTS = statement(
  'tenant_export_endpoints',
  `SELECT id, url, description, event_types AS "eventTypes", discussion_ids::text[] AS "discussionIds", policy, created_at AS "createdAt"
   FROM webhook_endpoints WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
)

export const selectEndpoints = (sql: Sql, page: KeysetPage): Promise<TenantExportEndpoint[]> =>
  sql(ENDPOINTS, paramsOf(page))

export type TenantExportReader = Pick<readers.Stored, readers.ExportedColumn>

/**
 * SQL: whether a row of `readers` is a present reader: neither being erased nor left by a merge.
 */
const isHere = (reader: string): string =>
  `(${reader}.erasing_at IS NULL OR EXISTS (
     SELECT FROM reader_merges m WHERE m.tenant_id = ${reader}.tenant_id AND m.reader_id = ${reader}.id))`

const READERS = listOf('tenant_export_readers', columnsOf(readers.FIELDS, readers.EXPORTED), 'readers r', isHere('r'))

/**
 * Readers, without those whose erasure has begun. A reader whose merge is under way is included.
 */
export const selectReaders = (sql: Sql, page: KeysetPage): Promise<TenantExportReader[]> => sql(READERS, paramsOf(page))

export interface TenantExportMute {
  id: Id
  readerId: Id
  mutedId: Id
  createdAt: Date
}

const isThere = (id: string): string =>
  `EXISTS (SELECT FROM readers r WHERE r.tenant_id = $1 AND r.id = m.${id} AND ${isHere('r')})`

const MUTES = statement(
  'tenant_export_mutes',
  `SELECT id, reader_id AS "readerId", muted_id AS "mutedId", created_at AS "createdAt" FROM reader_mutes m
   WHERE tenant_id = $1 AND (reader_id, id) > ($2, $3) AND ${anyId('tenant_id', 'reader_id')}
     AND ${isThere('reader_id')} AND ${isThere('muted_id')}
   ORDER BY reader_id, id LIMIT $4`,
)

/** Mutes among the readers of `selectReaders`. */
export const selectMutes = (
  sql: Sql,
  { tenantId, after, limit }: { tenantId: Id; after: readonly [Id, Id]; limit: number },
): Promise<TenantExportMute[]> => sql(MUTES, [tenantId, ...after, limit])

export interface TenantExportFormerReader {
  readerId: Id
  id: Id
  externalId: string
  mergedAt: Date
}

/** Readers who were merged into these, earliest first, without those whose merge is under way. */
export const selectFormer = statement(
  'tenant_export_former_readers',
  `SELECT m.into_id AS "readerId", m.reader_id AS id, r.external_id AS "externalId", m.created_at AS "mergedAt"
   FROM reader_merges m JOIN readers r ON r.tenant_id = m.tenant_id AND r.id = m.alias_id
   WHERE m.tenant_id = $1 AND m.into_id = ANY($2::uuid[]) AND m.merging_at IS NULL
   ORDER BY m.created_at, m.reader_id`,
).rows<[tenantId: Id, readerIds: readonly Id[]], TenantExportFormerReader>()

export type TenantExportDiscussion = Pick<discussions.Stored, discussions.ExportedColumn>

const DISCUSSIONS = listOf(
  'tenant_export_discussions',
  columnsOf(discussions.FIELDS, discussions.EXPORTED),
  'discussions',
  IS_HERE,
)

export const selectDiscussions = (sql: Sql, page: KeysetPage): Promise<TenantExportDiscussion[]> =>
  sql(DISCUSSIONS, paramsOf(page))

export interface TenantExportComment extends Pick<comments.Stored, comments.ExportedColumn> {
  /** Whether its author is being erased: then it is exported as blank. */
  isErased: boolean
}

// Comments that a worker has yet to remove with their discussion are left out.
const COMMENTS = statement(
  'tenant_export_comments',
  `SELECT ${columnsOf(comments.FIELDS, comments.EXPORTED, 'c')}, r.id IS NOT NULL AND NOT ${isHere('r')} AS "isErased"
   FROM comments c LEFT JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
   WHERE c.tenant_id = $1 AND c.id > $2 AND ${anyId('c.tenant_id', 'c.id')} AND c.discussion_id <> ALL(ARRAY(
     SELECT id FROM discussions WHERE tenant_id = $1 AND removal_due_at > '-infinity'))
   ORDER BY c.id LIMIT $3`,
)

export const selectComments = (sql: Sql, page: KeysetPage): Promise<TenantExportComment[]> =>
  sql(COMMENTS, paramsOf(page))

export interface TenantExportRevision {
  commentId: Id
  body: string
  replacedAt: Date
  wasPublic: boolean
}

export const selectRevisions = statement(
  'tenant_export_revisions',
  `SELECT comment_id AS "commentId", body, created_at AS "replacedAt", was_public AS "wasPublic" FROM comment_revisions
   WHERE tenant_id = $1 AND comment_id = ANY($2::uuid[]) ORDER BY comment_id, revision`,
).rows<[tenantId: Id, commentIds: readonly Id[]], TenantExportRevision>()

export interface TenantExportNote {
  /** The reader or the comment. */
  onId: Id
  id: Id
  text: string
  actorKind: string
  actorId: Id | null
  createdAt: Date
}

const notesOn = <Column extends 'reader_id' | 'comment_id'>(column: Column) =>
  statement(
    `tenant_export_notes_by_${column}`,
    `SELECT k.id AS "onId", n.id, n.text, n.actor_kind AS "actorKind", n.actor_id AS "actorId", n.created_at AS "createdAt"
     FROM unnest($2::uuid[]) AS k (id)
     CROSS JOIN LATERAL (SELECT * FROM notes WHERE tenant_id = $1 AND ${column} = k.id ORDER BY id OFFSET 0) n`,
  )

const NOTES = { reader: notesOn('reader_id'), comment: notesOn('comment_id') } as const

/** The moderators' notes on readers or comments, oldest first. */
export const selectNotes = (
  sql: Sql,
  kind: keyof typeof NOTES,
  tenantId: Id,
  ids: readonly Id[],
): Promise<TenantExportNote[]> => sql(NOTES[kind], [tenantId, ids])

/** What belongs to a range of comments, after a given comment and reader. */
export interface Hanging {
  tenantId: Id
  after: [commentId: Id, readerId: Id]
  last: Id
  limit: number
}

export interface TenantExportReaction {
  commentId: Id
  readerId: Id
  type: string
  createdAt: Date
}

const hanging = <Name extends string>(name: Name, columns: string, table: string, condition: string) =>
  statement(
    name,
    `SELECT x.comment_id AS "commentId", x.reader_id AS "readerId", ${columns}
     FROM (
       SELECT * FROM ${table} x
       WHERE x.tenant_id = $1 AND (x.comment_id, x.reader_id) > ($2::uuid, $3::uuid) AND ${condition}
         AND x.comment_id BETWEEN $2::uuid AND $4
       ORDER BY x.comment_id, x.reader_id OFFSET 0
     ) x CROSS JOIN LATERAL (
       SELECT FROM readers r WHERE r.tenant_id = x.tenant_id AND r.id = x.reader_id AND ${isHere('r')} LIMIT 1) r
     ORDER BY x.comment_id, x.reader_id LIMIT $5`,
  )

const hangingParams = ({ tenantId, after, last, limit }: Hanging): (string | number)[] => [
  tenantId,
  ...after,
  last,
  limit,
]

const REACTIONS = hanging(
  'tenant_export_reactions',
  'x.type, x.updated_at AS "createdAt"',
  'reactions',
  'x.type IS NOT NULL',
)

/** Present reactions, without removed ones. */
export const selectReactions = (sql: Sql, of: Hanging): Promise<TenantExportReaction[]> =>
  sql(REACTIONS, hangingParams(of))

export interface TenantExportShadowReaction extends Omit<TenantExportReaction, 'type'> {
  /** Null for a removed one. */
  type: string | null
}

const SHADOW_REACTIONS = hanging(
  'tenant_export_shadow_reactions',
  'x.type, x.updated_at AS "createdAt"',
  'shadow_reactions',
  'true',
)

/** What readers banned in shadow have chosen, which only they see. */
export const selectShadowReactions = (sql: Sql, of: Hanging): Promise<TenantExportShadowReaction[]> =>
  sql(SHADOW_REACTIONS, hangingParams(of))

export interface TenantExportReport {
  commentId: Id
  readerId: Id
  reason: string
  note: string | null
  createdAt: Date
  counted: boolean
  answered: boolean
}

// The first `reports_answered` of a comment's counted reports have been answered by moderators.
const REPORTS = hanging(
  'tenant_export_reports',
  `x.reason, x.note, x.created_at AS "createdAt", x.counted, x.counted AND (
     SELECT c.reports_answered >= (SELECT count(*) FROM (
       SELECT 1 FROM reports o WHERE o.tenant_id = x.tenant_id AND o.comment_id = x.comment_id AND o.counted
         AND (o.created_at, o.reader_id) <= (x.created_at, x.reader_id)
       LIMIT c.reports_answered + 1
     ) bounded) FROM comments c WHERE c.tenant_id = x.tenant_id AND c.id = x.comment_id
   ) AS answered`,
  'reports',
  'true',
)

export const selectReports = (sql: Sql, of: Hanging): Promise<TenantExportReport[]> => sql(REPORTS, hangingParams(of))

export interface TenantExportAuditEntry {
  id: Id
  actorKind: 'key' | 'admin' | 'system'
  actorId: Id | null
  action: string
  targetType: string
  targetId: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
  at: Date
}

// Without entries of imports and their changes, which belong to this database.
const AUDIT = listOf(
  'tenant_export_audit',
  `id, actor_kind AS "actorKind", actor_id AS "actorId", action, target_type AS "targetType", target_id AS "targetId",
   before, after, at`,
  'audit_log',
  `NOT ${IS_OF_IMPORT}`,
)

export const selectAudit = (sql: Sql, page: KeysetPage): Promise<TenantExportAuditEntry[]> => sql(AUDIT, paramsOf(page))
