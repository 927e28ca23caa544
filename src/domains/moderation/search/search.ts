import { z } from 'zod'

import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { ServiceError } from '../../../core/errors.ts'
import { FIRST_ID, firstIdAt, type Id, isId, LAST_ID } from '../../../core/ids.ts'
import { badCursor, decodeCursor, encodeCursor, idOf } from '../../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../../core/input/page.ts'
import { searchSchema } from '../../../core/database/search.ts'
import { validate } from '../../../core/input/validate.ts'
import { isCut } from '../../../core/database/lists.ts'
import { type Comment, type ShownStatus, toComment } from '../../comments/comment.ts'
import type { HoldReason } from '../../comments/rules.ts'
import { getDiscussion } from '../../discussions/discussions.ts'
import { getReader } from '../../readers/records.ts'
import type { QueueRow } from '../queue-sql.ts'
import { searchByIndex, searchInOrder, type SearchOrder, type Source, type Span, type Wanted } from './search-sql.ts'

/** The most comments that one request looks at. */
export const SEARCHED_CANDIDATES = 10_000

/** How many comments are looked at in the order of the list before the index is asked. */
const NEAR = 1000

/**
 * How many the index may find then: together they are SEARCHED_CANDIDATES. It reads one more, to
 * know whether there are too many.
 */
const INDEXED = SEARCHED_CANDIDATES - NEAR - 1

/**
 * If as many of these have the terms, the index is not asked: it reads all that it has of a term
 * before it returns one row, 125 ms for a word of 1 000 000 comments. The next pages of the list
 * have enough matches.
 */
const FREQUENT = 20

/** By how much the instant in an id may differ from the comment's `createdAt`. */
const ID_SLACK_MS = 60_000

interface SearchComments extends PageArgs {
  search?: string | null | undefined
  status?: ShownStatus | null | undefined
  authorId?: Id | null | undefined
  discussionId?: Id | null | undefined
  reason?: HoldReason | null | undefined
  from?: Date | null | undefined
  to?: Date | null | undefined
  sort?: SearchOrder | null | undefined
}

export const commentSearchInput = z.object({ search: searchSchema.nullish() })

/** How a cursor goes on: `order` only looks at comments in the order of the list. */
type Way = 'any' | 'order'

/**
 * The tenant's comments in any state that have all words of `search`, the last one perhaps only as
 * a beginning, and fit the filters. A request looks at 10 000 comments at most: a page that ends
 * there is `partial`, may be short or empty, and the list goes on after it. Throws
 * `validation_failed`, `not_found` for an unknown discussion or reader.
 */
export const searchComments = (ctx: Ctx, args: SearchComments): Promise<Page<Comment>> =>
  searchPage(ctx, args, { list: 'search', shown: toComment, idOf: ({ id }) => id })

/** How a list shows what a search has found, and the name in its cursors. */
interface SearchList<Item> {
  list: string
  isUnreviewed?: boolean
  shown: (row: QueueRow) => Item
  idOf: (item: Item) => Id
}

/** See `searchComments`. `isUnreviewed`: only comments that no moderator has looked at. */
export async function searchPage<Item>(
  ctx: Ctx,
  args: SearchComments,
  { list, isUnreviewed = false, shown, idOf: idOfItem }: SearchList<Item>,
): Promise<Page<Item>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const { search = null } = validate(commentSearchInput, { search: args.search })
  const wanted: Wanted = {
    tenantId: tenant.id,
    search,
    status: args.status ?? null,
    authorId: await knownId(args.authorId, (id) => getReader(ctx, id)),
    discussionId: await knownId(args.discussionId, (id) => getDiscussion(ctx, { id })),
    reason: args.reason ?? null,
    from: args.from ?? null,
    to: args.to ?? null,
    isUnreviewed,
  }
  const order = args.sort ?? 'newest'
  const name = `${list}-${order}`
  const { way, span } = placeOf(wanted, order, decodeCursor(name, 2, args.after))
  const { rows, last, isListCut } = await find(ctx, wanted, { way, span, limit: size + 1 })
  const cursorOf = (item: Item): string => encodeCursor(name, idOfItem(item), way)
  const page = pageOf(rows.map(shown), size, args, cursorOf, isListCut)
  if (last === null || rows.length > size) return { ...page, partial: false }
  const pageInfo = { ...page.pageInfo, endCursor: encodeCursor(name, last, 'order'), hasNextPage: true }
  return { ...page, partial: true, pageInfo }
}

