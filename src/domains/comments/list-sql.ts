import { FIRST_ID, type Id, LAST_ID } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { type Measured, upToBytes } from '../../core/database/lists.ts'
import { type Param, statement, type StatementOf } from '../../core/database/statements.ts'
import {
  COMMENT_BYTES,
  COMMENT_COLUMNS,
  COMMENT_FROM as FROM,
  COMMENT_FROM_ONE_BY_ONE,
  type CommentRow,
  inView,
} from './comment.ts'

interface Order {
  direction: 'ASC' | 'DESC'
  /** Between the parent and the key in the order's index: null in comments that are not pinned. */
  before: readonly string[]
  /** The sort key of the level: columns of the table, the same of COLUMNS, and their types. */
  key: readonly string[]
  rowKey: readonly string[]
  types: readonly string[]
}

/** The order of the index `comments_shown`, read forwards and backwards. */
const BY_ID = { key: ['c.id'], rowKey: ['id'], types: ['uuid'] }
const NEWEST = { direction: 'DESC', before: ['c.pinned_at DESC NULLS LAST'], ...BY_ID } as const
const OLDEST = { direction: 'ASC', before: ['c.pinned_at NULLS FIRST'], ...BY_ID } as const

const ORDERS = {
  newest: NEWEST,
  oldest: OLDEST,
  top: {
    direction: 'DESC',
    before: [],
    key: ['c.reaction_count', 'c.reply_count', 'c.id'],
    rowKey: ['"reactionCount"', '"replyCount"', 'id'],
    types: ['int', 'int', 'uuid'],
  },
} as const satisfies Record<string, Order>

export type CommentSort = keyof typeof ORDERS

// The number of reactions is only for sorting.
const COLUMNS = `${COMMENT_COLUMNS}, c.reaction_count AS "reactionCount"`

/** A statement reads one level: the roots of a discussion, or the replies of a comment. */
type OneLevel = 'roots' | 'replies'

/** Levels that are read for several discussions or comments at once. */
type EachLevel = 'rootsOfEach' | 'repliesOfEach'

type ListLevel = OneLevel | EachLevel

interface ScopeSql {
  discussion: string
  parent: string
  /** The number of the first parameter after the scope's. */
  next: number
}

// $1 is the tenant, $2 the limit; then the parameters of the scope, of the key, and of the place
// among pinned comments.
const SCOPES: Readonly<Record<ListLevel, ScopeSql>> = {
  roots: { discussion: '$3', parent: 'IS NULL', next: 4 },
  replies: { discussion: '$3', parent: '= $4', next: 5 },
  rootsOfEach: { discussion: 'p.discussion_id', parent: 'IS NULL', next: 4 },
  repliesOfEach: { discussion: 'p.discussion_id', parent: '= p.id', next: 5 },
}

/** The source of several levels, in their order. */
const EACH: Readonly<Record<EachLevel, string>> = {
  rootsOfEach: 'unnest($3::uuid[]) WITH ORDINALITY AS p (discussion_id, n)',
  repliesOfEach: 'unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS p (discussion_id, id, n)',
}

const inLevel = (scope: ListLevel): string =>
  `c.tenant_id = $1 AND c.discussion_id = ${SCOPES[scope].discussion} AND c.parent_id ${SCOPES[scope].parent}
   AND ${inView('c')}`

const sorted = (key: readonly string[], direction: string): string =>
  key.map((column) => `${column} ${direction}`).join(', ')

/**
 * SQL: the order of the index. It names the parent, although it is constant, and what is null in
 * all rows: PostgreSQL does not take `IS NULL` for a constant, and would not use the index's order
 * (measured: 2 s instead of 0.3 ms among 1 000 000 roots).
 */
const asIndexed = ({ direction, before, key }: Order): string =>
  [sorted(['c.parent_id'], direction), ...before, sorted(key, direction)].join(', ')

function unpinned(scope: ListLevel, order: Order): string {
  const { direction, key, types } = order
  const values = types.map((type, index) => `$${SCOPES[scope].next + index}::${type}`)
  return `SELECT ${COLUMNS} FROM ${FROM}
    WHERE ${inLevel(scope)} AND c.pinned_at IS NULL
      AND (${key.join(', ')}) ${direction === 'DESC' ? '<' : '>'} (${values.join(', ')})
    ORDER BY ${asIndexed(order)} LIMIT $2`
}

const pinnedFirst = ({ rowKey, direction }: Order, row = ''): string => {
  const key = rowKey.map((column) => row + column)
  const ofPinned = `CASE WHEN ${row}"pinnedAt" IS NOT NULL THEN ${row}id END DESC`
  return `${row}"pinnedAt" DESC NULLS LAST, ${ofPinned}, ${sorted(key, direction)}`
}

/** A level with its pinned comments first, the last pinned before the others. */
function withPinned(scope: ListLevel, order: Order): string {
  const next = SCOPES[scope].next + order.types.length
  return `SELECT * FROM (
      (SELECT ${COLUMNS} FROM ${FROM}
       WHERE ${inLevel(scope)} AND c.pinned_at IS NOT NULL AND (c.pinned_at, c.id) < ($${next}::timestamptz, $${next + 1}::uuid)
       ORDER BY ${asIndexed(NEWEST)} LIMIT $2)
      UNION ALL
      (${unpinned(scope, order)})
    ) both_parts ORDER BY ${pinnedFirst(order)} LIMIT $2`
}

/** The start of a level: in the order `newest`, the index has pinned comments where they belong. */
const newestStart = (scope: ListLevel): string =>
  `SELECT ${COLUMNS} FROM ${FROM} WHERE ${inLevel(scope)} ORDER BY ${asIndexed(NEWEST)} LIMIT $2`

