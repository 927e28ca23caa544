import type { TypedDocumentNode } from '@graphql-typed-document-node/core'

/**
 * A REST route is an operation on the GraphQL schema: path, query and body become the operation's variables, and the
 * answer is a projection of its data. Names, types and permissions are the schema's alone.
 *
 * - A mutation's `$input` is made of the path parameters and the body.
 * - A query's variables are the path parameters and the query string; `limit` and `cursor` stand for `$first`, `$after`.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`; `:name` is a parameter with the name that the operation gives it. */
  path: string
  /** One line for the reference. */
  summary: string
  document: TypedDocumentNode<unknown, unknown>
  /** The status of success; 204 has no body. */
  status: number
  /** Where success has two statuses. */
  statusOf?: (data: never) => number
  /** The body; without it, what stands in the operation's only field (a payload's only field, a connection as a list). */
  answer?: (data: never) => unknown
  /** Fields of the operation's input that this path leaves out: they are as unknown to it as any other. */
  without?: readonly string[]
}

interface RouteOf<Data, Variables> extends Omit<Route, 'document' | 'statusOf' | 'answer'> {
  document: TypedDocumentNode<Data, Variables>
  statusOf?: (data: Data) => number
  answer?: (data: Data) => unknown
}

/** Types a route by its document, so that `statusOf` and `answer` know the data. */
export const route = <Data, Variables>(definition: RouteOf<Data, Variables>): Route => definition as unknown as Route
