import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import type { PairKind } from '../store/imported.ts'
import { findDiscussions, type FoundByName } from '../store/named-sql.ts'

interface Named extends FoundByName {
  /** Differs from the external id that was asked for, if that is a former one. */
  externalIdNow: string
}

/**
 * The readers or discussions that have, or had, one of these external ids, or have one of these
 * ids. Locks nothing.
 */
export async function findNamed(
  { db, prisma }: Pick<App, 'db' | 'prisma'>,
  tenantId: Id,
  kind: 'reader' | 'discussion',
  names: readonly string[],
  ids: readonly Id[],
): Promise<Named[]> {
  if (names.length + ids.length === 0) return []
  if (kind === 'reader') {
    const where = { tenantId, OR: [{ externalId: { in: [...names] } }, { id: { in: [...ids] } }] }
    const aliasOf = { select: { into: { select: { externalId: true } } } }
    const found = await prisma.reader.findMany({ where, select: { id: true, externalId: true, aliasOf } })
    return found.map(({ id, externalId, aliasOf: merge }) => {
      return { id, externalId, externalIdNow: merge?.into.externalId ?? externalId }
    })
  }
  const found = await findDiscussions(db.query, tenantId, names, ids)
  const where = { tenantId, id: { in: found.map(({ id }) => id) } }
  const now = await prisma.discussion.findMany({ where, select: { id: true, externalId: true } })
  const nowOf = new Map(now.map(({ id, externalId }) => [id, externalId]))
  return found.map(({ id, externalId }) => ({ id, externalId, externalIdNow: nowOf.get(id) ?? externalId }))
}

export interface Standing {
  id: Id
  depth: number
  /** The external id of its discussion. */
  page: string
  /** The external id of its author; null without one. */
  author: string | null
}

const STANDING = statement(
  'rehearse_comments',
  `SELECT c.id, c.depth, d.external_id AS page,
     (SELECT external_id FROM readers WHERE tenant_id = $1 AND id = c.author_id LIMIT 1) AS author
   FROM comments c
   CROSS JOIN LATERAL (SELECT external_id FROM discussions WHERE tenant_id = $1 AND id = c.discussion_id LIMIT 1) d
   WHERE c.tenant_id = $1 AND c.id = ANY($2::uuid[])`,
)

/** Those of these comments that exist, with their places and authors. */
export const findStanding = async (sql: Sql, tenantId: Id, ids: readonly Id[]): Promise<Standing[]> =>
  ids.length === 0 ? [] : sql<Standing>(STANDING, [tenantId, [...ids]])

export interface Pair {
  commentId: Id
  readerId: Id
}

const pairsIn = <Table extends 'reactions' | 'shadow_reactions' | 'reports'>(table: Table) =>
  statement(
    `rehearse_${table}`,
    `SELECT x.comment_id AS "commentId", x.reader_id AS "readerId" FROM unnest($2::uuid[], $3::uuid[]) AS p (comment_id, reader_id)
     JOIN ${table} x ON x.tenant_id = $1 AND x.comment_id = p.comment_id AND x.reader_id = p.reader_id`,
  )

const PAIRS = {
  reaction: pairsIn('reactions'),
  shadow_reaction: pairsIn('shadow_reactions'),
  report: pairsIn('reports'),
} satisfies Record<PairKind, object>

/** Those of these pairs that have a row of this kind. */
export const findPairs = async (sql: Sql, tenantId: Id, kind: PairKind, pairs: readonly Pair[]): Promise<Pair[]> => {
  const [comments, readers] = [pairs.map(({ commentId }) => commentId), pairs.map(({ readerId }) => readerId)]
  return pairs.length === 0 ? [] : sql<Pair>(PAIRS[kind], [tenantId, comments, readers])
}
