import { type ExecutionResult, GraphQLError, parse } from 'graphql'
import type { OperationArgs, RequestParams } from 'graphql-sse'

import type { Ctx } from '../core/context.ts'
import { hasIntrospection } from '../core/settings.ts'
import { costErrors } from './cost.ts'
import { checkDocument } from './limits.ts'
import { documentErrors } from './rules.ts'
import { schema } from './schema.ts'

/** The operation, within all limits; what is wrong with it as a result, which the stream carries as any other. */
export function prepare(
  ctx: Ctx,
  { query, operationName, variables }: RequestParams,
): OperationArgs<Record<PropertyKey, unknown>> | ExecutionResult {
  checkDocument(query)
  const options = { introspection: hasIntrospection(ctx.app.settings) }
  try {
    const document = parse(query)
    let errors = documentErrors(schema, document, options)
    if (errors.length === 0) errors = costErrors(schema, document, variables ?? {})
    if (errors.length > 0) return { data: null, errors }
    const contextValue = { ...ctx }
    return { schema, document, operationName: operationName ?? null, variableValues: variables ?? null, contextValue }
  } catch (error) {
    if (error instanceof GraphQLError) return { data: null, errors: [error] }
    throw error
  }
}
