import { z } from 'zod'

import type { Sql } from '../../../core/database/database.ts'
import { renderMarkdown } from '../text/markdown.ts'
import { mentionsIn } from '../text/mentions.ts'
import { readStoredTexts, replaceRendered, type StoredText } from './render-again-sql.ts'

/** Rendering this takes some 5 ms, and 30 ms at worst. The process does nothing else meanwhile. */
const BATCH = { limit: 200, bytes: 32_000 }

const FIRST = '00000000-0000-0000-0000-000000000000'
const positionSchema = z.object({ tenantId: z.string(), id: z.string() })

/** Passes the next comments after `position` to `change`, which returns how many it has changed. */
async function changeTexts(
  sql: Sql,
  position: unknown,
  change: (texts: readonly StoredText[]) => Promise<number>,
): Promise<{ last: z.infer<typeof positionSchema> | null; changed: number }> {
  const after = positionSchema.safeParse(position).data ?? { tenantId: FIRST, id: FIRST }
  const texts = await readStoredTexts(sql, after, BATCH)
  const last = texts.at(-1)
  if (last === undefined) return { last: null, changed: 0 }
  return { last: { tenantId: last.tenantId, id: last.id }, changed: await change(texts) }
}

/**
 * Renders the next comments after `position` by the present rules, and stores what differs. There
 * is no event, and `editedAt` stays: the text is the same. Revisions have no HTML. Events keep that
 * of their time.
 */
export const renderAgain = (sql: Sql, position: unknown) =>
  changeTexts(sql, position, async (texts) => {
    const differing = texts.flatMap((text) => {
      if (text.body === null) return []
      // Whom it names was decided when it was written.
      const bodyHtml = renderMarkdown(text.body, new Set(mentionsIn(text.bodyHtml)))
      return bodyHtml === text.bodyHtml ? [] : [{ ...text, bodyHtml }]
    })
    return differing.length === 0 ? 0 : replaceRendered(sql, differing)
  })
