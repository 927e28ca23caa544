import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
} from 'graphql'
import type { RequestParams } from 'graphql-sse'

import { perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { costOf } from '../execution/cost.ts'
import { maskResult, toServiceError } from '../execution/errors.ts'
import { showsUnnamed } from '../execution/unnamed.ts'
import type { Params } from '../execution/params.ts'
import { schema } from '../execution/schema.ts'
import { markOwn } from './own.ts'
import { isValid } from './plugins/use-kept-documents.ts'
import { sourceOf } from './plugins/use-sources.ts'
import { serverOf } from './server.ts'

type Enveloped = ReturnType<ReturnType<typeof serverOf>['getEnveloped']>
type Execute = (operation: ExecutionArgs) => Promise<ExecutionResult> | ExecutionResult

/** An operation that may be executed, and the server's functions for it. */
export interface Prepared extends ExecutionArgs {
  contextValue: Record<PropertyKey, unknown>
  execute: Execute
  /** Returns the source of a subscription, or why there is none. */
  subscribe: (operation: ExecutionArgs) => Promise<unknown>
}

/** An operation whose events are executed for all who share it. */
export type SharedOperation = Omit<Prepared, 'contextValue' | 'subscribe'>

/** What became of a request. `data` is there if its operation was executed. */
export interface Result extends ExecutionResult {
  isParsed: boolean
  /** Of an answer to store: whether it shows readers or their content without an id. */
  isUnnamed?: boolean
}

/** Runs a query or mutation of a client within all limits. */
export async function run(ctx: Ctx, params: Params, { isCostAsked = false } = {}): Promise<Result> {
  const { query, operationName } = params
  const variables = params.variables ?? {}
  const enveloped = serverOf(ctx.app).getEnveloped({ ctx, params })
  const { document, errors } = check(enveloped, query)
  if (document === null) return { ...maskResult({ errors }, ctx), isParsed: false }
  const execute = async (): Promise<ExecutionResult> => {
    const contextValue = (await enveloped.contextFactory()) as Ctx
    const args = { schema, document, operationName, variableValues: variables, contextValue }
    return (await enveloped.execute(args)) as ExecutionResult
  }
  const result = maskResult(errors.length > 0 ? { errors } : await execute(), ctx)
  const isUnnamed = ctx.outcome !== undefined && result.data != null && showsUnnamed(document, operationName)
  // Of a document that is not valid there is no cost.
  if (!isCostAsked || !isValid(document)) return { ...result, isParsed: true, isUnnamed }
  const cost = costOf(schema, document, { operationName, variables })
  return { ...result, extensions: { ...result.extensions, cost }, isParsed: true, isUnnamed }
}

/**
 * Prepares an operation of the event stream within all limits. Errors come back as a result, which
 * the stream sends like any other.
 */
export function prepare(ctx: Ctx, params: RequestParams): Prepared | ExecutionResult {
  const { query, operationName, variables } = params
  const enveloped = serverOf(ctx.app).getEnveloped({ ctx, params })
  const { document, errors } = check(enveloped, query)
  if (document === null || errors.length > 0) return { data: null, ...maskResult({ errors }, ctx) }
  const execute: Execute = (operation) => {
    const mask = (result: ExecutionResult) => maskResult(result, operation.contextValue as Ctx)
    const result = (enveloped.execute as Execute)(operation)
    return result instanceof Promise ? result.then(mask) : mask(result)
  }
  const subscribe = (operation: ExecutionArgs) => sourceOf(operation, enveloped.subscribe)
  const args = { schema, document, operationName: operationName ?? null, variableValues: variables ?? null }
  return { ...args, contextValue: { ...ctx }, execute, subscribe }
}

/** Parses a document and checks the request. */
function check({ parse, validate }: Enveloped, query: string) {
  let document: DocumentNode
  try {
    document = parse(query) as DocumentNode
  } catch (error) {
    // A ServiceError where the document is too large.
    if (error instanceof GraphQLError || error instanceof ServiceError)
      return { document: null, errors: [error as GraphQLError] }
    throw error
  }
  return { document, errors: validate(schema, document) as readonly GraphQLError[] }
}

/** Whether a prepared operation is a subscription. */
export const isSubscription = (prepared: Prepared | ExecutionResult): prepared is Prepared =>
  'document' in prepared &&
  getOperationAST(prepared.document, prepared.operationName)?.operation === OperationTypeNode.SUBSCRIPTION

/** What executes depends on no request, so that one serves all of them. */
const executeOf = perApp((app) => serverOf(app).getEnveloped().execute)

/** Runs one operation. Rejects with the ServiceError of the first field that failed. */
export type Operation = (ctx: Ctx, variables: Readonly<Record<string, unknown>>) => Promise<unknown>

/** An operation of the service itself. It is compiled when it first runs (docs/decisions/0003). */
export function ownOperation(document: DocumentNode): Operation {
  markOwn(document)
  return async (ctx, variableValues) => {
    const execute = executeOf(ctx.app)
    const args = { schema, document, variableValues, contextValue: ctx }
    const { data, errors } = (await execute(args)) as ExecutionResult
    if (errors !== undefined && errors.length > 0)
      throw toServiceError(errors[0], ctx.app.log, { requestId: ctx.requestId })
    return data
  }
}
