import type { Id } from '../../../core/ids.ts'
import { columns } from '../../../core/database/lists.ts'
import type { Sql } from '../../../core/database/database.ts'
import { statement } from '../../../core/database/statements.ts'

export interface StoredText {
  tenantId: Id
  id: Id
  revision: number
  body: string | null
  bodyHtml: string | null
}

const READ = statement(
  'stored_texts',
  `SELECT "tenantId", id, revision, body, "bodyHtml" FROM (
     SELECT listed.*, sum("bytes") OVER (ROWS UNBOUNDED PRECEDING) - "bytes" AS before FROM (
       SELECT tenant_id AS "tenantId", id, revision, body, body_html AS "bodyHtml", coalesce(octet_length(body), 0) AS "bytes"
       FROM comments
       WHERE (tenant_id, id) > ($1::uuid, $2::uuid) ORDER BY tenant_id, id LIMIT $3
     ) listed
   ) measured WHERE before < $4`,
)

/**
 * The next texts in the order of their keys: at most `limit`, and no more after `bytes` of their
 * bodies.
 */
export const readStoredTexts = (
  sql: Sql,
  after: { tenantId: Id; id: Id },
  { limit, bytes }: { limit: number; bytes: number },
): Promise<StoredText[]> => sql(READ, [after.tenantId, after.id, limit, bytes])

// Pages are cached by the number of profile changes: a kept one would show the HTML of before.
const REPLACE = statement(
  'replace_rendered_texts',
  `WITH changed AS (
     UPDATE comments c SET body_html = k.body_html
     FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[]) AS k (tenant_id, id, revision, body_html)
     WHERE c.tenant_id = k.tenant_id AND c.id = k.id AND c.revision = k.revision AND c.body IS NOT NULL
     RETURNING c.tenant_id
   ), announced AS (
     UPDATE tenants SET profile_version = profile_version + 1 WHERE id IN (SELECT tenant_id FROM changed)
   )
   SELECT count(*)::int AS changed FROM changed`,
)

/**
 * Replaces the HTML of texts, and returns how many it has replaced. A text that was edited or
 * erased since it was read stays as it is.
 */
export async function replaceRendered(
  sql: Sql,
  texts: readonly (StoredText & { bodyHtml: string })[],
): Promise<number> {
  const params = columns(texts, 'tenantId', 'id', 'revision', 'bodyHtml')
  const [row] = await sql<{ changed: number }>(REPLACE, params)
  return row?.changed ?? 0
}
