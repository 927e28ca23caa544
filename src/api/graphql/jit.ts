import {
  type DocumentNode,
  type ExecutionResult,
  getOperationAST,
  type GraphQLSchema,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit'
import type { Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'

import type { Ctx } from '../../core/context.ts'

/**
 * Compile on this use: compiling costs about as much as some executions, which a document that
 * comes once or twice is not worth.
 */
const COMPILED_AT = 3
/**
 * The compiler expands every fragment wherever it is spread, which takes about 0.5 ms and 2 KB a
 * field (measured).
 */
const MAX_FIELDS = 400
/** The most fields of all compiled documents: some 50 MB. */
const MAX_KEPT_FIELDS = 25_000

interface Compiled {
  /** Null if it cannot be compiled. */
  query: CompiledQuery | null
  fields: number
}

/**
 * Compiles documents that come repeatedly. The server's parser cache returns the same DocumentNode
 * for the same text, so data about a document is kept with it.
 *
 * Not for callers without credentials, nor for documents that their fragments make huge: one of 1.4
 * KB that doubles twelve times took all memory of the process.
 */
export function useCompiledQueries(schema: GraphQLSchema): Plugin<Ctx> {
  const seen = new WeakMap<DocumentNode, number>()
  const keys = new WeakMap<DocumentNode, Map<string, object>>()
  const kept = new LRUCache<object, Compiled>({
    maxSize: MAX_KEPT_FIELDS,
    sizeCalculation: ({ fields }) => Math.max(1, fields),
  })

  const compiledOf = (document: DocumentNode, operationName: string): CompiledQuery | null => {
    const times = (seen.get(document) ?? 0) + 1
    seen.set(document, times)
    if (times < COMPILED_AT) return null
    const key = keyOf(document, operationName)
    const existing = kept.get(key)
    if (existing !== undefined) return existing.query
    const fields = countFields(document, operationName)
    const compiled = fields > MAX_FIELDS ? null : compileQuery(schema, document, operationName)
    const query = compiled !== null && isCompiledQuery(compiled) ? compiled : null
    kept.set(key, { query, fields: query === null ? 1 : fields })
    return query
  }

  const keyOf = (document: DocumentNode, operationName: string): object => {
    const ofDocument = keys.get(document) ?? new Map<string, object>()
    keys.set(document, ofDocument)
    const key = ofDocument.get(operationName) ?? {}
    ofDocument.set(operationName, key)
    return key
  }

  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const { document, operationName, rootValue, contextValue, variableValues } = args
      const { caller } = contextValue
      if (caller === null) return
      const compiled = compiledOf(document, operationName ?? '')
      if (compiled === null) return
      setExecuteFn((): Promise<ExecutionResult> | ExecutionResult => {
        const result = compiled.query(rootValue, contextValue, variableValues ?? {})
        // Invalid variables: nothing has run. graphql-js reports the error, so that it does not
        // depend on how often the document has come.
        return 'errors' in result && !('data' in result) ? executeFn(args) : result
      })
    },
  }
}

/**
 * The number of an operation's fields with fragments expanded. Recursive fragments were refused
 * before.
 */
function countFields(document: DocumentNode, operationName: string): number {
  const fragments = new Map<string, SelectionSetNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition.selectionSet)
  }
  const counts = new Map<string, number>()
  const countFragment = (name: string): number => {
    const known = counts.get(name)
    if (known !== undefined) return known
    const count = countIn(fragments.get(name))
    counts.set(name, count)
    return count
  }
  const countIn = (set: SelectionSetNode | undefined): number =>
    (set?.selections ?? []).reduce((sum, selection) => {
      if (selection.kind === Kind.FRAGMENT_SPREAD) return sum + countFragment(selection.name.value)
      return sum + Number(selection.kind === Kind.FIELD) + countIn(selection.selectionSet)
    }, 0)
  return countIn(getOperationAST(document, operationName === '' ? null : operationName)?.selectionSet)
}
