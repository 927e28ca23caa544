import { z } from 'zod'

import type { Id } from '../../core/ids.ts'
import { columns } from '../../core/database/lists.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { renderMarkdown } from '../../domains/comments/text/markdown.ts'
import { mentionsIn } from '../../domains/comments/text/mentions.ts'
import { htmlToMarkdown } from '../sources/html.ts'

const BESIDE_A_MARK = /[*_]&#x([0-9A-F]{2,5});|&#x([0-9A-F]{2,5});[*_]/g
const MARKS = /<\/?(?:strong|em|s)>/g

/** Converting this takes some 5 ms, and the process does nothing else meanwhile. */
const BATCH = { limit: 200, bytes: 32_000 }

const FIRST = '00000000-0000-0000-0000-000000000000'
const positionSchema = z.object({ tenantId: z.string(), key: z.string() })

interface Imported {
  tenantId: Id
  key: string
  id: Id | null
  revision: number
  body: string | null
  bodyHtml: string | null
}

// It goes through the imported items, of which there are none without an import, and leaves texts
// of other comments alone. Each comment is looked up by itself: a join would read all of them.
const READ = statement(
  'imported_texts',
  `SELECT "tenantId", key, id, revision, body, "bodyHtml" FROM (
     SELECT i.tenant_id AS "tenantId", i.key, c.id, c.revision, c.body, c.body_html AS "bodyHtml",
       sum(coalesce(octet_length(c.body), 0)) OVER (ORDER BY i.tenant_id, i.key ROWS UNBOUNDED PRECEDING)
         - coalesce(octet_length(c.body), 0) AS before
     FROM (
       SELECT tenant_id, key, kind, item_id, made FROM import_items
       WHERE (tenant_id, key) > ($1::uuid, $2::uuid) ORDER BY tenant_id, key LIMIT $3
     ) i
     LEFT JOIN LATERAL (
       SELECT id, revision, body, body_html FROM comments
       WHERE tenant_id = i.tenant_id AND id = i.item_id AND i.kind = 'comment' AND i.made AND body LIKE '%&#x%' LIMIT 1
     ) c ON true
   ) measured WHERE before < $4 ORDER BY "tenantId", key`,
)

// Pages are cached by the number of profile changes. The places that a rule has found in the text
// are no longer known.
const REWRITE = statement(
  'rewrite_encoded_letters',
  `WITH changed AS (
     UPDATE comments c SET body = k.body, body_html = k.body_html,
       hold_details = CASE WHEN jsonb_typeof(c.hold_details) = 'array' THEN (
         SELECT jsonb_agg(d.detail || '{"start": null, "end": null}' ORDER BY d.n)
         FROM jsonb_array_elements(c.hold_details) WITH ORDINALITY AS d (detail, n)
       ) END
     FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[]) AS k (tenant_id, id, revision, body, body_html)
     WHERE c.tenant_id = k.tenant_id AND c.id = k.id AND c.revision = k.revision AND c.body IS NOT NULL
     RETURNING c.tenant_id
   ), announced AS (
     UPDATE tenants SET profile_version = profile_version + 1 WHERE id IN (SELECT tenant_id FROM changed)
   )
   SELECT count(*)::int AS changed FROM changed`,
)

/**
 * A Markdown text in which letters beside a mark are no codes, such as `&#x662F;`, and that shows
 * the same; null for any other text.
 */
export function withoutCodes(body: string, bodyHtml: string): string | null {
  const codes = Array.from(body.matchAll(BESIDE_A_MARK), ([, after, before]) => parseInt(after ?? before ?? '', 16))
  const isEncoded = codes.some((code) => /\S/.test(String.fromCodePoint(code)))
  // The conversion would make plain text of a mention.
  if (!isEncoded || mentionsIn(bodyHtml).length > 0) return null
  const written = htmlToMarkdown(bodyHtml)
  return written !== body && withoutMarks(renderMarkdown(written)) === withoutMarks(bodyHtml) ? written : null
}

/** Without the codes, marks begin or end at another letter. */
const withoutMarks = (html: string): string => html.replace(MARKS, '')

/**
 * Writes the imported texts after `position` again that earlier imports have written with codes.
 * There is no event, and `editedAt` stays: the text that is shown is the same. Revisions stay.
 */
export async function decodeLetters(sql: Sql, position: unknown) {
  const after = positionSchema.safeParse(position).data ?? { tenantId: FIRST, key: FIRST }
  const texts = await sql<Imported>(READ, [after.tenantId, after.key, BATCH.limit, BATCH.bytes])
  const last = texts.at(-1)
  if (last === undefined) return { last: null, changed: 0 }
  const rewritten = texts.flatMap(({ id, body, bodyHtml, ...row }) => {
    const written = id === null || body === null || bodyHtml === null ? null : withoutCodes(body, bodyHtml)
    return written === null ? [] : [{ ...row, id, body: written, bodyHtml: renderMarkdown(written) }]
  })
  return { last: { tenantId: last.tenantId, key: last.key }, changed: await rewrite(sql, rewritten) }
}

async function rewrite(sql: Sql, texts: readonly (Imported & { bodyHtml: string })[]): Promise<number> {
  if (texts.length === 0) return 0
  const params = columns(texts, 'tenantId', 'id', 'revision', 'body', 'bodyHtml')
  const [row] = await sql<{ changed: number }>(REWRITE, params)
  return row?.changed ?? 0
}
