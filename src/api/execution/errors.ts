import { type ExecutionResult, GraphQLError } from 'graphql'
import type { Logger } from 'pino'

import type { Ctx } from '../../core/context.ts'
import { problemOf, retryAfterOf, sentenceOf, ServiceError } from '../../core/errors.ts'
import { troubleOf } from '../../core/outage.ts'
import { MissingKeyError } from '../../core/secrets/seals.ts'
import { countRefusal } from '../../core/telemetry/metrics.ts'
import { requestRefusal } from '../../graphql/documents/rules.ts'

/**
 * Converts any thrown value to the error that the caller may see. Errors other than ServiceError
 * are logged, and reveal nothing; so is a missing key. `about` identifies the request in the log.
 */
export function toServiceError(error: unknown, log: Logger, about: { requestId: string }): ServiceError {
  if (error instanceof MissingKeyError) log.error({ ...about, err: error }, 'a key is missing')
  if (error instanceof ServiceError) return error
  if (error instanceof GraphQLError) {
    const cause = causeOf(error)
    if (!(cause instanceof GraphQLError)) return toServiceError(cause, log, about)
    // GraphQL has refused the document if nothing ran; a variable at its use, if the error has a
    // place in the document.
    if (error.path === undefined) return requestRefusal(cause, '/query')
    if (cause.nodes !== undefined) return requestRefusal(cause, '/variables')
  }
  if (troubleOf(error) !== null) {
    log.warn({ ...about, err: error }, 'the database failed')
    return new ServiceError('unavailable', { retryAfterSeconds: 1, cause: error })
  }
  log.error({ ...about, err: error }, 'internal error')
  return new ServiceError('internal', { cause: error })
}

/** The original error inside; the error itself if GraphQL created it. */
function causeOf(error: GraphQLError): unknown {
  const { originalError } = error
  if (originalError == null) return error
  return originalError instanceof GraphQLError ? causeOf(originalError) : originalError
}

/**
 * The media type of a GraphQL response whose HTTP status may tell of an error (GraphQL over HTTP,
 * section 6.4).
 */
export const GRAPHQL_RESPONSE = 'application/graphql-response+json; charset=utf-8'

/** Unlike REST, GraphQL also takes client tokens. */
const NEEDS_CREDENTIALS =
  'This request needs an API key in X-API-Key, or an admin token or a client token in Authorization.'

/** A refusal as an entry of a GraphQL response's `errors`, without a place. */
export function responseErrorOf(refusal: ServiceError, requestId: string) {
  const { code, status, errors } = problemOf(refusal, requestId)
  const retryAfterSeconds = retryAfterOf(refusal)
  const more = {
    ...(errors === undefined ? {} : { errors }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...refusal.extras.more,
  }
  const isBare = code === 'missing_credentials' && refusal.extras.detail === undefined
  return { message: isBare ? NEEDS_CREDENTIALS : sentenceOf(refusal), extensions: { code, status, requestId, ...more } }
}

/** Errors that are in their public form already. */
const masked = new WeakSet<GraphQLError>()

/**
 * The error as GraphQL clients get it: `code`, `status`, `errors` and `retryAfterSeconds` in
 * `extensions`.
 */
export function toGraphQLError(error: unknown, { app, requestId }: Ctx): GraphQLError {
  if (error instanceof GraphQLError && masked.has(error)) return error
  const refusal = toServiceError(error, app.log, { requestId })
  countRefusal(app, 'graphql', refusal.code)
  const { message, extensions } = responseErrorOf(refusal, requestId)
  const { path } = error instanceof GraphQLError ? error : {}
  // Locations only for errors of the document. Errors during execution have a path, whether
  // compiled or not.
  const located = error instanceof GraphQLError && path === undefined ? error : undefined
  const answer = new GraphQLError(message, {
    nodes: located?.nodes ?? null,
    source: located?.source ?? null,
    positions: located?.positions ?? null,
    path: path ?? null,
    extensions,
  })
  masked.add(answer)
  return answer
}

/** A result whose errors are in the service's form, which reveals nothing else. */
export function maskResult<R extends Pick<ExecutionResult, 'errors'>>(result: R, ctx: Ctx): R {
  if (result.errors === undefined) return result
  return { ...result, errors: result.errors.map((error) => toGraphQLError(error, ctx)) }
}
