import { FIRST_ID, type Id, LAST_ID } from '../../core/ids.ts'
import { type Sql, statement } from '../../core/sql.ts'
import { COMMENT_COLUMNS, COMMENT_FROM as FROM, type CommentRow } from './sql.ts'

type Order = 'ASC' | 'DESC'

const inLevel = (isRoot: boolean): string =>
  `c.tenant_id = $1 AND c.discussion_id = $2 AND c.parent_id ${isRoot ? 'IS NULL' : '= $5'}
   AND c.status IN ('approved', 'deleted') AND (c.status = 'approved' OR c.reply_count > 0)`

const unpinned = (isRoot: boolean, order: Order): string =>
  `SELECT ${COMMENT_COLUMNS} FROM ${FROM}
   WHERE ${inLevel(isRoot)} AND c.pinned_at IS NULL AND c.id ${order === 'DESC' ? '<' : '>'} $3
   ORDER BY c.id ${order} LIMIT $4`

// A thread level in the order of its index; one statement per order and level, so that each has its own plan.
const level = (name: string, isRoot: boolean, order: Order) => statement(name, unpinned(isRoot, order))

// The same where pinned ones come first: the last pinned before the others.
const pinnedLevel = (name: string, isRoot: boolean, order: Order) => {
  const [pinnedAt, id] = isRoot ? ['$5', '$6'] : ['$6', '$7']
  return statement(
    `${name}_pinned_first`,
    `SELECT * FROM (
       (SELECT ${COMMENT_COLUMNS} FROM ${FROM}
        WHERE ${inLevel(isRoot)} AND c.pinned_at IS NOT NULL AND (c.pinned_at, c.id) < (${pinnedAt}, ${id}::uuid)
        ORDER BY c.pinned_at DESC, c.id DESC LIMIT $4)
       UNION ALL
       (${unpinned(isRoot, order)})
     ) both_parts ORDER BY "pinnedAt" DESC NULLS LAST, CASE WHEN "pinnedAt" IS NOT NULL THEN id END DESC, id ${order} LIMIT $4`,
  )
}

const levels = (name: string, order: Order) => ({
  root: level(`roots_${name}`, true, order),
  replies: level(`replies_${name}`, false, order),
  pinnedRoot: pinnedLevel(`roots_${name}`, true, order),
  pinnedReplies: pinnedLevel(`replies_${name}`, false, order),
})

const LEVELS = { newest: levels('newest', 'DESC'), oldest: levels('oldest', 'ASC') } as const

export type CommentSort = keyof typeof LEVELS

/** The place of a comment in its level: pinned ones, the last pinned first, stand before all others. */
export interface LevelPlace {
  pinnedAt: string | null
  id: Id
}

interface Level {
  parentId: Id | null
  sort: CommentSort
  /** Null: from the beginning. */
  after: LevelPlace | null
  limit: number
}

/** Comments in view of one level of a thread: the roots, or the replies of `parentId`. */
export function listLevel(sql: Sql, tenantId: Id, discussionId: Id, at: Level): Promise<CommentRow[]> {
  const { root, replies, pinnedRoot, pinnedReplies } = LEVELS[at.sort]
  const parent = at.parentId === null ? [] : [at.parentId]
  if (at.after !== null && at.after.pinnedAt === null) {
    return sql(at.parentId === null ? root : replies, [tenantId, discussionId, at.after.id, at.limit, ...parent])
  }
  const start = at.sort === 'newest' ? LAST_ID : FIRST_ID
  const { pinnedAt, id } = at.after ?? { pinnedAt: 'infinity', id: LAST_ID }
  const params = [tenantId, discussionId, start, at.limit, ...parent, pinnedAt, id]
  return sql(at.parentId === null ? pinnedRoot : pinnedReplies, params)
}
