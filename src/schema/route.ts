import type { TypedDocumentNode } from '@graphql-typed-document-node/core'

/** Where the REST routes stand. */
export const API_BASE = '/api/v1'

/**
 * A REST route is an operation on the GraphQL schema: path, query and body become the operation's
 * variables, and the answer is a projection of its data. Names, types and permissions are the
 * schema's alone.
 *
 * - A mutation's `$input` is made of the path parameters and the body.
 * - A query's variables are the path parameters and the query string; `limit` and `cursor` stand
 *   for `$first`, `$after`.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`; `:name` is a parameter with the name that the operation gives it. */
  path: string
  /** The title in the reference: a verb and its object, like `Create a comment`. */
  summary: string
  /** What the reference says of it, where the field that it answers with does not fit. */
  description?: string
  document: TypedDocumentNode<unknown, unknown>
  /** The status of success; 204 has no body. */
  status: number
  /** Where success has two statuses: the other one, when it is that, and what it says. */
  otherStatus?: { status: number; when: (data: never) => boolean; description: string }
  /**
   * The body; without it, what stands in the operation's only field (a payload's only field, a
   * connection as a list). It arranges what the operation gives and computes nothing: the reference
   * runs it on the schema to know the body's.
   */
  answer?: (data: never) => unknown
  /**
   * Fields of the operation's input that this path does not take: it refuses them as unknown.
   */
  without?: readonly string[]
  /** The least and the most of whole numbers in the query string. `limit` has its own. */
  bounds?: Readonly<Record<string, { min: number; max: number; description: string }>>
  /**
   * A smaller operation on the same root field, run in the place of `document` with the variables
   * that it `serves`.
   */
  lighter?: { document: TypedDocumentNode<unknown, never>; serves: (variables: never) => boolean }
  /**
   * The answer shows comments of the one discussion that the variables `id` or `externalId` name:
   * it has an ETag, and is kept until the discussion changes. It is the same for all callers but
   * for the `viewerReaction` of each comment.
   */
  isDiscussionPage?: boolean
}

interface RouteOf<Data, Variables> extends Omit<Route, 'document' | 'otherStatus' | 'answer' | 'lighter'> {
  document: TypedDocumentNode<Data, Variables>
  otherStatus?: { status: number; when: (data: Data) => boolean; description: string }
  answer?: (data: Data) => unknown
  lighter?: { document: TypedDocumentNode<unknown, never>; serves: (variables: Variables) => boolean }
}

/** Types a route by its document, so that `otherStatus` and `answer` know the data. */
export const route = <Data, Variables>(definition: RouteOf<Data, Variables>): Route => definition as unknown as Route

export interface RelayConnection {
  edges: readonly { node: unknown }[]
  pageInfo: { endCursor?: string | null; hasNextPage: boolean }
}

/** A connection as a list of REST's form, and so each connection in what it lists. */
export function listOf({ edges, pageInfo }: RelayConnection): {
  data: unknown[]
  nextCursor: string | null
  hasMore: boolean
} {
  const data = edges.map(({ node }) => node)
  const nested = Object.entries(data[0] ?? {}).flatMap(([name, value]) => (isRelayConnection(value) ? [name] : []))
  return {
    data: nested.length === 0 ? data : data.map((node) => withLists(node, nested)),
    nextCursor: pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null,
    hasMore: pageInfo.hasNextPage,
  }
}

export const isRelayConnection = (value: unknown): value is RelayConnection =>
  typeof value === 'object' && value !== null && 'edges' in value && 'pageInfo' in value

/** What is listed has one shape: a field that is a connection in the first is one in all. */
function withLists(node: unknown, names: readonly string[]): unknown {
  const lists = names.map((name) => [name, listOf((node as Record<string, RelayConnection>)[name] as RelayConnection)])
  return { ...(node as object), ...(Object.fromEntries(lists) as object) }
}
