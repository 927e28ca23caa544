import { type ExecutionResult, getOperationAST } from 'graphql'

import { type Ctx, perApp } from '../../core/context.ts'
import { costOf } from './cost.ts'
import { createExecutor, type Operation } from './jit.ts'
import type { Params } from './params.ts'
import { check, requestErrors } from './prepare.ts'
import { schema } from './schema.ts'

/** What became of a request. `data` is there if its operation was executed. */
export interface Result extends ExecutionResult {
  isParsed: boolean
}

const executorOf = perApp(() => createExecutor(schema))

/** Runs the operation of a request within all limits. Its errors are not masked yet. */
export async function run(ctx: Ctx, params: Params, { isCostAsked = false } = {}): Promise<Result> {
  const { query, operationName } = params
  const variables = params.variables ?? {}
  const { document, errors } = check(ctx.app, query)
  if (document === null || errors.length > 0) return { errors, isParsed: document !== null }
  const refused = requestErrors(document, operationName, variables)
  const result: ExecutionResult =
    refused.length > 0
      ? { errors: refused }
      : await runTraced(ctx, { schema, document, operationName, variableValues: variables, contextValue: ctx })
  if (!isCostAsked) return { ...result, isParsed: true }
  const cost = costOf(schema, document, { operationName, variables })
  return { ...result, extensions: { ...result.extensions, cost }, isParsed: true }
}

/** An operation is a span of its request's trace, named by its kind and name. */
async function runTraced(ctx: Ctx, operation: Operation): Promise<ExecutionResult> {
  const { app } = ctx
  const { span } = app
  const definition = span && getOperationAST(operation.document, operation.operationName)
  if (span === undefined || definition == null) return executorOf(app)(operation)
  const { operation: kind, name } = definition
  const named = name === undefined ? {} : { 'graphql.operation.name': name.value.slice(0, MAX_NAME) }
  const part = span.enter(kind, { attributes: { 'graphql.operation.type': kind, ...named } })
  const result = await executorOf(app)(operation)
  part.end(result.errors === undefined ? undefined : 'errors')
  return result
}

/** The most characters of an operation's name in a trace. */
const MAX_NAME = 64
