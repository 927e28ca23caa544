import { invalid } from '../errors.ts'
import type { Id } from '../ids.ts'
import { START, encodeCursor, idInCursor } from './cursor.ts'

/**
 * One row of a page. Its cursor is made only when it is read: most answers show only the last
 * row's.
 */
class Edge<T> {
  readonly node: T
  readonly #cursorOf: (row: T) => string

  constructor(node: T, cursorOf: (row: T) => string) {
    this.node = node
    this.#cursorOf = cursorOf
  }

  get cursor(): string {
    return this.#cursorOf(this.node)
  }
}

/** A page of a list in Relay's form. */
export interface Page<T> {
  edges: Edge<T>[]
  /** The number of all entries of the list, where it is known without counting them. */
  totalCount?: number
  /** Whether a search ended before the page was full, and goes on after it. */
  partial?: boolean
  pageInfo: { startCursor: string | null; endCursor: string | null; hasNextPage: boolean; hasPreviousPage: boolean }
}

export interface PageArgs {
  /** Relay's arguments for paging backwards, which these lists refuse. */
  last?: number | null | undefined
  before?: string | null | undefined
  first?: number | null | undefined
  after?: string | null | undefined
}

export const DEFAULT_PAGE = 20
export const MAX_PAGE = 100

/**
 * The number of rows of a page; connections answer 0 by themselves (`src/graphql/connection.ts`).
 * Throws `validation_failed` at `/first` outside 1..100, and at `/last` and `/before` where they
 * are given.
 */
export function pageSize({ first, last, before }: PageArgs): number {
  if (last != null) throw invalid('/last', 'not_supported', 'is not supported: these lists are read forwards')
  if (before != null) throw invalid('/before', 'not_supported', 'is not supported: these lists are read forwards')
  const size = first ?? DEFAULT_PAGE
  if (size < 1) throw invalid('/first', 'too_small', `must be at least 0`)
  if (size > MAX_PAGE) throw invalid('/first', 'too_large', `must be at most ${MAX_PAGE}`)
  return size
}

/** Bytes of an answer: a list that would take more is answered by a shorter page. */
export const MAX_ANSWER_BYTES = 2_000_000

/** The page cut to its first `kept` rows, with the cursor for the rest. */
export function shortened<T>(page: Page<T>, kept: number, { after }: PageArgs): Page<T> {
  const { edges, pageInfo } = page
  const endCursor = edges[kept - 1]?.cursor ?? after ?? START
  return {
    ...page,
    edges: edges.slice(0, kept),
    pageInfo: { ...pageInfo, startCursor: edges[0]?.cursor ?? null, endCursor, hasNextPage: true },
  }
}

/**
 * A page from up to `size + 1` rows. The extra row shows that there are more; so does `isCut`,
 * where the database stopped earlier because the rows were long.
 */
export function pageOf<T>(
  rows: readonly T[],
  size: number,
  args: PageArgs,
  cursorOf: (row: T) => string,
  isCut = false,
): Page<T> {
  const edges = rows.slice(0, size).map((node) => new Edge(node, cursorOf))
  return {
    edges,
    pageInfo: {
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? (isCut ? (args.after ?? START) : null),
      hasNextPage: isCut || rows.length > size,
      hasPreviousPage: args.after != null,
    },
  }
}

/** What Prisma is asked for the rows of a page, newest first. */
export interface PageQuery {
  where: { id?: { lt: Id } }
  orderBy: { id: 'desc' }
  take: number
}

/** A page of a list that is sorted by id, newest first. */
export async function pageById<Row extends { id: Id }>(
  list: string,
  args: PageArgs,
  find: (query: PageQuery) => Promise<Row[]>,
): Promise<Page<Row>> {
  const size = pageSize(args)
  const after = idInCursor(list, args.after)
  const rows = await find({
    where: after === null ? {} : { id: { lt: after } },
    orderBy: { id: 'desc' },
    take: size + 1,
  })
  return pageOf(rows, size, args, ({ id }) => encodeCursor(list, id))
}
