// For urql: `import { … } from 'engagement-service/graphql/urql'`.
import { type Exchange, type OperationContext, subscriptionExchange } from '@urql/core'
import type { Cache, CacheExchangeOpts, Data, Resolver, UpdateResolver } from '@urql/exchange-graphcache'
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
  type LoadedList,
  type Sort,
} from './lists.ts'

/**
 * Sends all operations by `client`; subscriptions go on after their last event. `fetchOptions` of
 * an operation's context may have `headers`, such as an `Idempotency-Key`.
 */
export const engagementExchange = (client: GraphqlClient): Exchange =>
  subscriptionExchange({
    enableAllOperations: true,
    forwardSubscription: (request, { kind, context }) => ({
      subscribe: (sink) => ({
        unsubscribe: send(client, kind, { ...request, headers: headersOf(context.fetchOptions) }, sink),
      }),
    }),
  })

function headersOf(options: OperationContext['fetchOptions']): Record<string, string> | undefined {
  const { headers } = (typeof options === 'function' ? options() : options) ?? {}
  return headers && Object.fromEntries(new Headers(headers))
}

/** A loaded page of a list in the cache. */
interface Page extends LoadedList<string> {
  key: string
  after: unknown
}

function pagesOf(cache: Cache, owner: string, field: string): Page[] {
  const pages: Page[] = []
  const read = (key: string, name: string): unknown => cache.resolve(key, name)
  for (const { fieldName, fieldKey, arguments: args } of cache.inspectFields(owner)) {
    const key = read(owner, fieldKey) as string
    const items = read(key, 'nodes') as string[] | undefined
    // Replies may also be read by the discussion.
    if (fieldName !== field || items === undefined || args?.parentId != null) continue
    const info = read(key, 'pageInfo') as string
    pages.push({
      key,
      after: args?.after,
      sort: (args?.sort ?? 'newest') as Sort,
      items,
      pageInfo: { hasNextPage: read(info, 'hasNextPage') as boolean, endCursor: read(info, 'endCursor') as string },
      read,
    })
  }
  return pages
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
    const own = cache.keyOfEntity({ __typename: 'Comment', id: comment.id }) as string
    if (owner === null) continue
    const pages = pagesOf(cache, owner, field)
    for (const first of pages) if (first.after == null) place(cache, [first, ...pages], comment, own)
  }
}

/**
 * Takes a comment out of the pages of a list, of which the first is given first, and puts it where
 * it belongs. Each page keeps to what its cursors name: an answer may bring the page again.
 */
function place(cache: Cache, pages: Page[], comment: ListedComment, own: string): void {
  let isPlaced = false
  let page = pages.shift()
  while (page !== undefined) {
    const { sort, pageInfo } = page
    const now: string[] = isPlaced ? page.items.filter((node) => node !== own) : arrange(page, comment, own)
    isPlaced ||= now.includes(own)
    cache.link(page.key, 'nodes', now)
    const at = pages.findIndex(
      ({ after, ...next }) => after != null && after === pageInfo.endCursor && next.sort === sort,
    )
    page = at < 0 ? undefined : pages.splice(at, 1)[0]
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

const paginate = relayPagination()

/** `relayPagination` overlooks a page that was asked for without arguments, and answers null. */
const pages: Resolver = (parent, args, cache, info) => {
  const own: Pick<Cache, 'inspectFields' | 'resolve'> = {
    inspectFields: (owner) =>
      cache.inspectFields(owner).map((field) => ({ ...field, arguments: field.arguments ?? {} })),
    resolve: (owner, field, given) => cache.resolve(owner, field, JSON.stringify(given) === '{}' ? null : given),
  }
  return paginate(parent, args, Object.assign(Object.create(cache) as Cache, own), info)
}

/**
 * Without the whole schema, graphcache looks in an event's data for the fields of each type that
 * they may have. It tells of those that are missing, where it knows the place, and where it does
 * not.
 */
const isOfEvent = (message: string): boolean =>
  message.startsWith('Invalid undefined') && (message.includes('EventData"') || !message.includes('Caused At'))

/** `cacheExchange(cacheConfig)`: keys, lists, and what events and written comments change. */
export const cacheConfig = {
  possibleTypes: POSSIBLE_TYPES,
  keys: {
    ...Object.fromEntries(WITHOUT_ID.map((name) => [name, () => null])),
    DiscussionCount: ({ externalId }: Data) => externalId as string,
  },
  resolvers: {
    Discussion: { comments: pages },
    Comment: { replies: pages },
    Reader: { comments: pages },
  },
  updates: {
    Subscription: { discussionEvents: update },
    Mutation: { createComment: update, deleteComment: update },
  },
  logger: (severity, message) => severity === 'debug' || isOfEvent(message) || console[severity](message),
} satisfies Partial<CacheExchangeOpts>
