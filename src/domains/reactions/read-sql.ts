import { type Id, LAST_ID } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { inView } from '../comments/row.ts'

const VIEWER = statement(
  'viewer_reactions',
  `SELECT comment_id AS "commentId", type FROM reactions
   WHERE tenant_id = $1 AND reader_id = $2 AND comment_id = ANY($3::uuid[]) AND type IS NOT NULL`,
)

/** What one reader holds on some comments. */
export const selectViewerReactions = (
  sql: Sql,
  tenantId: Id,
  readerId: Id,
  commentIds: readonly Id[],
): Promise<{ commentId: Id; type: string }[]> => sql(VIEWER, [tenantId, readerId, commentIds])

export interface HeldRow {
  commentId: Id
  type: string
  readerId: Id
  externalId: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
  createdAt: Date
}

// The index is by type, so that one type costs what it shows: all of them are a merge, of at most
// as many as are held.
const HELD = statement(
  'held_reactions',
  `SELECT h.* FROM unnest($2::uuid[]) WITH ORDINALITY AS a (id, n)
   JOIN comments c ON c.tenant_id = $1 AND c.id = a.id
     AND ($7 OR ${inView('c')})
   CROSS JOIN LATERAL (
     SELECT x.comment_id AS "commentId", x.type, x.reader_id AS "readerId", r.external_id AS "externalId", r.name,
       r.avatar_url AS "avatarUrl", r.profile_url AS "profileUrl", x.updated_at AS "createdAt"
     FROM (
       SELECT each_type.* FROM jsonb_object_keys(c.reaction_counts) AS t (type)
       CROSS JOIN LATERAL (
         SELECT * FROM reactions
         WHERE tenant_id = $1 AND comment_id = c.id AND type = t.type AND type IS NOT NULL
           AND (updated_at, reader_id) < ($4::timestamptz, $5::uuid)
         ORDER BY updated_at DESC, reader_id DESC LIMIT $6
       ) each_type
       WHERE $3::text IS NULL OR t.type = $3
       ORDER BY each_type.updated_at DESC, each_type.reader_id DESC LIMIT $6
     ) x
     JOIN readers r ON r.tenant_id = x.tenant_id AND r.id = x.reader_id
   ) h
   ORDER BY a.n, h."createdAt" DESC, h."readerId" DESC`,
)

/**
 * Who holds what on each of several comments, `limit` of each, newest first; of one type where it
 * is given. Nobody on a comment that is out of view now, but for moderators.
 */
export const listHeld = (
  sql: Sql,
  tenantId: Id,
  commentIds: readonly Id[],
  at: { type: string | null; before: { createdAt: string; readerId: Id } | null; limit: number; moderates: boolean },
): Promise<HeldRow[]> => {
  const { createdAt, readerId } = at.before ?? { createdAt: 'infinity', readerId: LAST_ID }
  return sql<HeldRow>(HELD, [tenantId, commentIds, at.type, createdAt, readerId, at.limit, at.moderates])
}
