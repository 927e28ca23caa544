import { type DocumentNode, type ExecutionArgs, execute } from 'graphql'
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit'

import { roomOf } from '../../../core/cache.ts'
import type { App } from '../../../core/app.ts'
import { createExecutor, type Operation } from '../../execution/jit.ts'
import { schema } from '../../execution/schema.ts'
import { isEvent, isOwn } from '../own.ts'
import type { ServerPlugin } from '../plugin.ts'

/**
 * Executes operations; what comes repeatedly is compiled to code. In the place of Yoga's executor,
 * which answers fields as they are ready, not in the order of the selection, and of
 * @envelop/graphql-jit, which compiles every document at its first use, however large.
 */
export function useJit(app: App): ServerPlugin {
  const executeOften = createExecutor(schema, { room: roomOf(app, 'compiledDocuments') })
  return {
    onExecute: ({ args, setExecuteFn }) => {
      // An event is executed once for all subscribers, and often never again.
      if (isEvent(args)) return setExecuteFn(execute)
      setExecuteFn(isOwn(args.document) ? executeOwn : (given: ExecutionArgs) => executeOften(given as Operation))
    },
  }
}

/** Of operations of the service, which are few. Compiling all at the start would take 100 ms. */
const compiled = new WeakMap<DocumentNode, CompiledQuery>()

function executeOwn({ document, contextValue, variableValues }: ExecutionArgs) {
  const query = compiled.get(document) ?? compileNow(document)
  compiled.set(document, query)
  return query.query(undefined, contextValue, variableValues)
}

function compileNow(document: DocumentNode): CompiledQuery {
  const query = compileQuery(schema, document)
  if (isCompiledQuery(query)) return query
  throw new Error(`an operation does not fit the schema: ${query.errors?.map(String).join('; ')}`)
}
