import { anonymous, requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { countOf, decodeCursor, encodeCursor, idOf, instantOf } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { noSuch } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { sharedReads } from '../../core/queues/shared-reads.ts'
import { cutKeys, isCut } from '../../core/database/lists.ts'
import { type Comment, type CommentRow, isHeld, selectComments, toAuthorsComment, toPublicComment } from './comment.ts'
import { getComment, heldForAuthor } from './comments.ts'
import {
  type CommentSort,
  isShort,
  type LevelPlace,
  type ListedRow,
  listLevel,
  listReplies,
  listRootsOfEach,
  listShortRootsOfEach,
} from './list-sql.ts'
import { asSeenInShadow, isBesidePublic, type Shadow, shadowIn } from './shadow.ts'

interface LevelArgs extends PageArgs {
  sort?: CommentSort | null | undefined
}

interface ListComments extends LevelArgs {
  discussionId: Id
  parentId?: Id | null | undefined
}

/**
 * A page of one level of a discussion of the tenant: the roots, or the replies of `parentId`;
 * pinned ones first. Everyone gets the same comments in their public form, moderators too: a key
 * that may moderate often fills public pages. Only the author sees more of a tombstone: their own
 * comment, as by its id. One statement serves all discussions of a request that ask for their roots
 * with the same arguments. Throws `not_found`.
 */
export async function listComments(ctx: Ctx, args: ListComments): Promise<Page<Comment>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const sort = args.sort ?? 'newest'
  const { discussionId } = args
  const parentId = args.parentId ?? null
  const level = { sort, after: placeOf(sort, args.after), limit: size + 1 }
  if (parentId === null) {
    return pageFor(ctx, { discussionId, parentId }, level, await loadRoots(ctx, discussionId, level), args)
  }
  if (!isId(parentId)) throw noSuch('comment')
  const rows = await listLevel(ctx.app.db.query, tenant.id, { discussionId, parentId, ...level })
  if (rows.length === 0) await requireParent(ctx, discussionId, parentId)
  return pageFor(ctx, { discussionId, parentId }, level, listedOf(rows), args)
}

/** Part of one list of comments. */
interface Listed {
  comments: Comment[]
  /** The rows of those that are pending or rejected, by id: their authors see more of them. */
  held: ReadonlyMap<Id, CommentRow>
  /** Whether further comments may follow. */
  isCut: boolean
}

const loadRoots = perRequest<Id, Listed, [NestedLevel]>(async (ctx, discussionIds, level) => {
  const { query } = ctx.app.db
  const tenantId = requireCaller(ctx).tenant.id
  const asked = [...new Set(discussionIds)]
  const [discussionId] = asked
  if (discussionId !== undefined && asked.length === 1) {
    const roots = isShort(level)
      ? await readRoots(ctx, JSON.stringify(level), discussionId)
      : listedOf(await listLevel(query, tenantId, { discussionId, parentId: null, ...level }))
    return discussionIds.map(() => roots)
  }
  const rows = await listRootsOfEach(query, tenantId, asked, level)
  const listed = byKey(rows, asked, (row) => row.discussionId)
  return discussionIds.map((id) => listed.get(id) ?? NONE)
})

/** The roots of one discussion, shared by all requests for short pages with the same arguments. */
const readRoots = sharedReads<Id, Listed>({
  most: 16,
  load: async (sql, tenantId, group, discussionIds) => {
    const level = JSON.parse(group) as NestedLevel
    const asked = [...new Set(discussionIds)]
    const [discussionId] = asked
    if (discussionId !== undefined && asked.length === 1) {
      const roots = listedOf(await listLevel(sql, tenantId, { discussionId, parentId: null, ...level }))
      return discussionIds.map(() => roots)
    }
    const rows = await listShortRootsOfEach(sql, tenantId, asked, level)
    const listed = byKey(rows, asked, (row) => row.discussionId)
    return discussionIds.map((id) => listed.get(id) ?? NONE)
  },
})

