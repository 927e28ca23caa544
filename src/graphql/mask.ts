import { type ExecutionResult, GraphQLError } from 'graphql'
import type { Logger } from 'pino'

import type { Ctx } from '../core/context.ts'
import { hasIntrospection } from '../core/settings.ts'
import { toGraphQLError } from './errors.ts'

/** For the log, and for the id by which a caller can ask about a failure. */
export interface MaskContext {
  log: Logger
  requestId: string
  /** Whether an error may say which name was perhaps meant: names are what introspection tells. */
  suggests: boolean
}

export const maskContextOf = ({ app, requestId }: Ctx): MaskContext => ({
  log: app.log,
  requestId,
  suggests: hasIntrospection(app.settings),
})

const masked = new WeakSet<GraphQLError>()

/** A result whose errors have the contract's form and show nothing else. */
export function maskResult<R extends Pick<ExecutionResult, 'errors'>>(result: R, context: MaskContext): R {
  if (result.errors === undefined) return result
  return { ...result, errors: result.errors.map((error) => maskError(error, context)) }
}

function maskError(error: GraphQLError, { log, requestId, suggests }: MaskContext): GraphQLError {
  if (masked.has(error)) return error
  const answer = toGraphQLError(suggests ? error : withoutSuggestion(error), log, requestId)
  // The HTTP status that the server had in mind; it is left out of the body.
  // An error of a compiled query may have no extensions at all, whatever its type says.
  const { http } = (error.extensions as GraphQLError['extensions'] | undefined) ?? {}
  if (http !== undefined) answer.extensions.http = http
  masked.add(answer)
  return answer
}

/** The library's own words only, which wrap one another: those of the service know no names but the caller's. */
function withoutSuggestion(error: GraphQLError): GraphQLError {
  const { originalError, nodes = null, source = null, positions = null, path = null, extensions } = error
  if (originalError instanceof GraphQLError) return withoutSuggestion(originalError)
  if (originalError != null) return error
  const message = error.message.replace(/ Did you mean [^?]*\?/, '')
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
