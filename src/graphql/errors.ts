import { GraphQLError } from 'graphql'
import type { Logger } from 'pino'

import { problemOf, retryAfterOf, ServiceError } from '../core/errors.ts'

// What a database, a pool or a socket says when it cannot serve now. Class 08 is "connection exception"; 40001 and 40P01
// are a lost race and a deadlock, after which nothing was written.
const UNAVAILABLE =
  /^(40001|40P01|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|57P0[1-3]|53300|08\w{3}|P1001|P1002|P1017|P2024)$/
// The last two: a request that is still under way when the process has let go of its clients, at the end of a stop.
const UNAVAILABLE_WORDS =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|PGlite is closed/

/** Any thrown value as the error that the caller may see. What is not a ServiceError is logged, and shows nothing. */
export function toServiceError(error: unknown, log: Logger): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof GraphQLError) {
    // Without an original error it is the request itself that is wrong: syntax, unknown fields, wrong types.
    if (error.originalError == null) return requestError(error)
    return toServiceError(error.originalError, log)
  }
  if (isUnavailable(error)) {
    log.warn({ err: error }, 'a dependency is unavailable')
    return new ServiceError('unavailable', { retryAfterSeconds: 1, cause: error })
  }
  log.error({ err: error }, 'internal error')
  return new ServiceError('internal', { cause: error })
}

const requestError = (error: GraphQLError): ServiceError =>
  new ServiceError('validation_failed', {
    detail: error.message,
    errors: [
      { pointer: error.path === undefined ? '' : `/${error.path.join('/')}`, code: 'invalid', message: error.message },
    ],
  })

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && UNAVAILABLE.test(code)) return true
  return UNAVAILABLE_WORDS.test(error.message) || isUnavailable(error.cause)
}

/** The same error as GraphQL clients see it: `code`, `status`, `errors` and `retryAfterSeconds` in `extensions`. */
export function toGraphQLError(error: unknown, log: Logger, requestId: string): GraphQLError {
  const refusal = toServiceError(error, log)
  const { detail, code, status, errors } = problemOf(refusal, requestId)
  const retryAfterSeconds = retryAfterOf(refusal)
  const { path } = error instanceof GraphQLError ? error : {}
  // Where in the document: for a document that is wrong. What fails while it runs has its path, compiled or not.
  const located = error instanceof GraphQLError && path === undefined ? error : undefined
  return new GraphQLError(detail, {
    nodes: located?.nodes ?? null,
    source: located?.source ?? null,
    positions: located?.positions ?? null,
    path: path ?? null,
    extensions: {
      code,
      status,
      requestId,
      ...(errors === undefined ? {} : { errors }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  })
}
