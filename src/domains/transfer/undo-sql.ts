import { FIRST_ID, type Id } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import type { Key } from './keys.ts'

export interface UndoableImport {
  id: Id
  startedAt: Date
  undoneAt: Date | null
}

const FIND = statement(
  'find_import',
  'SELECT id, started_at AS "startedAt", undone_at AS "undoneAt" FROM imports WHERE tenant_id = $1 AND id = $2',
)

export const findImport = async (sql: Sql, tenantId: Id, id: Id): Promise<UndoableImport | undefined> =>
  (await sql<UndoableImport>(FIND, [tenantId, id]))[0]

export interface MadeItem {
  key: Key
  itemId: Id
}

const MADE = statement(
  'made_import_items',
  `SELECT key, item_id AS "itemId" FROM import_items
   WHERE tenant_id = $1 AND import_id = $2 AND kind = $3 AND made AND key > $4 ORDER BY key LIMIT $5`,
)

/** What an import has made of a kind, after the key `after`. */
export const selectMade = (
  sql: Sql,
  { tenantId, importId }: { tenantId: Id; importId: Id },
  kind: 'reader' | 'comment',
  { after, limit }: { after: Key | null; limit: number },
): Promise<MadeItem[]> => sql<MadeItem>(MADE, [tenantId, importId, kind, after ?? FIRST_ID, limit])

const DISCUSSIONS = statement(
  'discussions_of_made_comments',
  `SELECT DISTINCT discussion_id AS id FROM comments WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY 1`,
)

export const discussionsOf = async (sql: Sql, tenantId: Id, commentIds: readonly Id[]): Promise<Id[]> =>
  (await sql<{ id: Id }>(DISCUSSIONS, [tenantId, commentIds])).map(({ id }) => id)

export interface RemovedComment {
  id: Id
  discussionId: Id
  parentId: Id | null
  wasApproved: boolean
  wasInView: boolean
}

// Whatever somebody has done to a comment since has left a later time on it, or an entry in the
// audit log. What others have hung on it, and its own replies that stay, keep it as well.
const REMOVE_COMMENTS = statement(
  'remove_imported_comments',
  `DELETE FROM comments c
   WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[])
     AND greatest(c.edited_at, c.deleted_at, c.pinned_at, c.first_approved_at, '-infinity') < $3
     AND NOT EXISTS (SELECT FROM comments r WHERE r.tenant_id = $1 AND r.parent_id = c.id)
     AND NOT EXISTS (SELECT FROM reactions x WHERE x.tenant_id = $1 AND x.comment_id = c.id AND x.updated_at >= $3)
     AND NOT EXISTS (SELECT FROM reports x WHERE x.tenant_id = $1 AND x.comment_id = c.id AND x.created_at >= $3)
     AND NOT EXISTS (SELECT FROM audit_log a WHERE a.tenant_id = $1 AND a.target_id = c.id::text AND a.id >= first_id($3))
   RETURNING c.id, c.discussion_id AS "discussionId", c.parent_id AS "parentId", c.status = 'approved' AS "wasApproved",
     c.status = 'approved' OR (c.status = 'deleted' AND c.reply_count > 0) AS "wasInView"`,
)

/** Removes those of these comments that nobody has touched since, and that have no reply. */
export const removeComments = (sql: Sql, tenantId: Id, ids: readonly Id[], since: Date): Promise<RemovedComment[]> =>
  sql<RemovedComment>(REMOVE_COMMENTS, [tenantId, ids, since])

const COUNT_DOWN = statement(
  'import_count_down',
  `UPDATE discussions d SET comment_count = d.comment_count - a.approved,
     last_commented_at = CASE WHEN d.last_commented_at >= $4 THEN d.last_commented_at ELSE (
       SELECT max(created_at) FROM comments c
       WHERE c.tenant_id = $1 AND c.discussion_id = d.id AND c.status = 'approved') END
   FROM unnest($2::uuid[], $3::int[]) AS a (id, approved) WHERE d.tenant_id = $1 AND d.id = a.id`,
)

/** Takes comments out of the counts of their discussions, by how many were approved. */
export const countDown = (sql: Sql, tenantId: Id, removed: ReadonlyMap<Id, number>, since: Date): Promise<unknown> =>
  sql(COUNT_DOWN, [tenantId, [...removed.keys()], [...removed.values()], since])

const REMOVE_READERS = statement(
  'remove_imported_readers',
  `DELETE FROM readers r
   WHERE r.tenant_id = $1 AND r.id = ANY($2::uuid[]) AND r.profile_issued_at < $3 AND r.erasing_at IS NULL
     AND NOT EXISTS (SELECT FROM comments c WHERE c.tenant_id = $1 AND c.author_id = r.id)
     AND NOT EXISTS (SELECT FROM reactions x WHERE x.tenant_id = $1 AND x.reader_id = r.id)
     AND NOT EXISTS (SELECT FROM reports x WHERE x.tenant_id = $1 AND x.reader_id = r.id)
     AND NOT EXISTS (SELECT FROM audit_log a WHERE a.tenant_id = $1 AND a.target_id = r.id::text AND a.id >= first_id($3))
   RETURNING r.id, r.external_id AS "externalId"`,
)

/** Removes those of these readers who have done nothing since, and hold nothing. */
export const removeReaders = (
  sql: Sql,
  tenantId: Id,
  ids: readonly Id[],
  since: Date,
): Promise<{ id: Id; externalId: string }[]> =>
  sql<{ id: Id; externalId: string }>(REMOVE_READERS, [tenantId, ids, since])

const FORGET_ITEMS = statement(
  'forget_import_items',
  'DELETE FROM import_items WHERE tenant_id = $1 AND key = ANY($2::uuid[])',
)

/** Forgets items, so that they can be imported again. */
export const forgetItems = (sql: Sql, tenantId: Id, keys: readonly Key[]): Promise<unknown> =>
  sql(FORGET_ITEMS, [tenantId, keys])

const FORGET_NAMES = statement(
  'forget_import_names',
  `WITH waiting AS (DELETE FROM import_waiting WHERE tenant_id = $1 AND import_id = $2)
   DELETE FROM import_items WHERE tenant_id = $1 AND import_id = $2 AND (kind = 'discussion' OR NOT made)`,
)

/** The same of discussions, of what was there before, and of what has waited. */
export const forgetNames = (sql: Sql, tenantId: Id, importId: Id): Promise<unknown> =>
  sql(FORGET_NAMES, [tenantId, importId])

const END = statement(
  'undo_import',
  'UPDATE imports SET undone_at = $3, finished_at = coalesce(finished_at, $3) WHERE tenant_id = $1 AND id = $2',
)

export const endUndo = (sql: Sql, tenantId: Id, importId: Id, now: Date): Promise<unknown> =>
  sql(END, [tenantId, importId, now])
