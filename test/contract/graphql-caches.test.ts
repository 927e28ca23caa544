import { pathToFileURL } from 'node:url'

import { ApolloClient, InMemoryCache } from '@apollo/client'
import { Client } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import relayRuntime, { type ConcreteRequest, type GraphQLTaggedNode } from 'relay-runtime'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import * as apollo from '../../src/clients/graphql/apollo.ts'
import { createGraphqlClient, type GraphqlClient } from '../../src/clients/graphql/client.ts'
import { CreateComment, DiscussionEvents, DiscussionPage } from '../../src/clients/graphql/documents.ts'
import * as relay from '../../src/clients/graphql/relay.ts'
import { cacheConfig, engagementExchange } from '../../src/clients/graphql/urql.ts'
import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { compileRelay } from '../harness/relay.ts'
import { startService, type TestService } from '../harness/service.ts'

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

type Sort = 'newest' | 'oldest'
const SORTS: readonly Sort[] = ['newest', 'oldest']
const PAGE = 4
const STEPS = effort(40)
const WAIT = { timeout: 15_000, interval: 20 }

/** What a page shows. */
interface Shown {
  commentCount: number
  hasNextPage: boolean
  comments: { id: string; status: string; replyCount: number; pinnedAt: string | null; counts: number[] }[]
}

/** A client with a cache, as its users set it up. */
interface Page {
  name: string
  load(sort: Sort): Promise<void>
  more(sort: Sort): Promise<void>
  follow(): void
  shown(sort: Sort): Shown
  create(body: string): Promise<string>
  seqs: number[]
  stop(): void
}

interface Place {
  externalId: string
  discussionId: string
  lastEventId: string
}

type Data = NonNullable<
  (typeof DiscussionPage)['__apiType'] extends ((variables: never) => infer Result) | undefined ? Result : never
>

const shownOf = (data: Data | null | undefined): Shown => {
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
let documents: Record<'query' | 'create' | 'events', GraphQLTaggedNode>

beforeAll(async () => {
  const { folder, output, code, remove } = await compileRelay(RELAY, 'javascript')
  expect(code, output).toBe(0)
  const load = async (name: string): Promise<ConcreteRequest> => {
    const { default: node } = (await import(`${pathToFileURL(folder).href}/made/${name}.graphql.js`)) as {
      default: ConcreteRequest
    }
    return node
  }
  documents = {
    query: await load('ThreadQuery'),
    create: await load('ThreadCreateMutation'),
    events: await load('ThreadSubscription'),
  }
  await remove()
})

function openRelay(client: GraphqlClient, place: Place): Page {
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

let service: TestService
beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

describe("a client's cache that events change", () => {
  test.each(['first', 'second'])('shows what the service shows, after any changes: the %s try', async () => {
    const warn = vi.spyOn(console, 'warn')
    const error = vi.spyOn(console, 'error')
    const externalId = newId()
    const { id: discussionId } = (await service.call('POST', '/discussions', { body: { externalId } })).json
    const ann = await service.as('ann')
    const post = async (parentId: string | null): Promise<void> => {
      const body = { body: `A comment ${newId()}`, parentId }
      const answer = await service.call('POST', `/discussions/${discussionId}/comments`, { body, headers: ann })
      if (answer.status === 201) comments.push(answer.json.id)
    }
    const comments: string[] = []
    for (let n = 0; n < 6; n++) await post(null)
    const lastEventId = (await service.call('GET', `/discussions/${discussionId}`)).json.lastEventId as string
    const place = { externalId, discussionId, lastEventId }
    const client = createGraphqlClient({
      url: `${service.url}/graphql`,
      token: async () =>
        (await service.call('POST', '/client-tokens', { body: { externalIds: [externalId] }, headers: ann })).json,
    })
    const pages = [openApollo(client, place), openUrql(client, place), openRelay(client, place)]
    try {
      for (const page of pages) {
        for (const sort of SORTS) await page.load(sort)
        page.follow()
      }
      const draw = (below: number): number => Math.floor(Math.random() * below)
      const written: string[] = []
      for (let n = 0; n < STEPS; n++) {
        const id = comments[draw(comments.length)] ?? ''
        const kind = draw(12)
        const change = async (path: string, method = 'POST', body?: object): Promise<void> => {
          written.push(path)
          await service.call(method, `/comments/${id}${path}`, { ...(body !== undefined && { body }), headers: ann })
        }
        if (kind < 3) await post(null)
        else if (kind < 5) await post(id)
        else if (kind === 5) await change('/reject')
        else if (kind === 6) await change('/approve')
        else if (kind === 7) await change('', 'DELETE')
        else if (kind === 8) await change('/pin')
        else if (kind === 9) await change('/unpin')
        else if (kind === 10) await change('/reactions', 'POST', { type: 'like' })
        else {
          const page = pages[draw(pages.length)]
          const made = await page?.create(`By a page ${newId()}`)
          expect(made).not.toBe('')
          comments.push(made ?? '')
        }
        if (n === STEPS / 2) for (const page of pages) for (const sort of SORTS) await page.more(sort)
      }
      const last = Number((await service.call('GET', `/discussions/${discussionId}`)).json.lastEventId)
      for (const page of pages)
        await vi.waitFor(() => expect([page.name, page.seqs.at(-1)]).toEqual([page.name, last]), WAIT)
      for (const sort of SORTS) {
        const variables = { externalId, first: 100, sort }
        const { data } = await client.query<Data>({ query: DiscussionPage.loc?.source.body, variables })
        const truth = shownOf(data)
        for (const page of pages) {
          const { comments: seen, commentCount, hasNextPage } = page.shown(sort)
          const expected = hasNextPage ? truth.comments.slice(0, seen.length) : truth.comments
          expect([page.name, sort, commentCount, seen]).toEqual([page.name, sort, truth.commentCount, expected])
        }
      }
      for (const { seqs } of pages) expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
      // Without the schema, urql's cache tries the fragments of each type that `data` may have.
      const warnings = warn.mock.calls.map(String).filter((each) => !/^Invalid undefined: .*#13$/s.test(each))
      expect([warnings, error.mock.calls]).toEqual([[], []])
    } finally {
      for (const page of pages) page.stop()
    }
  })
})
