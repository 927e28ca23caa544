import { firstIdAt, type Id } from '../../../core/ids.ts'
import type { Prisma, Sql } from '../../../core/database/database.ts'
import { statement } from '../../../core/database/statements.ts'

/** The most copies that a setting asks for. */
export const MOST_COPIES = 100

const HOURS = 24

/** A text that was posted, by its digest. */
export interface PostedText {
  tenantId: Id
  textDigest: string
}

const since = (now: Date): Id => firstIdAt(new Date(now.getTime() - HOURS * 3_600_000))

// The row is locked: of callers at once, in any process, each sees the copies of those before it.
const COUNT = statement(
  'count_posted_text',
  `INSERT INTO posted_texts AS p (tenant_id, text_digest, ids, expires_at)
   VALUES ($1, $2, ARRAY[$3::uuid], $5::timestamptz + interval '${HOURS} hours')
   ON CONFLICT (tenant_id, text_digest) DO UPDATE SET expires_at = excluded.expires_at,
     ids = ARRAY(SELECT id FROM unnest(p.ids) AS t (id) WHERE id > $4 ORDER BY id DESC LIMIT ${MOST_COPIES}) || excluded.ids
   RETURNING cardinality(ids) - 1 AS copies`,
)

/** Counts one more copy of a text, under `id`. Returns how many there were, up to 100, of 24 h. */
export async function countPostedText(sql: Sql, { tenantId, textDigest }: PostedText, id: Id): Promise<number> {
  const now = new Date()
  const [row] = await sql<{ copies: number }>(COUNT, [tenantId, textDigest, id, since(now), now])
  return row?.copies ?? 0
}

const TAKE_BACK = statement(
  'take_posted_text_back',
  'UPDATE posted_texts SET ids = array_remove(ids, $3::uuid) WHERE tenant_id = $1 AND text_digest = $2',
)

/** Takes a copy back that was not posted. */
export const takePostedTextBack = async (sql: Sql, { tenantId, textDigest }: PostedText, id: Id): Promise<void> =>
  void (await sql(TAKE_BACK, [tenantId, textDigest, id]))

/** How many copies of a text there are, of 24 h. */
export async function findCopies(prisma: Prisma, { tenantId, textDigest: digest }: PostedText): Promise<number> {
  const where = { tenantId_textDigest: { tenantId, textDigest: BigInt(digest) } }
  const first = since(new Date())
  return (await prisma.postedText.findUnique({ where }))?.ids.filter((id) => id > first).length ?? 0
}
