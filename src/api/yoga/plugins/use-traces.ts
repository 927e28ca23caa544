import { type ExecutionArgs, type ExecutionResult, getOperationAST } from 'graphql'

import type { App } from '../../../core/app.ts'
import { isEvent, isOwn } from '../own.ts'
import type { ServerPlugin } from '../plugin.ts'

/** The most characters of an operation's name in a trace. */
const MAX_NAME = 64

/**
 * An operation of a client is a span of its request's trace, named by its kind and name. In the
 * place of @envelop/opentelemetry, which knows nothing of the request's own span. Without an
 * exporter it hooks into nothing: each hook costs an operation 1.5 KB of garbage.
 */
export const useTraces = ({ tracing }: App): ServerPlugin =>
  tracing === undefined ? {} : { onExecute: traceExecution }

const traceExecution: NonNullable<ServerPlugin['onExecute']> = ({ args, executeFn, setExecuteFn }) => {
  const { span } = args.contextValue.app
  // The span of a request of REST is that of its operation too. The request of an event is over.
  if (span === undefined || isOwn(args.document) || isEvent(args)) return
  const operation = getOperationAST(args.document, args.operationName)
  if (operation == null) return
  const { operation: kind, name } = operation
  const named = name === undefined ? {} : { 'graphql.operation.name': name.value.slice(0, MAX_NAME) }
  setExecuteFn(async (given: ExecutionArgs) => {
    const part = span.enter(kind, { attributes: { 'graphql.operation.type': kind, ...named } })
    let failure: string | undefined = 'errors'
    try {
      const result = (await executeFn(given)) as ExecutionResult
      if (result.errors === undefined) failure = undefined
      return result
    } finally {
      part.end(failure)
    }
  })
}