const listedOf = (rows: readonly ListedRow[], isListCut = isCut(rows)): Listed => ({
  comments: rows.map(toPublicComment),
  held: new Map(rows.filter(isHeld).map((row) => [row.id, row])),
  isCut: isListCut,
})

/**
 * A page of a comment's replies in view, pinned ones first. One statement serves all comments of a
 * request with the same arguments; comments without replies need none.
 */
export async function listRepliesOf(ctx: Ctx, comment: Comment, args: LevelArgs): Promise<Page<Comment>> {
  const size = pageSize(args)
  const sort = args.sort ?? 'newest'
  const after = placeOf(sort, args.after)
  const level = { sort, after, limit: size + 1 }
  const replies = comment.replyCount === 0 ? NONE : await loadReplies(ctx, comment, level)
  const page = await pageFor(ctx, { discussionId: comment.discussionId, parentId: comment.id }, level, replies, args)
  return { ...page, totalCount: comment.replyCount }
}

interface Place {
  discussionId: Id
  parentId: Id | null
}

/**
 * A page of what the public sees of a level, with the viewer's own held comments as their author
 * sees them, and with what a viewer banned in shadow sees beside.
 */
async function pageFor(
  ctx: Ctx,
  place: Place,
  level: NestedLevel,
  all: Listed,
  args: PageArgs,
): Promise<Page<Comment>> {
  const shadow = await shadowIn(ctx, place.discussionId)
  const listed = shadow === null ? all : await withShadow(ctx, shadow, place, level, all)
  const cursor = cursorOf(level.sort)
  const { comments } = listed
  const seen = await withOwnHeld(ctx, listed, shadow === null ? comments : await asSeenInShadow(ctx, shadow, comments))
  if (seen === comments) return pageOf(comments, level.limit - 1, args, cursor, listed.isCut)
  // Cursors have the numbers by which the level is sorted.
  const sorted = new Map(comments.map((each) => [each.id, each]))
  return pageOf(seen, level.limit - 1, args, (each) => cursor(sorted.get(each.id) ?? each), listed.isCut)
}

async function withOwnHeld(ctx: Ctx, { held }: Listed, comments: Comment[]): Promise<Comment[]> {
  if (held.size === 0 || requireCaller(ctx).identity === null) return comments
  return Promise.all(
    comments.map(async (comment) => {
      const row = held.get(comment.id)
      return (row && (await heldForAuthor(ctx, row))) ?? comment
    }),
  )
}

async function withShadow(
  ctx: Ctx,
  shadow: Shadow,
  { parentId }: Place,
  level: NestedLevel,
  { comments, held, isCut: isListCut }: Listed,
): Promise<Listed> {
  const last = isListCut ? comments.at(-1) : undefined
  const isBefore = orderOf(level.sort)
  const { after } = level
  const wanted = [...shadow.shown.values()]
    .filter(isBesidePublic)
    .map((key) => ({ ...key, pinnedAt: null }))
    .filter((key) => key.parentId === parentId)
    .filter((key) => after === null || isBefore(after, key))
    .filter((key) => last === undefined || isBefore(key, placeIn(last)))
    .sort((one, other) => (isBefore(one, other) ? -1 : 1))
    .slice(0, level.limit)
  const rows = await selectComments(
    ctx.app.db.query,
    requireCaller(ctx).tenant.id,
    wanted.map(({ id }) => id),
  )
  const own = rows.map((row) => (row.inShadow ? toAuthorsComment(row) : toPublicComment(row)))
  const merged = [...comments, ...own].sort((one, other) => (isBefore(placeIn(one), placeIn(other)) ? -1 : 1))
  const all = new Map([...held, ...rows.filter(isHeld).map((row) => [row.id, row] as const)])
  return { comments: merged.slice(0, level.limit), held: all, isCut: isListCut }
}

