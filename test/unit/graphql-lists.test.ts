import { ApolloClient, InMemoryCache } from '@apollo/client'
import relayRuntime, { type RecordSourceProxy } from 'relay-runtime'
import { expect, test, vi } from 'vitest'

import * as apollo from '../../src/clients/graphql/apollo.ts'
import { CommentPlace, type CommentPlaceFragment, CurrentReader } from '../../src/clients/graphql/documents.ts'
import * as relay from '../../src/clients/graphql/relay.ts'

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
