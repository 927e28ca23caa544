import { type Sql, statement } from '../../core/sql.ts'
import { changeTexts } from '../../domains/comments/history/render-again.ts'
import { renderMarkdown } from '../../domains/comments/text/markdown.ts'
import { mentionsIn } from '../../domains/comments/text/mentions.ts'
import { visibleText } from '../../domains/comments/text/markdown-text.ts'
import { htmlToMarkdown } from '../sources/html.ts'

const BESIDE_A_MARK = /\*&#x([0-9A-F]{2,5});|&#x([0-9A-F]{2,5});\*/

// Pages are cached by the number of profile changes.
const REWRITE = statement(
  'rewrite_encoded_letters',
  `WITH changed AS (
     UPDATE comments c SET body = k.body, body_html = k.body_html
     FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[]) AS k (tenant_id, id, revision, body, body_html)
     WHERE c.tenant_id = k.tenant_id AND c.id = k.id AND c.revision = k.revision AND c.body IS NOT NULL
       AND EXISTS (SELECT FROM imports i WHERE i.tenant_id = c.tenant_id)
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
  const [, after, before] = BESIDE_A_MARK.exec(body) ?? []
  const code = after ?? before
  const isLetter = code !== undefined && /[\p{L}\p{N}]/u.test(String.fromCodePoint(parseInt(code, 16)))
  // The conversion would make plain text of a mention.
  if (!isLetter || mentionsIn(bodyHtml).length > 0) return null
  const written = htmlToMarkdown(bodyHtml)
  const isSame = visibleText(renderMarkdown(written)) === visibleText(bodyHtml)
  return isSame && written !== body ? written : null
}

/**
 * Writes the texts after `position` again that earlier imports have written with codes. There is no
 * event, and `editedAt` stays: the text that is shown is the same. Revisions stay.
 */
export const decodeLetters = (sql: Sql, position: unknown) =>
  changeTexts(sql, position, async (texts) => {
    const rewritten = texts.flatMap(({ body, bodyHtml, ...row }) => {
      const written = body === null || bodyHtml === null ? null : withoutCodes(body, bodyHtml)
      return written === null ? [] : [{ ...row, body: written, bodyHtml: renderMarkdown(written) }]
    })
    if (rewritten.length === 0) return 0
    const [row] = await sql<{ changed: number }>(REWRITE, [
      rewritten.map(({ tenantId }) => tenantId),
      rewritten.map(({ id }) => id),
      rewritten.map(({ revision }) => revision),
      rewritten.map(({ body }) => body),
      rewritten.map(({ bodyHtml }) => bodyHtml),
    ])
    return row?.changed ?? 0
  })
