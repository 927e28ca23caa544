import { requireCaller } from '../../core/access.ts'
import { hasCapability } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Sql } from '../../core/database/database.ts'
import { anyId } from '../../core/database/lists.ts'
import { statement } from '../../core/database/statements.ts'
import { namedIds } from '../discussions/scope.ts'
import { beginningsFor, isOfSiteSql } from '../sites/pages.ts'
import type { Reader } from './fields.ts'
import { requireReader } from './readers.ts'
import { findReader } from './records.ts'

/**
 * A reader by id. Moderators find all readers, and readers themselves. Others find a reader with an
 * approved comment or with a reaction on a comment in view; for a client token, in a discussion
 * that it names, and for a site on one of its pages. Null otherwise: nothing tells whether the
 * reader exists.
 */
export async function findReaderInView(ctx: Ctx, id: Id): Promise<Reader | null> {
  const { actor, identity } = requireCaller(ctx)
  const isSeen =
    hasCapability(actor, 'moderate_content') ||
    (identity !== null && (await requireReader(ctx)).id === id) ||
    (await loadInView(ctx, id))
  return isSeen ? findReader(ctx, id) : null
}

const loadInView = perRequest<Id, boolean>(async (ctx, ids) => {
  const found = await selectReadersInView(ctx.app.db.query, requireCaller(ctx).tenant.id, [...new Set(ids)], {
    discussionIds: await namedIds(ctx),
    beginnings: beginningsFor(ctx),
    byReactions: true,
  })
  const inView = new Set(found.map(({ id }) => id))
  return ids.map((id) => inView.has(id))
})

/** Those of the readers who have written in a discussion: who have an approved comment there. */
export async function authorsAmong(ctx: Ctx, ids: readonly Id[], discussionId: Id): Promise<ReadonlySet<Id>> {
  const { query } = ctx.app.db
  const there = { discussionIds: [discussionId], beginnings: null, byReactions: false }
  const found = await selectReadersInView(query, requireCaller(ctx).tenant.id, ids, there)
  return new Set(found.map(({ id }) => id))
}

// Of their newest comments and reactions: a reader may have written for years. For a site of fewer,
// each of which is looked up.
const NEWEST = 'LIMIT CASE WHEN $5::text[] IS NULL THEN 1000 ELSE 100 END'
const IN_SIGHT = `($3::uuid[] IS NULL OR c.discussion_id = ANY($3)) AND ${isOfSiteSql('$1', 'c.discussion_id', '$5')}`

const IN_VIEW = statement(
  'readers_in_view',
  `SELECT a.id FROM unnest($2::uuid[]) AS a (id)
   WHERE EXISTS (
     SELECT FROM (
       SELECT status, discussion_id FROM comments
       WHERE tenant_id = $1 AND author_id = a.id AND ${anyId('author_id')} ORDER BY id DESC ${NEWEST}
     ) c WHERE c.status = 'approved' AND ${IN_SIGHT}
   ) OR ($4::bool AND EXISTS (
     SELECT FROM (
       SELECT comment_id FROM reactions
       WHERE tenant_id = $1 AND reader_id = a.id AND type IS NOT NULL AND ${anyId('reader_id')}
       ORDER BY comment_id DESC ${NEWEST}
     ) r
     CROSS JOIN LATERAL (
       SELECT status, reply_count, discussion_id FROM comments WHERE tenant_id = $1 AND id = r.comment_id LIMIT 1
     ) c
     WHERE (c.status = 'approved' OR c.reply_count > 0) AND ${IN_SIGHT}
   ))`,
)

interface Where {
  /** These alone, unless it is null. */
  discussionIds: readonly Id[] | null
  /** Those of the addresses of a site's pages; null: all pages. */
  beginnings: readonly string[] | null
  /** Whether a reaction is enough, without a comment. */
  byReactions: boolean
}

/** Those of the readers who are in view. */
const selectReadersInView = (
  sql: Sql,
  tenantId: Id,
  ids: readonly Id[],
  { discussionIds, beginnings, byReactions }: Where,
): Promise<{ id: Id }[]> => sql(IN_VIEW, [tenantId, ids, discussionIds, byReactions, beginnings])