const placeIn = ({ id, pinnedAt, reactionCounts, replyCount }: Comment): LevelPlace => ({
  id,
  pinnedAt,
  reactionCount: reactionCountOf(reactionCounts),
  replyCount,
})

/** Whether a place stands before another one, as the statements of lists sort. */
const orderOf =
  (sort: CommentSort) =>
  (one: LevelPlace, other: LevelPlace): boolean => {
    if (one.pinnedAt !== other.pinnedAt) return (one.pinnedAt ?? '') > (other.pinnedAt ?? '')
    if (one.pinnedAt !== null || sort === 'newest') return one.id > other.id
    if (sort === 'oldest') return one.id < other.id
    const [by, than] = [one, other].map(({ reactionCount, replyCount }) => [reactionCount, replyCount] as const)
    if (by?.[0] !== than?.[0]) return (by?.[0] ?? 0) > (than?.[0] ?? 0)
    return by?.[1] === than?.[1] ? one.id > other.id : (by?.[1] ?? 0) > (than?.[1] ?? 0)
  }

type NestedLevel = Parameters<typeof listReplies>[3]

const NONE: Listed = { comments: [], held: new Map(), isCut: false }

const loadReplies = perRequest<Comment, Listed, [NestedLevel]>(async (ctx, parents, level) => {
  const asked = unique(parents)
  const rows = await listReplies(ctx.app.db.query, requireCaller(ctx).tenant.id, asked, level)
  const listed = byKey(
    rows,
    asked.map(({ id }) => id),
    ({ parentId }) => parentId,
  )
  return parents.map(({ id }) => listed.get(id) ?? NONE)
})

/** Groups the comments of several lists, which were read in the order of their keys, by key. */
function byKey(rows: readonly ListedRow[], keys: readonly Id[], keyOf: (row: ListedRow) => Id | null): Map<Id, Listed> {
  const last = rows.at(-1)
  const cut = cutKeys<Id | null>(rows, keys, last === undefined ? undefined : keyOf(last))
  const found = new Map<Id | null, ListedRow[]>(keys.map((key) => [key, []]))
  for (const row of rows) found.get(keyOf(row))?.push(row)
  return new Map(keys.map((key) => [key, listedOf(found.get(key) ?? [], cut.has(key))]))
}

const unique = (comments: readonly Comment[]): Comment[] => [
  ...new Map(comments.map((each) => [each.id, each])).values(),
]

/** The cursor of a comment in a level of this order. */
export const cursorOf =
  (sort: CommentSort) =>
  ({ id, pinnedAt, reactionCounts, replyCount }: Comment): string => {
    const place = [pinnedAt ?? '', id]
    return sort === 'top'
      ? encodeCursor(sort, ...place, reactionCountOf(reactionCounts), replyCount)
      : encodeCursor(sort, ...place)
  }

const reactionCountOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/**
 * The place that a cursor names. If the comment has moved meanwhile, by a pin or in `top`, an event
 * reports that.
 */
function placeOf(sort: CommentSort, cursor: string | null | undefined): LevelPlace | null {
  const key = decodeCursor(sort, sort === 'top' ? 4 : 2, cursor)
  if (key === null) return null
  const [pinnedAt = '', id, reactionCount = '0', replyCount = '0'] = key
  return {
    pinnedAt: pinnedAt === '' ? null : instantOf(pinnedAt),
    id: idOf(id),
    reactionCount: countOf(reactionCount),
    replyCount: countOf(replyCount),
  }
}

/**
 * A pending parent, visible only to its author, has no page of replies: lists are the same for
 * every reader.
 */
async function requireParent(ctx: Ctx, discussionId: Id, parentId: Id): Promise<void> {
  const isOwn = (await shadowIn(ctx, discussionId))?.shown.has(parentId) === true
  const parent = await getComment(isOwn ? ctx : anonymous(ctx), parentId)
  if (parent.discussionId !== discussionId) throw noSuch('comment')
}
