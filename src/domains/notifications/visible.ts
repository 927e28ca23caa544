import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { columns } from '../../core/database/lists.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { Notification as Row } from '../../generated/prisma/client.ts'
import { namedIds } from '../discussions/scope.ts'
import { banIn } from '../readers/bans.ts'
import { discussionsOf, siteOf } from '../sites/pages.ts'

/** A notification with its place, and the author of its comment. */
export interface Notification extends Row {
  comment: { discussionId: Id; authorId: Id | null }
}

interface Told {
  /** The position among the rows, from 1 on. */
  n: number
  discussionId: Id
  authorId: Id
}

const lookUp = (what: string, table: string, id: string): string =>
  `(SELECT ${what} FROM ${table} t WHERE t.tenant_id = $1 AND t.id = ${id} LIMIT 1)`

// Each row is looked up by its key. A join, as Prisma would make it, joins the comments three
// times, is planned for 2 ms, and may read all comments of a tenant without statistics. After a
// merge a reader may have replied to themselves. A decision is told as it is on the comment itself:
// see `decisionsForViewer`.
const TOLD = statement(
  'told_notifications',
  `SELECT k.n::int AS n, c.discussion_id AS "discussionId", c.author_id AS "authorId"
   FROM unnest($2::uuid[], $3::uuid[], $4::text[]) WITH ORDINALITY AS k (comment_id, reader_id, kind, n)
   CROSS JOIN LATERAL (SELECT discussion_id, author_id, status, decision FROM comments
     WHERE tenant_id = $1 AND id = k.comment_id LIMIT 1) c
   WHERE ${lookUp('t.deleted_at IS NULL', 'discussions', 'c.discussion_id')}
     AND ${lookUp('t.erasing_at IS NULL', 'readers', 'k.reader_id')}
     AND CASE WHEN k.kind = 'decision'
       THEN c.author_id = k.reader_id AND c.decision IS NOT NULL
         AND ${lookUp(`${banIn('t', '$5::timestamptz')} IS DISTINCT FROM 'shadow'`, 'readers', 'k.reader_id')}
       ELSE c.author_id <> k.reader_id AND c.status = 'approved'
         AND ${lookUp('t.erasing_at IS NULL', 'readers', 'c.author_id')}
         AND coalesce((SELECT false FROM reader_mutes m
           WHERE m.tenant_id = $1 AND m.reader_id = k.reader_id AND m.muted_id = c.author_id LIMIT 1), true) END`,
)

const selectTold = (sql: Sql, tenantId: Id, rows: readonly Row[]): Promise<Told[]> =>
  sql(TOLD, [tenantId, ...columns(rows, 'commentId', 'readerId', 'kind'), new Date()])

/**
 * Those of the rows whose comment their readers can see now, in the same order: of others an
 * approved one, by somebody whom they have not muted; of their own one with a decision. A client
 * token sees the discussions that it names, a site's page those of the site.
 */
export async function visibleOf(ctx: Ctx, rows: readonly Row[]): Promise<Notification[]> {
  if (rows.length === 0) return []
  const told = await selectTold(ctx.app.db.query, requireCaller(ctx).tenant.id, rows)
  const opened = await openedTo(ctx, told)
  const comments = new Map(told.map(({ n, ...comment }) => [n, comment]))
  return rows.flatMap((row, index) => {
    const comment = comments.get(index + 1)
    return comment === undefined || opened?.has(comment.discussionId) === false ? [] : [{ ...row, comment }]
  })
}

/** The discussions that the caller is told of; null for all. */
async function openedTo(ctx: Ctx, told: readonly Told[]): Promise<ReadonlySet<Id> | null> {
  const site = siteOf(ctx)
  if (site !== null) {
    const ids = told.map(({ discussionId }) => discussionId)
    return discussionsOf(ctx.app, { ...site, tenantId: requireCaller(ctx).tenant.id }, ids)
  }
  const named = await namedIds(ctx)
  return named && new Set(named)
}
