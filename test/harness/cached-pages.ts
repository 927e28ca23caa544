import { pathToFileURL } from 'node:url'

import { ApolloClient, InMemoryCache } from '@apollo/client'
import { Client } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import relayRuntime, { type ConcreteRequest, type GraphQLTaggedNode } from 'relay-runtime'

import * as apollo from '../../src/clients/graphql/apollo.ts'
import type { GraphqlClient } from '../../src/clients/graphql/client.ts'
import { CreateComment, DiscussionEvents, DiscussionPage } from '../../src/clients/graphql/documents.ts'
import * as relay from '../../src/clients/graphql/relay.ts'
import { cacheConfig, engagementExchange } from '../../src/clients/graphql/urql.ts'
import { compileRelay } from './relay.ts'

const {
  commitMutation,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getRequest,
  RecordSource,
  requestSubscription,
  Store,
} = relayRuntime

export type Sort = 'newest' | 'oldest'
export const SORTS: readonly Sort[] = ['newest', 'oldest']
/** How many comments a page loads at once. */
export const PAGE = 4

/** What a page shows. */
export interface Shown {
  commentCount: number
  hasNextPage: boolean
  comments: { id: string; status: string; replyCount: number; pinnedAt: string | null; counts: number[] }[]
}

/** A client with a cache, as its users set it up. */
export interface Page {
  name: string
  load(sort: Sort): Promise<void>
  more(sort: Sort): Promise<void>
  follow(): void
  shown(sort: Sort): Shown
  create(body: string): Promise<string>
  seqs: number[]
  stop(): void
}

export interface Place {
  externalId: string
  discussionId: string
  lastEventId: string
}

export type Data = NonNullable<
  (typeof DiscussionPage)['__apiType'] extends ((variables: never) => infer Result) | undefined ? Result : never
>

export const shownOf = (data: Data | null | undefined): Shown => {
  const discussion = data?.discussion
  if (discussion == null) throw new Error('nothing is in the cache')
  return {
    commentCount: discussion.commentCount,
    hasNextPage: discussion.comments.pageInfo.hasNextPage,
    comments: discussion.comments.nodes.map(({ id, status, replyCount, pinnedAt, reactionGroups }) => {
      const counts = reactionGroups.map(({ count }) => count)
      return { id, status, replyCount, pinnedAt: pinnedAt ?? null, counts }
    }),
  }
}

function openApollo(client: GraphqlClient, place: Place): Page {
  const cache = new InMemoryCache(apollo.cacheConfig)
  const own = new ApolloClient({ link: apollo.engagementLink(client), cache })
  const variables = (sort: Sort) => ({ externalId: place.externalId, first: PAGE, sort })
  const seqs: number[] = []
  let stop: () => void = () => undefined
  return {
    name: 'Apollo Client',
    seqs,
    load: async (sort) => void (await own.query({ query: DiscussionPage, variables: variables(sort) })),
    more: async (sort) => {
      const seen = cache.readQuery({ query: DiscussionPage, variables: variables(sort) })
      const after = seen?.discussion?.comments.pageInfo.endCursor ?? null
      await own.query({ query: DiscussionPage, variables: { ...variables(sort), after }, fetchPolicy: 'network-only' })
    },
    follow: () => {
      const subscription = own
        .subscribe({
          query: DiscussionEvents,
          variables: { discussionId: place.discussionId, lastEventId: place.lastEventId },
        })
        .subscribe({
          next: ({ data }) => {
            if (data == null) return
            // Twice is as good as once.
            apollo.applyEvent(cache, data.discussionEvents.data)
            apollo.applyEvent(cache, data.discussionEvents.data)
            seqs.push(data.discussionEvents.seq)
          },
        })
      stop = () => subscription.unsubscribe()
    },
    shown: (sort) => shownOf(cache.readQuery({ query: DiscussionPage, variables: variables(sort) })),
    create: async (body) => {
      const { data } = await own.mutate({
        mutation: CreateComment,
        variables: { input: { discussion: { externalId: place.externalId }, body } },
        update: (to, { data: made }) => made?.createComment != null && apollo.applyEvent(to, made.createComment),
      })
      return data?.createComment?.comment.id ?? ''
    },
    stop: () => (stop(), own.stop()),
  }
}

function openUrql(client: GraphqlClient, place: Place): Page {
  const own = new Client({
    url: '/graphql',
    preferGetMethod: false,
    exchanges: [cacheExchange(cacheConfig), engagementExchange(client)],
  })
  const variables = (sort: Sort) => ({ externalId: place.externalId, first: PAGE, sort })
  const seqs: number[] = []
  let stop: () => void = () => undefined
  const read = (sort: Sort) => own.readQuery(DiscussionPage, variables(sort))?.data
  return {
    name: 'urql',
    seqs,
    load: async (sort) => void (await own.query(DiscussionPage, variables(sort)).toPromise()),
    more: async (sort) => {
      const after = read(sort)?.discussion?.comments.pageInfo.endCursor ?? null
      await own.query(DiscussionPage, { ...variables(sort), after }).toPromise()
    },
    follow: () => {
      const { discussionId, lastEventId } = place
      const { unsubscribe } = own
        .subscription(DiscussionEvents, { discussionId, lastEventId })
        .subscribe(({ data }) => data !== undefined && seqs.push(data.discussionEvents.seq))
      stop = unsubscribe
    },
    shown: (sort) => shownOf(read(sort)),
    create: async (body) => {
      const input = { discussion: { externalId: place.externalId }, body }
      const { data } = await own.mutation(CreateComment, { input }).toPromise()
      return data?.createComment?.comment.id ?? ''
    },
    stop: () => stop(),
  }
}

