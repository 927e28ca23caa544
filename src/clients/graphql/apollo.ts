// For Apollo Client 4: `import { … } from 'engagement-service/graphql/apollo'`.
import {
  ApolloLink,
  type ApolloCache,
  type FieldPolicy,
  type InMemoryCacheConfig,
  type Reference,
} from '@apollo/client'
import { Observable, print } from '@apollo/client/utilities'
import { parse } from 'graphql'

import { send } from './send.ts'
import type { GraphqlClient } from './types.ts'
import { arrange, commentsOf, isInView, listOf, POSSIBLE_TYPES, type CommentChange, type Sort } from './lists.ts'

interface Context {
  headers?: Record<string, string>
  /** What Apollo's link for persisted queries sets. */
  http?: { includeQuery?: boolean }
}

/** Sends all operations by `client`; subscriptions go on after their last event. */
export const engagementLink = (client: GraphqlClient): ApolloLink =>
  new ApolloLink(
    ({ query, operationName, variables, extensions, operationType, getContext }) =>
      new Observable((observer) => {
        const { headers, http: { includeQuery = true } = {} } = getContext() as Context
        const text = includeQuery ? { query: print(query) } : {}
        const request = { ...text, operationName, variables, extensions, headers }
        return send(client, operationType, request, observer as never)
      }),
  )

/** A node, or an edge with its node. */
type Item = Reference & { node?: Reference }

/** A list in the cache, with what the page's document selects of it. */
interface Page {
  nodes?: readonly Item[]
  edges?: readonly Item[]
  pageInfo?: { hasNextPage?: boolean; endCursor?: string | null }
}

/** A list of comments: further pages follow what is there, each comment once. */
const pages = (...keyArgs: string[]): FieldPolicy<Page> => ({
  keyArgs,
  merge(before, page, { args, readField }) {
    if (before === undefined || args?.after == null) return page
    const idOf = (item: Item): unknown => readField('id', item.node ?? item)
    const joined = { ...page }
    for (const name of ['nodes', 'edges'] as const) {
      const shown = before[name] ?? []
      const ids = new Set(shown.map(idOf))
      joined[name] &&= [...shown, ...joined[name].filter((item) => !ids.has(idOf(item)))]
    }
    return joined
  },
})

/** `new InMemoryCache(cacheConfig)`: which fields are lists, and which are replaced as a whole. */
export const cacheConfig = {
  possibleTypes: POSSIBLE_TYPES,
  typePolicies: {
    Discussion: { fields: { comments: pages('sort', 'parentId') } },
    Comment: { fields: { replies: pages('sort'), reactionGroups: { merge: false }, reactionCounts: { merge: false } } },
    Reader: { fields: { comments: pages('discussionId', 'status') } },
    DiscussionCount: { keyFields: ['externalId'] },
    PublicSettings: { keyFields: [] },
  },
} satisfies InMemoryCacheConfig

const FIRST_REPLY = parse(
  'fragment R on Comment { replies(sort: oldest) { nodes { id } pageInfo { hasNextPage endCursor } } }',
)
/** The list of a first reply, where no list was loaded: nothing else is in it. */
const firstReply = (id: string): object => ({
  __typename: 'CommentConnection',
  nodes: [{ __typename: 'Comment', id }],
  pageInfo: { __typename: 'PageInfo', hasNextPage: false, endCursor: null },
})

/**
 * Brings the lists in the cache up to an event of a discussion, or to a written comment: its `data`
 * as `{ comment, tombstones }`. Apollo Client itself stores the comments. The same event may be
 * applied again.
 */
export function applyEvent(cache: ApolloCache, data: CommentChange): void {
  for (const comment of commentsOf(data)) {
    if (comment.discussionId === undefined) continue
    const { parentId } = comment
    const { field, ...object } = listOf(comment)
    const owner = cache.identify(object)
    const own = cache.identify({ __typename: 'Comment', id: comment.id })
    if (owner === undefined || own === undefined) continue
    let isLoaded = false
    cache.modify({
      id: owner,
      fields: {
        [field]: (given, { readField, storeFieldName, toReference }) => {
          isLoaded = true
          const list = given as Page
          // A list of replies that was read by the discussion.
          if (parentId == null && storeFieldName.includes('"parentId":"')) return list
          const { nodes: items, pageInfo = {} } = list
          if (items === undefined) return list
          const read = (node: Reference, name: string): unknown => readField(name, node)
          const loaded = { items, pageInfo, read, sort: sortOf(storeFieldName) }
          return { ...list, nodes: arrange(loaded, comment, toReference(own) as Reference) }
        },
      },
    })
    if (isLoaded || comment.parent?.replyCount !== 1 || !isInView(comment)) continue
    cache.writeFragment({ id: owner, fragment: FIRST_REPLY, data: { ...object, replies: firstReply(comment.id) } })
  }
}

const sortOf = (storeFieldName: string): Sort =>
  (/"sort":"(\w+)"/.exec(storeFieldName)?.[1] as Sort | undefined) ?? 'newest'
