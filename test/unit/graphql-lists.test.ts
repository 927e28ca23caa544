import { ApolloClient, gql, InMemoryCache } from '@apollo/client'
import { Client } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import relayRuntime, { type RecordSourceProxy } from 'relay-runtime'
import { describe, expect, test, vi } from 'vitest'

import * as apollo from '../../src/clients/graphql/apollo.ts'
import { CommentPlace, type CommentPlaceFragment, CurrentReader } from '../../src/clients/graphql/documents.ts'
import type { GraphqlClient } from '../../src/clients/graphql/client.ts'
import * as relay from '../../src/clients/graphql/relay.ts'
import * as urql from '../../src/clients/graphql/urql.ts'

const { commitLocalUpdate, ConnectionHandler, Environment, Network, RecordSource, Store } = relayRuntime

const comment = (id: string, parent: { id: string; replyCount: number } | null) =>
  ({
    __typename: 'Comment',
    id,
    discussionId: 'd',
    parentId: parent?.id ?? null,
    depth: 0,
    status: 'approved',
    bodyHtml: '',
    createdAt: '',
    editedAt: null,
    deletedAt: null,
    pinnedAt: null,
    replyCount: 0,
    author: null,
    reactionGroups: [],
    parent: parent && { __typename: 'Comment', ...parent },
    discussion: { __typename: 'Discussion', id: 'd', commentCount: 1, state: 'open' },
  }) as CommentPlaceFragment

test('Apollo Client shows the first reply to a comment whose replies were never loaded', () => {
  const cache = new InMemoryCache(apollo.cacheConfig)
  const listed = () => (cache.extract()['Comment:a'] as Record<string, unknown>)['replies:{"sort":"oldest"}']
  const write = (each: CommentPlaceFragment): void => {
    cache.writeFragment({ id: `Comment:${each.id}`, fragment: CommentPlace, fragmentName: 'CommentPlace', data: each })
    apollo.applyEvent(cache, { comment: each })
  }
  write(comment('a', null))
  // Others are there already: they must be loaded.
  write(comment('b', { id: 'a', replyCount: 2 }))
  expect(listed()).toBeUndefined()
  write(comment('c', { id: 'a', replyCount: 1 }))
  write(comment('d', { id: 'a', replyCount: 2 }))
  expect(listed()).toMatchObject({ nodes: [{ __ref: 'Comment:c' }, { __ref: 'Comment:d' }] })
})

test("Relay's @appendEdge finds the empty list of a comment that an event has brought", () => {
  const lists = {
    comments: { key: 'Thread_comments' },
    replies: { key: 'Thread_replies', filters: { sort: 'oldest' } },
  }
  const environment = new Environment({
    network: Network.create(() => Promise.reject(new Error('not asked'))),
    store: new Store(new RecordSource()),
  })
  const bring = (store: RecordSourceProxy, id: string, replyCount: number) => {
    const made = store.create(id, 'Comment').setValue(id, 'id').setValue('d', 'discussionId').setValue(null, 'parentId')
    made.setValue('approved', 'status').setValue(replyCount, 'replyCount')
    relay.applyEvent(store, store.create(`data of ${id}`, 'CommentEventData').setLinkedRecord(made, 'comment'), lists)
    const { key, filters } = lists.replies
    return ConnectionHandler.getConnection(made, key, filters)
  }
  commitLocalUpdate(environment, (store) => {
    store.create('d', 'Discussion')
    const list = bring(store, 'a', 0)
    expect(list?.getLinkedRecords('edges')).toEqual([])
    expect(list?.getLinkedRecord('pageInfo')?.getValue('hasNextPage')).toBe(false)
    const edge = store.create('edge', 'CommentEdge').setLinkedRecord(store.create('b', 'Comment'), 'node')
    expect(list && ConnectionHandler.buildConnectionEdge(store, list, edge)).toBeTruthy()
    // Its replies must be loaded.
    expect(bring(store, 'c', 1)).toBeUndefined()
  })
})

