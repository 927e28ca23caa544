// For Relay: `import { … } from 'engagement-service/graphql/relay'`.
import {
  ConnectionHandler,
  Network,
  Observable,
  type GraphQLResponse,
  type CacheConfig,
  type INetwork,
  type RecordProxy,
  type RecordSourceProxy,
  type RequestParameters,
  type Variables,
} from 'relay-runtime'

import type { GraphqlClient, GraphqlRequest } from './types.ts'
import { arrange, type ListedComment, type Sort } from './lists.ts'

const requestOf = (
  { id, text, name, operationKind: kind }: RequestParameters,
  variables: Variables,
  { metadata }: CacheConfig = {},
): GraphqlRequest => ({
  ...(text === null ? { documentId: id ?? '' } : { query: text }),
  operationName: name,
  kind,
  variables,
  headers: metadata?.headers as GraphqlRequest['headers'],
})

/**
 * `new Environment({ network: engagementNetwork(client), … })`. Subscriptions go on after their
 * last event. With `persistConfig` it sends the ids of documents. `metadata.headers` of a request's
 * `cacheConfig` are further headers.
 */
export const engagementNetwork = (client: GraphqlClient): INetwork =>
  Network.create(
    (operation, variables, options) =>
      client.query(requestOf(operation, variables, options)) as Promise<GraphQLResponse>,
    (operation, variables, options) =>
      Observable.create<GraphQLResponse>((sink) =>
        client.subscribe(requestOf(operation, variables, options), sink as never),
      ),
  )

/** A list of comments in the store. */
export interface CommentList {
  /** The `key` of its `@connection`. */
  key: string
  /** The arguments by which its connections differ, as the page gives them. */
  filters?: Variables
  sort?: Sort
}

/**
 * Brings the lists in the store up to an event of a discussion, or to a written comment: `data` is
 * the record that has `comment` and `tombstones`. Select in both `id`, `discussionId`, `parentId`,
 * `status`, `replyCount` and `pinnedAt`. The same event may be applied again.
 */
export function applyEvent(
  store: RecordSourceProxy,
  data: RecordProxy | null | undefined,
  lists: { comments: CommentList; replies?: CommentList },
): void {
  const comments = [data?.getLinkedRecord('comment'), ...(data?.getLinkedRecords('tombstones') ?? [])]
  for (const comment of comments) {
    if (comment == null) continue
    const parentId = comment.getValue('parentId') as string | null
    const list = parentId === null ? lists.comments : lists.replies
    const owner = store.get(parentId ?? String(comment.getValue('discussionId')))
    if (list !== undefined && owner != null) place(store, owner, list, comment)
    if (lists.replies !== undefined && comment.getValue('replyCount') === 0) beginList(store, comment, lists.replies)
  }
}

/** The list of a comment without replies is empty. It need not be loaded to take the first one. */
function beginList(store: RecordSourceProxy, owner: RecordProxy, { key, filters }: CommentList): void {
  if (ConnectionHandler.getConnection(owner, key, filters) != null) return
  const id = ConnectionHandler.getConnectionID(owner.getDataID(), key, filters)
  const made = (name: string, type: string): RecordProxy => store.get(name) ?? store.create(name, type)
  const pageInfo = made(`${id}:pageInfo`, 'PageInfo').setValue(false, 'hasNextPage').setValue(null, 'endCursor')
  const list = made(id, 'CommentConnection').setLinkedRecords([], 'edges').setLinkedRecord(pageInfo, 'pageInfo')
  // What @appendEdge counts by.
  list.setValue(0, '__connection_next_edge_index')
  owner.setLinkedRecord(list, `__${key}_connection`, filters)
}

function place(store: RecordSourceProxy, owner: RecordProxy, list: CommentList, comment: RecordProxy): void {
  const { key, filters, sort = 'newest' } = list
  const connection = ConnectionHandler.getConnection(owner, key, filters)
  if (connection == null) return
  const items = (connection.getLinkedRecords('edges') ?? []).filter((edge) => edge != null)
  const read = (edge: RecordProxy, name: string): unknown => edge.getLinkedRecord('node')?.getValue(name)
  const known = items.find((edge) => edge.getLinkedRecord('node')?.getDataID() === comment.getDataID())
  const edge = known ?? ConnectionHandler.createEdge(store, connection, comment, 'CommentEdge')
  const ofConnection = connection.getLinkedRecord('pageInfo')
  const pageInfo = {
    hasNextPage: ofConnection?.getValue('hasNextPage') === true,
    endCursor: ofConnection?.getValue('endCursor') as string | null,
  }
  const names = ['id', 'status', 'replyCount', 'pinnedAt']
  const changed = Object.fromEntries(names.map((name) => [name, comment.getValue(name)])) as unknown as ListedComment
  connection.setLinkedRecords(arrange({ items, sort, pageInfo, read }, changed, edge), 'edges')
}
