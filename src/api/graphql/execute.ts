import type { TypedDocumentNode } from '@graphql-typed-document-node/core'
import type { DocumentNode, GraphQLSchema } from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'

import type { Ctx } from '../../core/context.ts'
import { toServiceError } from './errors.ts'

/** Runs one operation. Rejects with the ServiceError of the first field that failed. */
export type Operation<Data, Variables> = (ctx: Ctx, variables: Variables) => Promise<Data>

/** Compiles an operation once: validated, planned and turned into code (docs/decisions/0003). */
export function compile<Data, Variables>(
  schema: GraphQLSchema,
  document: TypedDocumentNode<Data, Variables>,
): Operation<Data, Variables> {
  const compiled = compileQuery(schema, document as DocumentNode)
  if (!isCompiledQuery(compiled)) {
    throw new Error(`an operation does not fit the schema: ${compiled.errors?.map(String).join('; ')}`)
  }
  return async (ctx, variables) => {
    const { data, errors } = await compiled.query(undefined, ctx, variables as Record<string, unknown>)
    if (errors !== undefined && errors.length > 0) throw toServiceError(errors[0], ctx.app.log)
    return data as Data
  }
}