test('the adapters pass the headers of a request on', async () => {
  const query = vi.fn((_request: unknown) => Promise.resolve({ data: { viewer: null } }))
  const client = { fetch, query, subscribe: vi.fn(), iterate: vi.fn() } as never
  const headers = { 'Idempotency-Key': 'once' }
  const own = new ApolloClient({ link: apollo.engagementLink(client), cache: new InMemoryCache() })
  await own.query({ query: CurrentReader, context: { headers } })
  const operation = {
    id: null,
    text: '{ viewer { id } }',
    name: 'Reader',
    operationKind: 'query',
    cacheID: '',
  } as const
  const network = relay.engagementNetwork(client)
  const answer = network.execute({ ...operation, metadata: {} }, {}, { metadata: { headers } }, null)
  await answer.toPromise()
  expect(query.mock.calls.map(([request]) => request)).toEqual(Array(2).fill(expect.objectContaining({ headers })))
  own.stop()
})

/** What documents of a page's own may select of a list. */
const SELECTIONS = ['nodes { id }', 'nodes { id } pageInfo { hasNextPage endCursor }', 'edges { cursor node { id } }']

/** A client whose discussion has the comments a, b, c and d, in pages of two. */
const pagesOfTwo = {
  query: ({ variables }: { variables?: { after?: string } }) => {
    const isFirst = variables?.after === undefined
    const nodes = (isFirst ? ['a', 'b'] : ['c', 'd']).map((id) => ({ __typename: 'Comment', id }))
    const edges = nodes.map((node) => ({ __typename: 'CommentEdge', cursor: node.id, node }))
    const pageInfo = { __typename: 'PageInfo', hasNextPage: isFirst, endCursor: nodes[1]?.id }
    const comments = { __typename: 'CommentConnection', nodes, edges, pageInfo }
    return Promise.resolve({ data: { discussion: { __typename: 'Discussion', id: 'd', comments } } })
  },
} as unknown as GraphqlClient

interface Listed {
  discussion: { comments: { nodes?: { id: string }[]; edges?: { node: { id: string } }[] } }
}

describe.each(['', '(after: $after)', '(first: 2, after: $after)'])("a page's own list comments%s", (args) => {
  test.each(SELECTIONS)('that selects { %s } is shown, with further pages and new comments', async (selection) => {
    const hasPages = args !== ''
    const query = gql`query${hasPages ? '($after: String)' : ''} { discussion(by: { id: "d" }) { id comments${args} { ${selection} } } }`
    const idsOf = (data: unknown): string[] => {
      const { nodes, edges = [] } = (data as Listed).discussion.comments
      return (nodes ?? edges.map(({ node }) => node)).map(({ id }) => id)
    }
    const all = hasPages ? ['a', 'b', 'c', 'd'] : ['a', 'b']

    const link = apollo.engagementLink(pagesOfTwo)
    const byApollo = new ApolloClient({ link, cache: new InMemoryCache(apollo.cacheConfig) })
    expect(idsOf((await byApollo.query({ query })).data)).toEqual(['a', 'b'])
    if (hasPages) await byApollo.query({ query, variables: { after: 'b' }, fetchPolicy: 'network-only' })
    const shown = () => idsOf(byApollo.readQuery({ query }))
    expect(shown()).toEqual(all)
    const fragment = { id: 'Comment:e', fragment: CommentPlace, fragmentName: 'CommentPlace' }
    byApollo.cache.writeFragment({ ...fragment, data: comment('e', null) })
    apollo.applyEvent(byApollo.cache, { comment: comment('e', null) })
    // Events change lists of nodes alone.
    expect(shown()).toEqual(selection.startsWith('nodes') ? ['e', ...all.toReversed()] : all)

    const exchanges = [cacheExchange(urql.cacheConfig), urql.engagementExchange(pagesOfTwo)]
    const byUrql = new Client({ url: 'unused', preferGetMethod: false, exchanges })
    expect(idsOf((await byUrql.query(query, {}).toPromise()).data)).toEqual(['a', 'b'])
    if (hasPages) await byUrql.query(query, { after: 'b' }).toPromise()
    expect(idsOf(byUrql.readQuery(query, {})?.data)).toEqual(all)
  })
})
