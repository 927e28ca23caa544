import type { Id } from '../../../core/ids.ts'
import { anyId, type Measured, upToBytes } from '../../../core/database/lists.ts'
import { statement } from '../../../core/database/statements.ts'

export interface LatestText extends Measured {
  body: string
  bodyHtml: string
}

/** The texts of the last `limit` comments but for deleted ones, at most 2 MB of them. */
export const readLatestTexts = statement(
  'latest_texts',
  upToBytes(
    `SELECT body, body_html AS "bodyHtml" FROM (
       SELECT body, body_html, status FROM comments
       WHERE tenant_id = $1 AND ${anyId('tenant_id', 'id')} ORDER BY id DESC LIMIT $2
     ) latest WHERE status <> 'deleted' AND body IS NOT NULL`,
    'octet_length(body) + octet_length("bodyHtml")',
  ),
).rows<[tenantId: Id, limit: number], LatestText>()
