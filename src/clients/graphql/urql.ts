// For urql: `import { … } from 'engagement-service/graphql/urql'`.
import { type Exchange, subscriptionExchange } from '@urql/core'
import type { Cache, CacheExchangeOpts, Data, UpdateResolver } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'

import { send } from './send.ts'
import type { GraphqlClient } from './types.ts'
import {
  arrange,
  commentsOf,
  listOf,
  POSSIBLE_TYPES,
  type CommentChange,
  type ListedComment,
  type Sort,
} from './lists.ts'

/** Sends all operations by `client`; subscriptions go on after their last event. */
export const engagementExchange = (client: GraphqlClient): Exchange =>
  subscriptionExchange({
    enableAllOperations: true,
    forwardSubscription: (request, { kind }) => ({
      subscribe: (sink) => ({ unsubscribe: send(client, kind, request, sink) }),
    }),
  })

/** A loaded page of a list in the cache. */
interface Page {
  key: string
  sort: Sort
  after: unknown
  pageInfo: { endCursor: string | null; hasNextPage: boolean }
  nodes: string[]
}

function pagesOf(cache: Cache, owner: string, field: string): Page[] {
  const pages: Page[] = []
  for (const { fieldName, fieldKey, arguments: args } of cache.inspectFields(owner)) {
    const key = cache.resolve(owner, fieldKey) as string | undefined
    // Replies may also be read by the discussion.
    if (fieldName !== field || key === undefined || args?.parentId != null) continue
    const info = cache.resolve(key, 'pageInfo') as string
    pages.push({
      key,
      sort: (args?.sort ?? 'newest') as Sort,
      after: args?.after ?? null,
      pageInfo: {
        endCursor: (cache.resolve(info, 'endCursor') ?? null) as string | null,
        hasNextPage: cache.resolve(info, 'hasNextPage') === true,
      },
      nodes: (cache.resolve(key, 'nodes') ?? []) as string[],
    })
  }
  return pages
}

/** The pages of one list, each with the one after it. */
function chains(pages: readonly Page[]): Page[][] {
  return pages
    .filter(({ after }) => after === null)
    .map((first) => {
      const chain = [first]
      for (const { sort, pageInfo } of chain) {
        const { endCursor } = pageInfo
        const next = pages.find((page) => page.sort === sort && page.after !== null && page.after === endCursor)
        if (next !== undefined && !chain.includes(next)) chain.push(next)
      }
      return chain
    })
}

/**
 * Brings the lists in the cache up to an event of a discussion, or to a written comment: its `data`
 * as `{ comment, tombstones }`. The cache itself stores the comments. The same event may be applied
 * again.
 */
export function applyEvent(cache: Cache, data: CommentChange): void {
  for (const comment of commentsOf(data)) {
    if (comment.discussionId === undefined) continue
    const { field, ...object } = listOf(comment)
    const owner = cache.keyOfEntity(object)
    const own = cache.keyOfEntity({ __typename: 'Comment', id: comment.id })
    if (owner === null || own === null) continue
    for (const chain of chains(pagesOf(cache, owner, field))) place(cache, chain, comment, own)
  }
}

/**
 * Takes a comment out of the pages of a list, and puts it where it belongs. Each page keeps to what
 * its cursors name: an answer may bring the page again.
 */
function place(cache: Cache, pages: readonly Page[], comment: ListedComment, own: string): void {
  let isPlaced = false
  const read = (node: string, name: string): unknown => cache.resolve(node, name)
  for (const { key, nodes: items, sort, pageInfo } of pages) {
    const now: string[] = isPlaced
      ? items.filter((node) => node !== own)
      : arrange({ items, sort, pageInfo, read }, comment, own)
    isPlaced ||= now.includes(own)
    cache.link(key, 'nodes', now)
  }
}

const update: UpdateResolver = (result, _args, cache) => {
  for (const field of Object.values(result) as (({ data?: CommentChange } & CommentChange) | null)[]) {
    if (field !== null) applyEvent(cache, field.data ?? field)
  }
}

/** The types of the schema without ids, which stand in the objects that have them. */
const WITHOUT_ID = [
  'CommentConnection',
  'CommentEdge',
  'CommentEventData',
  'CreateCommentPayload',
  'DeleteCommentPayload',
  'DiscussionEventData',
  'EventActor',
  'EventRecipient',
  'PageInfo',
  'Presence',
  'PublicSettings',
  'ReactionEventData',
  'ReactionGroup',
  'RemoveReactionPayload',
  'ReplyNotificationData',
  'ReportCommentPayload',
  'SetReactionPayload',
  'ToggleReactionPayload',
  'UpdateCommentPayload',
]

/** `cacheExchange(cacheConfig)`: keys, lists, and what events and written comments change. */
export const cacheConfig = {
  possibleTypes: POSSIBLE_TYPES,
  keys: {
    ...Object.fromEntries(WITHOUT_ID.map((name) => [name, () => null])),
    DiscussionCount: ({ externalId }: Data) => externalId as string,
  },
  resolvers: {
    Discussion: { comments: relayPagination() },
    Comment: { replies: relayPagination() },
    Reader: { comments: relayPagination() },
  },
  updates: {
    Subscription: { discussionEvents: update },
    Mutation: { createComment: update, deleteComment: update },
  },
} satisfies Partial<CacheExchangeOpts>
