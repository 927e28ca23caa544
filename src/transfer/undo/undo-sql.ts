import type { App } from '../../core/app.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { columns } from '../../core/database/lists.ts'
import type { Sql, TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { Import } from '../../generated/prisma/client.ts'
import { inView } from '../../domains/comments/comment.ts'
import type { Key } from '../../domains/imports/keys.ts'
import type { Removed } from '../../domains/imports/report.ts'

const CREATED_ITEMS = statement(
  'made_import_items',
  `SELECT key FROM import_items
   WHERE tenant_id = $1 AND import_id = $2 AND kind = $3 AND made AND key > $4 ORDER BY key LIMIT $5`,
)

/** The keys of an import's rows of a kind, after the key `after`. */
export const selectCreated = async (
  sql: Sql,
  { tenantId, importId }: { tenantId: Id; importId: Id },
  kind: 'reader' | 'comment',
  { after, limit }: { after: Key | null; limit: number },
): Promise<Key[]> =>
  (await sql<{ key: Key }>(CREATED_ITEMS, [tenantId, importId, kind, after ?? FIRST_ID, limit])).map(({ key }) => key)

// LIMIT makes PostgreSQL look up each key in the index. It keeps a plan that was made while the
// tables were small, and that would read all items of the tenant for each key.
const ITEMS = `(
     SELECT k.key, i.item_id, i.latest_at FROM unnest($2::uuid[]) AS k (key)
     CROSS JOIN LATERAL (SELECT item_id, latest_at FROM import_items WHERE tenant_id = $1 AND key = k.key LIMIT 1) i
   )`

const DISCUSSIONS = statement(
  'discussions_of_made_comments',
  `WITH items AS MATERIALIZED ${ITEMS}
   SELECT DISTINCT c.discussion_id AS id FROM items i CROSS JOIN LATERAL (
     SELECT discussion_id FROM comments WHERE tenant_id = (SELECT $1::uuid) AND id = i.item_id LIMIT 1) c
   ORDER BY 1`,
)

export const discussionsOf = async (sql: Sql, tenantId: Id, keys: readonly Key[]): Promise<Id[]> =>
  (await sql<{ id: Id }>(DISCUSSIONS, [tenantId, keys])).map(({ id }) => id)

export interface RemovedComment {
  key: Key
  discussionId: Id
  parentId: Id | null
  createdAt: Date
  wasApproved: boolean
  wasInView: boolean
}

// Any later change to a comment has left a later time on it than the import did, or an audit
// entry. Reactions and reports of others keep it as well, and so do replies that stay.
/**
 * Removes those of these comments that no one, and no other import, has touched since, and that
 * have no replies.
 */
export const removeComments = statement(
  'remove_imported_comments',
  `WITH items AS MATERIALIZED ${ITEMS}
   DELETE FROM comments c USING items i
   WHERE c.tenant_id = $1 AND c.id = i.item_id
     AND greatest(c.edited_at, c.deleted_at, c.pinned_at, c.first_approved_at, '-infinity') <= greatest($3, i.latest_at)
     AND NOT EXISTS (SELECT FROM import_items t WHERE t.tenant_id = $1 AND t.item_id = c.id AND t.touched)
     AND NOT EXISTS (SELECT FROM comments r WHERE r.tenant_id = $1 AND r.parent_id = c.id)
     AND NOT EXISTS (SELECT FROM reactions x
       WHERE x.tenant_id = $1 AND x.comment_id = c.id AND x.updated_at > greatest($3, i.latest_at))
     AND NOT EXISTS (SELECT FROM reports x
       WHERE x.tenant_id = $1 AND x.comment_id = c.id AND x.created_at > greatest($3, i.latest_at))
     AND NOT EXISTS (SELECT FROM audit_log a WHERE a.tenant_id = $1 AND a.target_id = c.id::text AND a.id >= first_id($3))
   RETURNING i.key, c.discussion_id AS "discussionId", c.parent_id AS "parentId", c.created_at AS "createdAt",
     c.status = 'approved' AS "wasApproved",
     (${inView('c')}) AS "wasInView"`,
).rows<[tenantId: Id, keys: readonly Key[], since: Date], RemovedComment>()

const LAST_LEFT = `(SELECT max(c.created_at) FROM comments c
  WHERE c.tenant_id = $1 AND c.discussion_id = d.id AND c.status = 'approved')`

const COUNT_DOWN = statement(
  'import_count_down',
  `UPDATE discussions d SET comment_count = d.comment_count - a.approved,
     last_commented_at = CASE WHEN d.last_commented_at > a.last_at THEN d.last_commented_at ELSE ${LAST_LEFT} END,
     active_at = CASE WHEN d.active_at > a.last_at THEN d.active_at
       ELSE date_trunc('minute', greatest(d.created_at, ${LAST_LEFT})) END
   FROM unnest($2::uuid[], $3::int[], $4::timestamptz[]) AS a (id, approved, last_at)
   WHERE d.tenant_id = $1 AND d.id = a.id`,
)

/** The effects of removed approved comments on their discussion. */
export interface Departure {
  approved: number
  /** When the latest of them was written. */
  lastAt: Date
}

/** Subtracts approved comments from their discussions' counts and times. */
export const countDown = (sql: Sql, tenantId: Id, removed: ReadonlyMap<Id, Departure>): Promise<unknown> => {
  return sql(COUNT_DOWN, [tenantId, [...removed.keys()], ...columns([...removed.values()], 'approved', 'lastAt')])
}

const LOCK_READERS = statement(
  'lock_imported_readers',
  `WITH items AS MATERIALIZED ${ITEMS}
   SELECT r.id FROM (SELECT item_id FROM items ORDER BY item_id) i CROSS JOIN LATERAL (
     SELECT id FROM readers WHERE tenant_id = (SELECT $1::uuid) AND id = i.item_id LIMIT 1 FOR UPDATE) r`,
)

const REMOVE_READERS = statement(
  'remove_imported_readers',
  `WITH items AS MATERIALIZED ${ITEMS},
   gone AS (
   DELETE FROM readers r USING items i
   WHERE r.tenant_id = $1 AND r.id = i.item_id
     AND r.profile_issued_at <= greatest($3, i.latest_at) AND r.erasing_at IS NULL
     AND NOT EXISTS (SELECT FROM comments c WHERE c.tenant_id = $1 AND c.author_id = r.id)
     AND NOT EXISTS (SELECT FROM reactions x WHERE x.tenant_id = $1 AND x.reader_id = r.id)
     AND NOT EXISTS (SELECT FROM shadow_reactions x WHERE x.tenant_id = $1 AND x.reader_id = r.id)
     AND NOT EXISTS (SELECT FROM reports x WHERE x.tenant_id = $1 AND x.reader_id = r.id)
     AND NOT EXISTS (SELECT FROM reader_merges m WHERE m.tenant_id = $1 AND m.into_id = r.id
       AND (m.merging_at IS NOT NULL OR m.created_at > greatest($3, i.latest_at)))
     AND NOT EXISTS (SELECT FROM audit_log a WHERE a.tenant_id = $1 AND a.target_id = r.id::text AND a.id >= first_id($3))
   RETURNING r.id, r.external_id
   ),
   dissolved AS (
     DELETE FROM reader_merges m USING gone g WHERE m.tenant_id = $1 AND m.into_id = g.id RETURNING m.into_id, m.alias_id
   ),
   freed AS (
     DELETE FROM readers r USING dissolved d WHERE r.tenant_id = $1 AND r.id = d.alias_id
     RETURNING d.into_id, r.external_id
   )
   SELECT g.id, g.external_id AS "externalId",
     ARRAY(SELECT f.external_id FROM freed f WHERE f.into_id = g.id) AS "formerExternalIds"
   FROM gone g`,
)

export interface RemovedReader {
  id: Id
  externalId: string
  formerExternalIds: string[]
}

/**
 * Removes those of these readers who have done nothing since, and own nothing. External ids of
 * former readers who came with them are free again. The readers are locked first, so that a
 * concurrent write of theirs is either visible or waits.
 */
export async function removeReaders(
  sql: Sql,
  tenantId: Id,
  keys: readonly Key[],
  since: Date,
): Promise<RemovedReader[]> {
  await sql(LOCK_READERS, [tenantId, keys])
  return sql<RemovedReader>(REMOVE_READERS, [tenantId, keys, since])
}

/** Forgets comments, so that the file can bring them again. */
export const forgetComments = ({ prisma }: TxSql, tenantId: Id, keys: readonly Key[]): Promise<unknown> =>
  prisma.importItem.deleteMany({ where: { tenantId, key: { in: [...keys] } } })

/**
 * Forgets readers, under every id by which a source knows them, so that a file can bring them
 * again.
 */
export const forgetReaders = ({ prisma }: TxSql, tenantId: Id, ids: readonly Id[]): Promise<unknown> =>
  prisma.importItem.deleteMany({ where: { tenantId, kind: 'reader', itemId: { in: [...ids] } } })

/**
 * Forgets discussions, items that existed before, and those that have waited. That a reader was
 * erased is kept.
 */
export const forgetNames = statement(
  'forget_import_names',
  `WITH waiting AS (DELETE FROM import_waiting WHERE tenant_id = $1 AND import_id = $2)
   DELETE FROM import_items
   WHERE tenant_id = $1 AND import_id = $2 AND (kind = 'discussion' OR NOT made) AND NOT touched
     AND (kind <> 'reader' OR item_id IS NOT NULL)`,
).run<[tenantId: Id, importId: Id]>()

const importWhere = (tenantId: Id, id: Id) => ({ tenantId_id: { tenantId, id } })

/** Null if there is no such import. */
export const findUndoable = ({ prisma }: App, tenantId: Id, id: Id): Promise<Import | null> =>
  prisma.import.findUnique({ where: importWhere(tenantId, id) })

/** Stores an undo's progress, in the transaction that makes it. */
export const noteRemoved = ({ prisma }: TxSql, tenantId: Id, importId: Id, removed: Removed): Promise<unknown> =>
  prisma.import.update({ where: importWhere(tenantId, importId), data: { removed: { ...removed } } })

export const endUndo = ({ prisma }: TxSql, tenantId: Id, { id, finishedAt }: Import, now: Date): Promise<unknown> =>
  prisma.import.update({
    where: importWhere(tenantId, id),
    data: { undoneAt: now, finishedAt: finishedAt ?? now },
  })
