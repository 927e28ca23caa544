import type { DocumentNode } from 'graphql'

/** The base path of the REST routes. */
export const API_BASE = '/api/v1'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * A REST route is an operation on the GraphQL schema: path, query and body become the operation's
 * variables, and the answer is a projection of its data. Names, types and permissions come only
 * from the schema.
 *
 * - A mutation's `$input` consists of the path parameters and the body, which has the fields of a
 *   `@oneOf` input in it side by side.
 * - A query's variables are the path parameters and the query string; `limit` and `cursor` stand
 *   for `$first` and `$after`.
 */
interface RouteBase {
  /** The title in the reference: a verb and its object, such as `Create a comment`. */
  summary: string
  /** The description in the reference, if that of the answered field does not fit. */
  description?: string
  /** A second status of success, when it applies, and its description. */
  otherStatus?: { status: number; when: (data: never) => boolean; description: string }
  /**
   * Makes the body from the operation's data, if `plainAnswer` (src/api/rest) does not. It may only
   * rearrange data, not compute: the reference runs it on the schema to derive the body's schema.
   */
  answer?: (data: never) => unknown
  /** The bounds of whole numbers in the query string. `limit` has its own. */
  bounds?: Readonly<Record<string, { min: number; max: number; description: string }>>
  /**
   * Whether the answer shows comments of one discussion, named by the variable `id` or
   * `externalId`: then it has an ETag, and is cached until the discussion changes. It is the same
   * for all callers except for `viewerReaction` and `authorMuted` of each comment.
   */
  isDiscussionPage?: boolean
}

interface Lighter<Operation> {
  document: Operation
  serves: (variables: never) => boolean
}

/**
 * A route as its domain writes it. It names a field of Query or Mutation, whose arguments become
 * variables. The answer has what REST shows of the field's type (`restFragment`), or the selection
 * `select`. What this does not fit is an operation, as a text.
 *
 * Both texts may spread `<Type>Fields` of every type, and the `fragments` of a domain's `rest.ts`.
 */
export type RouteDefinition = RouteBase & {
  /** Method and path below `/api/v1`; `:name` is a parameter, named as in the operation. */
  route: `${Method} /${string}`
  /** The status of success, 200 by default; 204 has no body. */
  status?: number
  /**
   * A smaller operation on the same root field, run instead of `operation` for variables that it
   * `serves`.
   */
  lighter?: Lighter<string>
} & ({ field: string; select?: string; operation?: never } | { operation: string; field?: never; select?: never })

/** A route with its document. */
export interface Route extends RouteBase {
  method: Method
  path: string
  status: number
  document: DocumentNode
  lighter?: Lighter<DocumentNode>
}

export interface RelayConnection {
  nodes: readonly unknown[]
  pageInfo: { endCursor?: string | null; hasNextPage: boolean }
}

/** A connection as a list in REST's form, including nested connections. */
export function listOf({ nodes, pageInfo }: RelayConnection): {
  data: readonly unknown[]
  nextCursor: string | null
  hasMore: boolean
} {
  const nested = Object.entries(nodes[0] ?? {}).flatMap(([name, value]) => (isRelayConnection(value) ? [name] : []))
  return {
    data: nested.length === 0 ? nodes : nodes.map((node) => withLists(node, nested)),
    nextCursor: pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null,
    hasMore: pageInfo.hasNextPage,
  }
}

export const isRelayConnection = (value: unknown): value is RelayConnection =>
  typeof value === 'object' && value !== null && 'nodes' in value && 'pageInfo' in value

/** All items have one shape: a field that is a connection in the first item is one in all. */
function withLists(node: unknown, names: readonly string[]): unknown {
  const lists = names.map((name) => [name, listOf((node as Record<string, RelayConnection>)[name] as RelayConnection)])
  return { ...(node as object), ...(Object.fromEntries(lists) as object) }
}
