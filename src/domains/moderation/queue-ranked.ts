import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { badCursor, countOf, decodeCursor, encodeCursor, idOf, instantOf } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import type { Id } from '../../core/ids.ts'
import { isCut } from '../../core/database/lists.ts'
import type { QueueStatus } from '../comments/queues.ts'
import type { HoldReason } from '../comments/rules.ts'
import { getDiscussion } from '../discussions/discussions.ts'
import { getReader } from '../readers/records.ts'
import { type RankedPlace, type RankedQueue, type RankedRow, rankQueue, type QueueSort } from './queue-ranked-sql.ts'
import { knownId } from './search/search.ts'

interface Ranked extends PageArgs {
  discussionId?: Id | null | undefined
  authorId?: Id | null | undefined
  reason?: HoldReason | null | undefined
}

/**
 * A queue that is filtered, or in an order of ranks. A request ranks 10 000 comments at most: a
 * longer queue is a list of such stretches, the longest waiting first, each ranked by itself. Items
 * that leave the queue move no others: the cursor has the stretch, and when the first page was
 * read.
 * Throws `validation_failed`, `not_found` for an unknown discussion or reader.
 */
export async function listRanked<Item>(
  ctx: Ctx,
  { status, sort, ...args }: Ranked & { status: QueueStatus; sort: QueueSort },
  { shown, idOfItem }: { shown: (row: RankedRow) => Item; idOfItem: (item: Item) => Id },
): Promise<Page<Item>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const list = `${status}-${sort}`
  const { asOf, place } = placeOf(decodeCursor(list, 5, args.after))
  const queue: RankedQueue = {
    tenantId: tenant.id,
    status,
    sort,
    discussionId: await knownId(args.discussionId, (id) => getDiscussion(ctx, { id })),
    authorId: await knownId(args.authorId, (id) => getReader(ctx, id)),
    reason: args.reason ?? null,
    asOf,
  }
  const looked = await rankQueue(ctx.app.db.query, queue, place, size + 1)
  const end = looked[0]?.end ?? place.end
  const rows = looked.filter(({ isMatch }) => isMatch)
  const ranks = new Map(rows.map(({ id, rank }) => [id, rank]))
  const cursorTo = ({ start, end: to, after }: RankedPlace): string =>
    encodeCursor(list, asOf.toISOString(), start ?? '', to ?? '', after?.rank ?? '', after?.id ?? '')
  const cursorOf = (item: Item): string => {
    const id = idOfItem(item)
    return cursorTo({ ...place, end, after: { rank: ranks.get(id) ?? 0, id } })
  }
  const page = pageOf(rows.map(shown), size, args, cursorOf, isCut(looked))
  if (end === null || page.pageInfo.hasNextPage) return { ...page, partial: false }
  const endCursor = cursorTo({ start: end, end: null, after: null })
  return { ...page, partial: true, pageInfo: { ...page.pageInfo, endCursor, hasNextPage: true } }
}

function placeOf(key: string[] | null): { asOf: Date; place: RankedPlace } {
  if (key === null) return { asOf: new Date(), place: { start: null, end: null, after: null } }
  const [at, start = '', end = '', rank = '', id = ''] = key
  if ((rank === '') !== (id === '')) throw badCursor()
  const after = id === '' ? null : { rank: countOf(rank), id: idOf(id) }
  const place = { start: start === '' ? null : idOf(start), end: end === '' ? null : idOf(end), after }
  return { asOf: new Date(instantOf(at)), place }
}
