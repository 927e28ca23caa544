import { getOperationAST } from 'graphql'

import { isEvent, isOwn } from '../own.ts'
import type { ServerPlugin } from '../plugin.ts'

/** The most characters of an operation's name in a trace. */
const MAX_NAME = 64

/**
 * An operation of a client is a span of its request's trace, named by its kind and name. In the
 * place of @envelop/opentelemetry, which knows nothing of the request's own span.
 */
export const useTraces = (): ServerPlugin => ({
  onExecute({ args }) {
    const { span } = args.contextValue.app
    // The span of a route is that of its operation, and the request of a subscription is over.
    if (span === undefined || isOwn(args.document) || isEvent(args)) return undefined
    const operation = getOperationAST(args.document, args.operationName)
    if (operation == null) return undefined
    const { operation: kind, name } = operation
    const named = name === undefined ? {} : { 'graphql.operation.name': name.value.slice(0, MAX_NAME) }
    const part = span.enter(kind, { attributes: { 'graphql.operation.type': kind, ...named } })
    return {
      onExecuteDone: ({ result }) => part.end('errors' in result && result.errors !== undefined ? 'errors' : undefined),
    }
  },
})
