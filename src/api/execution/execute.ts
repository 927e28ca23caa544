import type { DocumentNode, GraphQLSchema } from 'graphql'
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit'

import type { Ctx } from '../../core/context.ts'
import { toServiceError } from './errors.ts'

/** Runs one operation. Rejects with the ServiceError of the first field that failed. */
export type Operation = (ctx: Ctx, variables: Readonly<Record<string, unknown>>) => Promise<unknown>

/**
 * An operation that is validated, planned and compiled to code when it first runs
 * (docs/decisions/0003). Compiling all at the start would take 100 ms.
 */
export function compile(schema: GraphQLSchema, document: DocumentNode): Operation {
  let compiled: CompiledQuery | undefined
  return async (ctx, variables) => {
    compiled ??= compileNow(schema, document)
    const { data, errors } = await compiled.query(undefined, ctx, variables)
    if (errors !== undefined && errors.length > 0)
      throw toServiceError(errors[0], ctx.app.log, { requestId: ctx.requestId })
    return data
  }
}

function compileNow(schema: GraphQLSchema, document: DocumentNode): CompiledQuery {
  const compiled = compileQuery(schema, document)
  if (isCompiledQuery(compiled)) return compiled
  throw new Error(`an operation does not fit the schema: ${compiled.errors?.map(String).join('; ')}`)
}
