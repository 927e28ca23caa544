import {
  type InfiniteData,
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  type UseMutationResult,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from '@tanstack/react-query'
import { useEffect } from 'react'

import { ApiError } from './errors.ts'
import { type Document, request } from './request.ts'
import { subscribe, whoIsHere } from './session.ts'

// Only temporary errors are retried: a refusal would be repeated.
const TRANSIENT = new Set(['unavailable', 'internal', 'unreadable'])
const isTransient = (error: unknown): boolean => !(error instanceof ApiError) || TRANSIENT.has(error.code)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && isTransient(error),
      staleTime: 5_000,
      networkMode: 'always',
    },
    // A write is sent once: if it gets no answer, the person must check the result.
    mutations: { retry: false, networkMode: 'always' },
  },
})

// Data that one member has seen must not be shown to the next one, whichever tab they signed out or
// in from.
let seenBy = whoIsHere()
subscribe(() => {
  if (seenBy === whoIsHere()) return
  seenBy = whoIsHere()
  queryClient.clear()
})

/**
 * The answer of an operation, fetched again every `everyMs` while the tab is in view; `everyMs` may
 * depend on the last answer. The last answer stays meanwhile.
 */
export function useApi<Result, Variables extends object>(
  operation: Document<Result, Variables>,
  variables: Variables,
  { everyMs, enabled = true }: { everyMs?: number | ((last: Result | undefined) => number); enabled?: boolean } = {},
): UseQueryResult<Result> {
  return useQuery({
    queryKey: [nameOf(operation), variables],
    queryFn: ({ signal }) => request(operation, variables, signal),
    placeholderData: keepPreviousData,
    enabled,
    ...(everyMs === undefined
      ? {}
      : {
          refetchInterval:
            typeof everyMs === 'number'
              ? everyMs
              : ({ state }: { state: { data: Result | undefined } }) => everyMs(state.data),
        }),
  })
}

/** A Relay connection, the form of every list in the schema. */
export interface Connection<Node> {
  nodes: readonly Node[]
  pageInfo: { hasNextPage: boolean; endCursor?: string | null }
}

/**
 * A list, page by page. `connectionOf` finds the connection in the answer. The operation has a
 * variable `$after`.
 */
export function useList<Result, Variables extends { after?: string | null | undefined }, Node>(
  operation: Document<Result, Variables>,
  variables: Omit<Variables, 'after'>,
  connectionOf: (result: Result) => Connection<Node> | null | undefined,
  { everyMs }: { everyMs?: number } = {},
) {
  const list = useInfiniteQuery({
    queryKey: [nameOf(operation), variables, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      request(operation, { ...variables, after: pageParam } as unknown as Variables, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => {
      const pageInfo = connectionOf(last)?.pageInfo
      return pageInfo?.hasNextPage === true ? (pageInfo.endCursor ?? null) : null
    },
    placeholderData: keepPreviousData,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  })
  const nodes = list.data?.pages.flatMap((page) => connectionOf(page)?.nodes ?? [])
  return { ...list, nodes }
}

/**
 * A list that is short enough to be searched here: of its nodes those that `arrange` leaves. With
 * `isWhole` all pages are fetched, one after the other. The nodes are undefined until there is one
 * to show or the list is complete.
 */
export function useWholeList<Result, Variables extends { after?: string | null | undefined }, Node>(
  operation: Document<Result, Variables>,
  variables: Omit<Variables, 'after'>,
  connectionOf: (result: Result) => Connection<Node> | null | undefined,
  {
    everyMs,
    arrange,
    isWhole = true,
  }: { everyMs: number; arrange: (nodes: readonly Node[]) => readonly Node[]; isWhole?: boolean },
) {
  const list = useList(operation, variables, connectionOf, { everyMs })
  // After a failure the button for more remains.
  const isIncomplete = isWhole && list.hasNextPage && !list.isError
  const { isFetching, fetchNextPage } = list
  useEffect(() => {
    if (isIncomplete && !isFetching) void fetchNextPage()
  }, [isIncomplete, isFetching, fetchNextPage])
  const arranged = list.nodes && arrange(list.nodes)
  return { ...list, nodes: arranged?.length === 0 && isIncomplete ? undefined : arranged }
}

/**
 * Changes the pages of a list that are known. A page that becomes empty is forgotten, so that
 * fetching the list again costs no request for it.
 */
export function patchPages<Result>(
  operation: Document<Result, never>,
  patch: (page: Result) => Result,
  isEmpty: (page: Result) => boolean,
): void {
  queryClient.setQueriesData<InfiniteData<Result>>({ queryKey: [nameOf(operation)] }, (known) => {
    if (known === undefined) return known
    const patched = known.pages.map(patch)
    // The last page knows where the list goes on.
    const pages = patched.filter((page, index) => index === patched.length - 1 || !isEmpty(page))
    return { pages, pageParams: known.pageParams.slice(0, pages.length) }
  })
}

/** Changes the known answers of an operation that came before an instant, in ms. */
export function patchAnswers<Result>(
  operation: Document<Result, never>,
  before: number,
  patch: (answer: Result) => Result,
): void {
  for (const { queryKey, state } of queryClient.getQueryCache().findAll({ queryKey: [nameOf(operation)] })) {
    const { data, dataUpdatedAt: updatedAt } = state
    if (data !== undefined && updatedAt < before)
      queryClient.setQueryData(queryKey, patch(data as Result), { updatedAt })
  }
}

/** Runs the named queries again; without names, all. */
export function useRefresh(outdated: readonly Document<unknown, never>[] = []): () => Promise<void> {
  const client = useQueryClient()
  return async () => {
    if (outdated.length === 0) return client.invalidateQueries()
    await Promise.all(outdated.map((each) => client.invalidateQueries({ queryKey: [nameOf(each)] })))
  }
}

/** The least time between two fetches of a list, however often it changes. */
const PACE_MS = 400
const WAIT_MS = 100

/**
 * Runs the named queries again at each call, but one run after the other. Calls during a run lead
 * to one more run. A query under way, such as another page of a list, is not cancelled. A hidden
 * tab waits until it is in view again.
 */
export function calmRefresh(outdated: readonly Document<unknown, never>[]): () => void {
  const keys = outdated.map((each) => [nameOf(each)])
  let isDue = false
  let isUnderWay = false
  const refresh = async (queryKey: string[]): Promise<void> => {
    while (queryClient.isFetching({ queryKey }) > 0) await pause(WAIT_MS)
    await queryClient.invalidateQueries({ queryKey, refetchType: document.hidden ? 'none' : 'active' })
  }
  const work = async (): Promise<void> => {
    isUnderWay = true
    while (isDue) {
      isDue = false
      await Promise.all([...keys.map(refresh), pause(PACE_MS)])
    }
    isUnderWay = false
  }
  return () => {
    isDue = true
    if (!isUnderWay) void work()
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A write. After it, the named queries run again; without names, all. */
export function useWrite<Result, Variables extends object>(
  operation: Document<Result, Variables>,
  outdated: readonly Document<unknown, never>[] = [],
): UseMutationResult<Result, Error, Variables> {
  const refresh = useRefresh(outdated)
  return useMutation({
    mutationFn: (variables: Variables) => request(operation, variables),
    onSettled: refresh,
  })
}

const nameOf = (operation: { toString(): string }): string =>
  /\b(?:query|mutation|subscription) (\w+)/.exec(operation.toString())?.[1] ?? operation.toString()
