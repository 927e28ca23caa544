import {
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  type GraphQLSchema,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit'
import { LRUCache } from 'lru-cache'

import { type Room, roomOfBytes } from '../../core/cache.ts'
import type { Ctx } from '../../core/context.ts'
import { type Conditions, conditionsOf, decide } from './decided.ts'

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
const BYTES_A_FIELD = 2000
/** How many forms of a document are counted: one for each operation and outcome of conditions. */
const MAX_FORMS = 64

/** An operation of a document with certain outcomes of its conditions. */
interface Form {
  uses: number
}

interface Compiled {
  /** Null if it cannot be compiled. */
  query: CompiledQuery | null
  fields: number
}

/** An operation of a request. */
export type Operation = ExecutionArgs & { contextValue: Pick<Ctx, 'caller'> }

type Execute = (operation: Operation) => Promise<ExecutionResult> | ExecutionResult

/**
 * Executes operations; compiles documents that come repeatedly. The cache of parsed documents
 * returns the same DocumentNode for the same text, so data about a document is kept with it.
 *
 * Not for callers without credentials, nor for documents that their fragments make huge: one of 1.4
 * KB that doubles twelve times took all memory of the process.
 */
export function createExecutor(
  schema: GraphQLSchema,
  { interpret = execute, room = roomOfBytes(50_000_000) }: { interpret?: Execute; room?: Room } = {},
): Execute {
  const forms = new WeakMap<DocumentNode, LRUCache<string, Form>>()
  const kept = room<Form, Compiled>({ part: 1, bytesOf: ({ fields }) => BYTES_A_FIELD * fields })

  const compiledOf = (document: DocumentNode, operationName: string, conditions: Conditions): CompiledQuery | null => {
    const form = formOf(document, [operationName, ...conditions].join(' '))
    if (++form.uses < COMPILED_AT) return null
    const existing = kept.get(form)
    if (existing !== undefined) return existing.query
    if (form.uses > COMPILED_AT) {
      // It gave way to others. Compiled at each request, they would drive each other out.
      form.uses = 1
      return null
    }
    const decided = decide(document, conditions)
    const fields = countFields(decided, operationName)
    const compiled = fields > MAX_FIELDS ? null : compileQuery(schema, decided, operationName)
    const query = compiled !== null && isCompiledQuery(compiled) ? compiled : null
    kept.set(form, { query, fields: query === null ? 1 : fields })
    return query
  }

  const formOf = (document: DocumentNode, name: string): Form => {
    const ofDocument = forms.get(document) ?? new LRUCache<string, Form>({ max: MAX_FORMS })
    forms.set(document, ofDocument)
    const form = ofDocument.get(name) ?? { uses: 0 }
    ofDocument.set(name, form)
    return form
  }

  return (operation) => {
    const { document, operationName, contextValue, variableValues } = operation
    if (contextValue.caller === null) return interpret(operation)
    const conditions = conditionsOf(document, operationName ?? '', variableValues ?? {})
    const compiled = conditions && compiledOf(document, operationName ?? '', conditions)
    if (compiled === null) return interpret(operation)
    const result = compiled.query(undefined, contextValue, variableValues ?? {})
    // Invalid variables: nothing has run. graphql-js reports the error, so that it does not depend
    // on how often the document has come.
    return 'errors' in result && !('data' in result) ? interpret(operation) : result
  }
}

/**
 * The number of an operation's fields with fragments expanded. Recursive fragments were refused
 * before. Infinity where a name in the answer is `__proto__`, which compiled code would lose.
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
      if (selection.kind === Kind.FIELD && selection.alias?.value === '__proto__') return Infinity
      return sum + Number(selection.kind === Kind.FIELD) + countIn(selection.selectionSet)
    }, 0)
  return countIn(getOperationAST(document, operationName === '' ? null : operationName)?.selectionSet)
}