const ofEach = (scope: EachLevel, level: string, order: Order): string =>
  `SELECT l.* FROM ${EACH[scope]} CROSS JOIN LATERAL (${level}) l ORDER BY p.n, ${pinnedFirst(order, 'l.')}`

const SCOPE_NAMES = Object.keys(SCOPES) as ListLevel[]

/** A statement for each scope, so that each has its own plan on an index. */
const inEachScope = (name: NameEnd, level: (scope: ListLevel) => string, order: Order): Record<ListLevel, Statements> =>
  Object.fromEntries(
    SCOPE_NAMES.map((scope) => {
      const text = level(scope)
      return [scope, statementsOf(`${scope}_${name}`, isEach(scope) ? ofEach(scope, text, order) : text)]
    }),
  ) as Record<ListLevel, Statements>

const isEach = (scope: ListLevel): scope is EachLevel => scope in EACH

const levelsOf = (sort: CommentSort) => {
  const order: Order = ORDERS[sort]
  return {
    rest: inEachScope(sort, (scope) => unpinned(scope, order), order),
    pinnedFirst: inEachScope(`${sort}_pinned_first`, (scope) => withPinned(scope, order), order),
  }
}

/**
 * This many comments have at most 4 MB: the answer's byte budget cuts them, so they are not
 * measured while they are read.
 */
const FEW = 31

/** Whether a page is too short to be measured while it is read. */
export const isShort = ({ limit }: { limit: number }): boolean => limit <= FEW

interface Statements {
  few: StatementOf<ListedRow>
  many: StatementOf<ListedRow>
}

type NameEnd = `${CommentSort}${'' | '_pinned_first'}` | 'newest_start'

const statementsOf = (name: `${ListLevel}_${NameEnd}`, text: string): Statements => ({
  few: statement(name, text),
  many: statement(`${name}_measured`, upToBytes(text.replaceAll(FROM, COMMENT_FROM_ONE_BY_ONE), COMMENT_BYTES)),
})

const LEVELS = { newest: levelsOf('newest'), oldest: levelsOf('oldest'), top: levelsOf('top') } as const
const NEWEST_START = inEachScope('newest_start', newestStart, NEWEST)

/**
 * A comment's place in its level: pinned comments, the last pinned first, stand before all others.
 */
export interface LevelPlace {
  pinnedAt: string | null
  id: Id
  /** Only for `top`. */
  reactionCount: number
  replyCount: number
}

interface Level {
  sort: CommentSort
  /** Null: from the start. */
  after: LevelPlace | null
  limit: number
}

export type ListedRow = CommentRow & Measured

const MAX_COUNT = 2_147_483_647

/** The place before all pinned comments. */
const START = { pinnedAt: 'infinity', id: LAST_ID }
const FIRST_OF = {
  newest: [LAST_ID],
  oldest: [FIRST_ID],
  top: [MAX_COUNT, MAX_COUNT, LAST_ID],
} as const satisfies Record<CommentSort, readonly Param[]>

const keyOf = (sort: CommentSort, { reactionCount, replyCount, id }: LevelPlace): Param[] =>
  sort === 'top' ? [reactionCount, replyCount, id] : [id]

function run(
  sql: Sql,
  scope: ListLevel,
  { sort, after, limit }: Level,
  tenantId: Id,
  of: Param[],
  size: keyof Statements,
): Promise<ListedRow[]> {
  const { rest, pinnedFirst: whole } = LEVELS[sort]
  if (after === null && sort === 'newest') return sql(NEWEST_START[scope][size], [tenantId, limit, ...of])
  if (after !== null && after.pinnedAt === null) {
    return sql(rest[scope][size], [tenantId, limit, ...of, ...keyOf(sort, after)])
  }
  const { pinnedAt, id } = after ?? START
  return sql(whole[scope][size], [tenantId, limit, ...of, ...FIRST_OF[sort], pinnedAt, id])
}

/** The comments in view of one level of a thread: the roots, or the replies of `parentId`. */
export const listLevel = (
  sql: Sql,
  tenantId: Id,
  { discussionId, parentId, ...level }: Level & { discussionId: Id; parentId: Id | null },
): Promise<ListedRow[]> => {
  const size = isShort(level) ? 'few' : 'many'
  return parentId === null
    ? run(sql, 'roots', level, tenantId, [discussionId], size)
    : run(sql, 'replies', level, tenantId, [discussionId, parentId], size)
}

/** The roots in view of each of several discussions, `limit` of each, grouped by discussion. */
export const listRootsOfEach = (
  sql: Sql,
  tenantId: Id,
  discussionIds: readonly Id[],
  level: Level,
): Promise<ListedRow[]> => run(sql, 'rootsOfEach', level, tenantId, [discussionIds], 'many')

/** `listRootsOfEach` for few discussions and short pages, without a byte limit over all of them. */
export const listShortRootsOfEach = (
  sql: Sql,
  tenantId: Id,
  discussionIds: readonly Id[],
  level: Level,
): Promise<ListedRow[]> => run(sql, 'rootsOfEach', level, tenantId, [discussionIds], 'few')

/** The replies in view of each of several comments, `limit` of each, grouped by comment. */
export const listReplies = (
  sql: Sql,
  tenantId: Id,
  parents: readonly { id: Id; discussionId: Id }[],
  level: Level,
): Promise<ListedRow[]> =>
  run(
    sql,
    'repliesOfEach',
    level,
    tenantId,
    [parents.map(({ discussionId }) => discussionId), parents.map(({ id }) => id)],
    'many',
  )
