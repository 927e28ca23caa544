import type { Id } from '../../core/ids.ts'
import { type Measured, type Sql, statement, upToBytes } from '../../core/sql.ts'

export interface BodyRow extends Measured {
  revision: number
  body: string | null
  createdAt: Date
  replacedAt: Date | null
}

// A body that was replaced stands with the time of that, which is when the next one was written.
const BODIES = statement(
  'comment_bodies',
  upToBytes(
    `SELECT v.revision, v.body, coalesce(before.created_at, c.created_at) AS "createdAt", v.replaced_at AS "replacedAt"
   FROM comments c
   CROSS JOIN LATERAL (
     (SELECT c.revision, c.body, NULL::timestamptz AS replaced_at WHERE c.revision < $3)
     UNION ALL
     (SELECT revision, body, created_at FROM comment_revisions
      WHERE tenant_id = c.tenant_id AND comment_id = c.id AND revision < $3 ORDER BY revision DESC LIMIT $4)
   ) v
   LEFT JOIN comment_revisions before
     ON before.tenant_id = c.tenant_id AND before.comment_id = c.id AND before.revision = v.revision - 1
   WHERE c.tenant_id = $1 AND c.id = $2
   ORDER BY v.revision DESC LIMIT $4`,
    "octet_length(coalesce(body, ''))",
  ),
)

const BEFORE_ALL = 2_147_483_647

/** The bodies of a comment with their numbers, the highest first, those below `before`. */
export const listBodies = (
  sql: Sql,
  tenantId: Id,
  commentId: Id,
  before: number | null,
  limit: number,
): Promise<BodyRow[]> => sql<BodyRow>(BODIES, [tenantId, commentId, before ?? BEFORE_ALL, limit])