const FIELDS =
  'id discussionId parentId status replyCount pinnedAt reactionGroups { count } parent { id replyCount } discussion { id commentCount }'
const RELAY = [
  `query ThreadQuery($externalId: String!, $first: Int!, $after: String, $sort: CommentSort!) {
     discussion(by: { externalId: $externalId }) { id commentCount
       comments(first: $first, after: $after, sort: $sort) @connection(key: "Thread_comments", filters: ["sort"]) {
         edges { node { ${FIELDS} } } } } }`,
  `mutation ThreadCreateMutation($input: CreateCommentInput!) { createComment(input: $input) { comment { ${FIELDS} } } }`,
  `subscription ThreadSubscription($discussionId: ID!, $lastEventId: String!) {
     discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) { seq data {
       ... on CommentEventData { comment { ${FIELDS} } tombstones { ${FIELDS} } }
       ... on ReactionEventData { comment { id reactionGroups { count } } }
       ... on DiscussionEventData { discussion { id commentCount } } } } }`,
]
type Documents = Record<'query' | 'create' | 'events', GraphQLTaggedNode>

async function compile(): Promise<Documents> {
  const { folder, output, code, remove } = await compileRelay(RELAY, 'javascript')
  if (code !== 0) throw new Error(output)
  const load = async (name: string): Promise<ConcreteRequest> => {
    const { default: node } = (await import(`${pathToFileURL(folder).href}/made/${name}.graphql.js`)) as {
      default: ConcreteRequest
    }
    return node
  }
  const documents = {
    query: await load('ThreadQuery'),
    create: await load('ThreadCreateMutation'),
    events: await load('ThreadSubscription'),
  }
  await remove()
  return documents
}

function openRelay(client: GraphqlClient, place: Place, documents: Documents): Page {
  const environment = new Environment({
    network: relay.engagementNetwork(client),
    store: new Store(new RecordSource()),
  })
  const variables = (sort: Sort) => ({ externalId: place.externalId, first: PAGE, after: null, sort })
  const seqs: number[] = []
  let stop: () => void = () => undefined
  const read = (sort: Sort) => {
    const operation = createOperationDescriptor(getRequest(documents.query), variables(sort))
    environment.retain(operation)
    const { data } = environment.lookup(operation.fragment)
    return (data as { discussion: { commentCount: number; comments: RelayList } }).discussion
  }
  interface RelayList {
    edges: { node: Shown['comments'][number] & { reactionGroups: { count: number }[] } }[]
    pageInfo: { hasNextPage: boolean; endCursor: string | null }
  }
  const fetchPage = (sort: Sort, after: string | null) => {
    environment.retain(createOperationDescriptor(getRequest(documents.query), variables(sort)))
    return fetchQuery(environment, documents.query, { ...variables(sort), after }).toPromise()
  }
  const lists = (sort: Sort) => ({ comments: { key: 'Thread_comments', filters: { sort }, sort } })
  return {
    name: 'Relay',
    seqs,
    load: async (sort) => void (await fetchPage(sort, null)),
    more: async (sort) => void (await fetchPage(sort, read(sort).comments.pageInfo.endCursor)),
    follow: () => {
      const { discussionId, lastEventId } = place
      const { dispose } = requestSubscription(environment, {
        subscription: documents.events,
        variables: { discussionId, lastEventId },
        updater: (store) => {
          const data = store.getRootField('discussionEvents')?.getLinkedRecord('data')
          for (const sort of [...SORTS, ...SORTS]) relay.applyEvent(store, data, lists(sort))
        },
        onNext: (data) => void seqs.push((data as { discussionEvents: { seq: number } }).discussionEvents.seq),
      })
      stop = dispose
    },
    shown: (sort) => {
      const { commentCount, comments } = read(sort)
      return {
        commentCount,
        hasNextPage: comments.pageInfo.hasNextPage,
        comments: comments.edges.map(({ node: { id, status, replyCount, pinnedAt, reactionGroups } }) => {
          const counts = reactionGroups.map(({ count }) => count)
          return { id, status, replyCount, pinnedAt, counts }
        }),
      }
    },
    create: (body) =>
      new Promise((resolve, reject) => {
        commitMutation(environment, {
          mutation: documents.create,
          variables: { input: { discussion: { externalId: place.externalId }, body } },
          updater: (store) => {
            for (const sort of SORTS) relay.applyEvent(store, store.getRootField('createComment'), lists(sort))
          },
          onCompleted: (data) =>
            resolve((data as { createComment: { comment: { id: string } } }).createComment.comment.id),
          onError: reject,
        })
      }),
    stop: () => stop(),
  }
}

let documents: Promise<Documents> | undefined

/** A page of each client that we have an adapter for. */
export const openPages = async (client: GraphqlClient, place: Place): Promise<Page[]> => [
  openApollo(client, place),
  openUrql(client, place),
  openRelay(client, place, await (documents ??= compile())),
]
