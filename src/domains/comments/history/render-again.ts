import { z } from 'zod'

import type { Sql } from '../../../core/sql.ts'
import { renderMarkdown } from '../text/markdown.ts'
import { mentionsIn } from '../text/mentions.ts'
import { readStoredTexts, replaceRendered } from './render-again-sql.ts'

/** Rendering this takes some 5 ms, and 30 ms at worst. The process does nothing else meanwhile. */
const BATCH = { limit: 200, bytes: 32_000 }

const FIRST = '00000000-0000-0000-0000-000000000000'
const positionSchema = z.object({ tenantId: z.string(), id: z.string() })

/**
 * Renders the next comments after `position` by the present rules, and stores what differs. There
 * is no event, and `editedAt` stays: the text is the same. Revisions have no HTML. Events keep that
 * of their time.
 */
export async function renderAgain(
  sql: Sql,
  position: unknown,
): Promise<{ last: z.infer<typeof positionSchema> | null; changed: number }> {
  const texts = await readStoredTexts(
    sql,
    positionSchema.safeParse(position).data ?? { tenantId: FIRST, id: FIRST },
    BATCH,
  )
  const last = texts.at(-1)
  if (last === undefined) return { last: null, changed: 0 }
  const differing = texts.flatMap((text) => {
    if (text.body === null) return []
    // Whom it names was decided when it was written.
    const bodyHtml = renderMarkdown(text.body, new Set(mentionsIn(text.bodyHtml)))
    return bodyHtml === text.bodyHtml ? [] : [{ ...text, bodyHtml }]
  })
  const changed = differing.length === 0 ? 0 : await replaceRendered(sql, differing)
  return { last: { tenantId: last.tenantId, id: last.id }, changed }
}
