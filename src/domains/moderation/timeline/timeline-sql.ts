import type { AuditAction } from '../../../core/audit.ts'
import { firstIdAt, type Id, LAST_ID } from '../../../core/ids.ts'
import type { Sql } from '../../../core/database/database.ts'
import { anyId } from '../../../core/database/lists.ts'
import { statement } from '../../../core/database/statements.ts'
import { profileIn, type Reader } from '../../readers/fields.ts'

/**
 * Of reports received and decisions, those on this many of the reader's newest comments are listed:
 * each of these comments is looked up in two indexes.
 */
export const TIMELINE_COMMENTS = 1000

/** Bans and changes of trust are those among this many entries of the audit log. */
const TIMELINE_ACTS = 1000

/** The kinds of entries. Of one millisecond, those later in this list come first. */
const KINDS = ['ban', 'comment', 'decision', 'note', 'report_made', 'report_received', 'trust'] as const

export type TimelineKind = (typeof KINDS)[number]

/** The place of an entry in the list, newest first. */
export interface TimelineKey {
  /** Milliseconds since 1970. */
  ms: number
  kind: TimelineKind
  /** Of the audit entry, the comment or the note; of a report, its comment. */
  id: Id
  /** Who made the report; LAST_ID for other entries. */
  reporter: Id
}

/** Before all entries: ids have 48 bits of time, and the bound of `listTimeline` is 1 ms later. */
export const BEGINNING: TimelineKey = { ms: 2 ** 48 - 2, kind: 'trust', id: LAST_ID, reporter: LAST_ID }

export const timelineKind = (name: string | undefined): TimelineKind | undefined => KINDS.find((kind) => kind === name)

/** The profile is that of the reader who reported; its fields are null for other entries. */
export interface TimelineRow extends Omit<TimelineKey, 'id'>, Reader {
  entryId: Id
  /** Null for all but reports, as `note` and `counted`. */
  reason: string | null
  note: string | null
  counted: boolean | null
}

const msOfId = (id: string): string => `('x' || translate(left(${id}::text, 13), '-', ''))::bit(48)::bigint`
const msOfTime = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`

/** The next entries of one kind, in the order of an index: so the limit ends the reading. */
const entries = (
  kind: TimelineKind,
  { from, order, ...key }: Record<'from' | 'ms' | 'id' | 'reporter' | 'order', string>,
): string => {
  const [ms, place, id, reporter] = [key.ms, KINDS.indexOf(kind), key.id, key.reporter]
  return `(SELECT ${ms} AS ms, ${place} AS kind, ${id} AS id, ${reporter} AS reporter FROM ${from}
      AND ($9::int IS NULL OR $9 = ${place})
      AND (${ms}, ${place}, ${id}, ${reporter}) < ($3::bigint, $4::int, $5::uuid, $6::uuid) ORDER BY ${order} LIMIT $8)`
}

const byId = (kind: TimelineKind, from: string, id: string): string =>
  entries(kind, {
    from: `${from} AND ${id} < $7::uuid`,
    ms: msOfId(id),
    id,
    reporter: `'${LAST_ID}'::uuid`,
    order: `${id} DESC`,
  })

/** SQL: whether an entry is one of these. The index of actions must not serve it. */
const isOneOf = (...actions: AuditAction[]): string =>
  `a.action || '' IN (${actions.map((one) => `'${one}'`).join(', ')})`

const acted = (kind: TimelineKind, ...actions: AuditAction[]): string =>
  byId(kind, `acts a WHERE ${isOneOf(...actions)}`, 'a.id')

// `-infinity`: the condition of the index for reports made.
const reported = (kind: TimelineKind, column: string, value: string, order: string): string =>
  entries(kind, {
    from: `reports p WHERE p.tenant_id = $1 AND ${column} = ${value}
      AND p.created_at >= '-infinity' AND p.created_at <= to_timestamp($3::bigint / 1000.0)`,
    ms: msOfTime('p.created_at'),
    id: 'p.comment_id',
    reporter: 'p.reader_id',
    order: `${column} DESC, p.created_at DESC, ${order} DESC`,
  })

const COMMENTS = `comments c WHERE c.tenant_id = $1 AND c.author_id = $2 AND ${anyId('c.author_id')}`

const AUDITED = 'a.tenant_id = $1 AND a.target_id ='
const DECISIONS = isOneOf('comment.approve', 'comment.reject', 'comment.delete')

const TIMELINE = statement(
  'timeline_of_reader',
  `WITH newest AS MATERIALIZED (SELECT c.id FROM ${COMMENTS} ORDER BY c.id DESC LIMIT ${TIMELINE_COMMENTS}),
   acts AS MATERIALIZED (
     SELECT a.id, a.action FROM audit_log a WHERE ${AUDITED} ($2::uuid)::text AND a.id < $7::uuid
     ORDER BY a.id DESC LIMIT ${TIMELINE_ACTS}
   ),
   found AS MATERIALIZED (
     SELECT * FROM (
       ${byId('comment', COMMENTS, 'c.id')}
       UNION ALL
       ${byId('note', 'notes n WHERE n.tenant_id = $1 AND n.reader_id = $2', 'n.id')}
       UNION ALL
       ${acted('ban', 'reader.ban', 'reader.unban')}
       UNION ALL
       ${acted('trust', 'reader.set_trust')}
       UNION ALL
       SELECT l.* FROM newest k CROSS JOIN LATERAL
       ${byId('decision', `audit_log a WHERE ${AUDITED} k.id::text AND ${DECISIONS}`, 'a.id')} l
       UNION ALL
       ${reported('report_made', 'p.reader_id', '$2', 'p.comment_id')}
       UNION ALL
       SELECT l.* FROM newest k CROSS JOIN LATERAL
       ${reported('report_received', 'p.comment_id', 'k.id', 'p.reader_id')} l
     ) each
     ORDER BY ms DESC, kind DESC, id DESC, reporter DESC LIMIT $8
   )
   SELECT f.ms, (ARRAY['${KINDS.join("', '")}'])[f.kind + 1] AS kind, f.reporter, p.reason, p.note, p.counted,
     f.id AS "entryId", ${profileIn('r')}
   FROM found f
   LEFT JOIN LATERAL (
     SELECT * FROM reports WHERE tenant_id = $1 AND comment_id = f.id AND reader_id = f.reporter LIMIT 1
   ) p ON true
   LEFT JOIN LATERAL (SELECT * FROM readers WHERE tenant_id = $1 AND id = f.reporter LIMIT 1) r ON true
   ORDER BY f.ms DESC, f.kind DESC, f.id DESC, f.reporter DESC`,
)

/** The next `limit` entries after a place, of all kinds or of one. */
export const listTimeline = (
  sql: Sql,
  tenantId: Id,
  readerId: Id,
  { ms, kind, id, reporter }: TimelineKey,
  limit: number,
  only: TimelineKind | null,
): Promise<TimelineRow[]> => {
  const place = KINDS.indexOf(kind)
  const before = firstIdAt(new Date(ms + 1))
  const wanted = only === null ? null : KINDS.indexOf(only)
  return sql<TimelineRow>(TIMELINE, [tenantId, readerId, ms, place, id, reporter, before, limit, wanted])
}