/** An id, once it is known to be one of the tenant's. Throws `not_found`. */
export async function knownId(id: Id | null | undefined, get: (id: Id) => Promise<unknown>): Promise<Id | null> {
  if (id == null) return null
  if (!isId(id)) throw new ServiceError('not_found')
  await get(id)
  return id
}

function placeOf({ from, to }: Wanted, order: SearchOrder, key: string[] | null): { way: Way; span: Span } {
  const low = from === null ? FIRST_ID : firstIdAt(new Date(from.getTime() - ID_SLACK_MS))
  const high = to === null ? LAST_ID : firstIdAt(new Date(to.getTime() + ID_SLACK_MS))
  if (key === null) return { way: 'any', span: { order, low, high } }
  const way = key[1]
  if (way !== 'any' && way !== 'order') throw badCursor()
  return { way, span: spanAfter(idOf(key[0]), { order, low, high }) }
}

const spanAfter = (id: Id, span: Span): Span =>
  span.order === 'newest'
    ? { ...span, high: id < span.high ? id : span.high }
    : { ...span, low: id > span.low ? id : span.low }

interface Found {
  rows: readonly QueueRow[]
  /** Where the look ended before the list did; null if it did not. */
  last: Id | null
  /** Whether further rows follow, which were too long for one answer. */
  isListCut: boolean
}

/**
 * A frequent term fills its page from the next comments of the list, a rare one is found by the
 * index. What lies between is looked for in the order of the list, over several requests.
 */
async function find(
  ctx: Ctx,
  wanted: Wanted,
  { way, span, limit }: { way: Way; span: Span; limit: number },
): Promise<Found> {
  const hasTerms = wanted.search !== null || wanted.discussionId !== null
  if (way === 'order' || !hasTerms) return look(ctx, wanted, { span, limit, candidates: SEARCHED_CANDIDATES })
  const near = await look(ctx, wanted, { span, limit, candidates: NEAR })
  if (near.last === null || near.rows.length >= limit || near.isListCut) return near
  if (near.hits < FREQUENT) {
    const found = await searchByIndex(ctx.app.db, wanted, span, { candidates: INDEXED, limit })
    return found === null ? near : { rows: found, last: null, isListCut: isCut(found) }
  }
  const rest = { span: spanAfter(near.last, span), limit: limit - near.rows.length }
  const far = await look(ctx, wanted, { ...rest, candidates: SEARCHED_CANDIDATES - NEAR })
  return { ...far, rows: [...near.rows, ...far.rows] }
}

/** Looks at the next comments in the order of the list. */
async function look(
  ctx: Ctx,
  wanted: Wanted,
  { span, candidates, limit }: { span: Span; candidates: number; limit: number },
): Promise<Found & { hits: number }> {
  const looked = await searchInOrder(ctx.app.db.query, sourceOf(wanted), wanted, span, { candidates, limit })
  const last = looked.find(({ place }) => place === candidates)
  const rows = looked.filter(({ isMatch }) => isMatch)
  return { rows, last: last?.id ?? null, isListCut: isCut(looked), hits: last?.hits ?? 0 }
}

/** The index that has the fewest other comments, in the order of the list. */
function sourceOf({ search, discussionId, authorId, status, isUnreviewed }: Wanted): Source {
  if (authorId !== null) return 'author'
  if (isUnreviewed && search === null && discussionId === null) return 'unreviewed'
  if (status === 'pending' || status === 'rejected') return 'held'
  return search !== null || discussionId !== null ? 'terms' : 'all'
}
