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
 * Compiling costs about as much as some executions: a document that comes once or twice is not
 * worth it.
 */
const COMPILED_AT = 3
/**
 * The compiler writes every fragment out wherever it is spread, in about 0.5 ms and 2 KB a field
 * (measured).
 */
const MAX_FIELDS = 400
/** Of all that is kept compiled, some 50 MB. */
const MAX_KEPT_FIELDS = 25_000

interface Compiled {
  /** Null where it cannot be compiled. */
  query: CompiledQuery | null
  fields: number
}

/**
 * Turns documents that come again into code. The server's parser cache gives the same text the same
 * DocumentNode, so that what is known of a document goes with it.
 *
 * Not those of callers without credentials, nor those that fragments make huge: 1.4 KB that double
 * twelve times took all memory of the process.
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
        // Wrong variables: nothing has run. What is said of them is not to depend on how often the
        // document has come.
        return 'errors' in result && !('data' in result) ? executeFn(args) : result
      })
    },
  }
}

/**
 * How many fields an operation has with its fragments written out, each counted once: they may not
 * spread themselves.
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
