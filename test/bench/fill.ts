import { newId } from '../../src/core/ids.ts'
import type { Db } from '../../src/core/database/database.ts'
import { statement } from '../../src/core/database/statements.ts'
import { unnamed } from '../harness/sql.ts'
import { closing } from './scripts.ts'
import { openDatabase } from './service.ts'

export interface Filled {
  tenantId: string
  discussionIds: string[]
  externalIds: string[]
  readers: { id: string; externalId: string }[]
  /** Some of the comments, from all discussions. */
  commentIds: string[]
}

const TENANT = unnamed("SELECT id FROM tenants WHERE slug = 'demo'")

const PATIENCE = statement('fill_patience', 'SET LOCAL statement_timeout = 0')
const ANALYZE = statement('fill_analyze', 'VACUUM ANALYZE')

const READERS = statement(
  'fill_readers',
  `INSERT INTO readers (tenant_id, id, external_id, name, profile_issued_at)
   SELECT $1, id, 'filled-' || id, 'Reader ' || n, now() FROM unnest($2::uuid[]) WITH ORDINALITY AS t(id, n)`,
)

const DISCUSSIONS = statement(
  'fill_discussions',
  `INSERT INTO discussions (tenant_id, id, external_id, comment_count, seq)
   SELECT $1, id, 'filled-' || id, $3::int, $3::int FROM unnest($2::uuid[]) AS t(id)`,
)

// Ids that rise with the time of their comments, as those of the service do.
const COMMENTS = statement(
  'fill_comments',
  `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, first_approved_at, created_at, reaction_counts)
   SELECT $1, ('0190' || lpad(to_hex(n), 8, '0') || '7000' || substr(md5(d.id::text || n), 1, 16))::uuid, d.id,
     ($3::uuid[])[1 + (n + d.k) % cardinality($3::uuid[])], t.body, '<p>' || t.body || '</p>', 'approved', c.at, c.at,
     CASE WHEN n % 3 = 0 THEN jsonb_build_object('like', n % 7 + 1) ELSE '{}' END
   FROM unnest($2::uuid[]) WITH ORDINALITY AS d(id, k) CROSS JOIN generate_series(1, $4::int) AS n
   CROSS JOIN LATERAL (SELECT 'I have read this twice, and I still think that point ' || n || ' is missed by the author.' AS body) t
   CROSS JOIN LATERAL (SELECT now() - interval '30 days' + n * interval '1 second' AS at) c`,
)

const SOME = unnamed(
  'SELECT id FROM comments WHERE tenant_id = $1 AND discussion_id = ANY($2::uuid[]) ORDER BY random() LIMIT 5000',
)

interface Size {
  discussions: number
  comments: number
  readers: number
}

/** Writes discussions with comments of many readers straight into the database, without events. */
export const fillDiscussions = (service: { databaseUrl: string }, size: Size): Promise<Filled> =>
  closing(async (opened) => fill(opened(await openDatabase(service)).db, size))

export const demoTenant = async (db: Db): Promise<string> => (await db.query<{ id: string }>(TENANT))[0]?.id ?? ''

/** The same on a database that is open and has a tenant `demo`. */
export async function fill(db: Db, size: Size): Promise<Filled> {
  const tenantId = await demoTenant(db)
  const ids = (n: number): string[] => Array.from({ length: n }, newId)
  const [readerIds, discussionIds] = [ids(size.readers), ids(size.discussions)]
  await db.transaction(async (sql) => {
    await sql(PATIENCE)
    await sql(READERS, [tenantId, readerIds])
    await sql(DISCUSSIONS, [tenantId, discussionIds, size.comments])
    await sql(COMMENTS, [tenantId, discussionIds, readerIds, size.comments])
  })
  await db.query(ANALYZE)
  const comments = await db.query<{ id: string }>(SOME, [tenantId, discussionIds])
  return {
    tenantId,
    discussionIds,
    externalIds: discussionIds.map((id) => `filled-${id}`),
    readers: readerIds.map((id) => ({ id, externalId: `filled-${id}` })),
    commentIds: comments.map(({ id }) => id),
  }
}
