import type { DocumentNode, ExecutionResult, GraphQLSchema } from 'graphql'
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit'
import type { Plugin } from 'graphql-yoga'

/** Compiling costs about as much as some executions: a document that comes once or twice is not worth it. */
const COMPILED_AT = 3

interface Known {
  seen: number
  /** By the operation's name. Null where it cannot be compiled. */
  compiled: Map<string, CompiledQuery | null>
}

/**
 * Turns documents that come again into code (design decision 10). The server's parser cache gives the same text the same
 * DocumentNode, so that what is known of a document goes with it.
 */
export function useCompiledQueries(schema: GraphQLSchema): Plugin {
  const known = new WeakMap<DocumentNode, Known>()

  const compiledOf = (document: DocumentNode, operationName: string): CompiledQuery | null => {
    const entry = known.get(document) ?? { seen: 0, compiled: new Map() }
    known.set(document, entry)
    if (++entry.seen < COMPILED_AT) return null
    const existing = entry.compiled.get(operationName)
    if (existing !== undefined) return existing
    const compiled = compileQuery(schema, document, operationName)
    const usable = isCompiledQuery(compiled) ? compiled : null
    entry.compiled.set(operationName, usable)
    return usable
  }

  return {
    onExecute({ args, setExecuteFn }) {
      const { document, operationName, rootValue, contextValue, variableValues } = args
      const compiled = compiledOf(document, operationName ?? '')
      if (compiled === null) return
      setExecuteFn((): Promise<ExecutionResult> | ExecutionResult =>
        compiled.query(rootValue, contextValue, variableValues ?? {}),
      )
    },
  }
}
