import { GraphQLError } from 'graphql'
import type { Logger } from 'pino'

import type { Ctx } from '../../core/context.ts'
import { problemOf, retryAfterOf, ServiceError } from '../../core/errors.ts'
import { troubleOf } from '../../core/outage.ts'
import { countRefusal } from '../../core/metrics.ts'
import { requestRefusal } from './rule-texts.ts'

/**
 * Any thrown value as the error that the caller may see. What is not a ServiceError is logged, and
 * shows nothing. `about`: of which request the log is to say it.
 */
export function toServiceError(error: unknown, log: Logger, about: { requestId: string }): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof GraphQLError) {
    const cause = causeOf(error)
    if (!(cause instanceof GraphQLError)) return toServiceError(cause, log, about)
    // GraphQL refuses the request itself where nothing has run, or where it names the place in the
    // document.
    if (error.path === undefined || cause.nodes !== undefined) return requestRefusal(cause)
  }
  if (troubleOf(error) !== null) {
    log.warn({ ...about, err: error }, 'the database failed')
    return new ServiceError('unavailable', { retryAfterSeconds: 1, cause: error })
  }
  log.error({ ...about, err: error }, 'internal error')
  return new ServiceError('internal', { cause: error })
}

/** What an error was made of; itself where GraphQL has made it of nothing. */
function causeOf(error: GraphQLError): unknown {
  const { originalError } = error
  if (originalError == null) return error
  return originalError instanceof GraphQLError ? causeOf(originalError) : originalError
}

/** Errors that have their public form. */
const told = new WeakSet<GraphQLError>()

/**
 * The same error as GraphQL clients see it: `code`, `status`, `errors` and `retryAfterSeconds` in
 * `extensions`.
 */
export function toGraphQLError(error: unknown, { app, requestId }: Ctx): GraphQLError {
  if (error instanceof GraphQLError && told.has(error)) return error
  const refusal = toServiceError(error, app.log, { requestId })
  countRefusal(app, 'graphql', refusal.code)
  const { detail, code, status, errors } = problemOf(refusal, requestId)
  const retryAfterSeconds = retryAfterOf(refusal)
  const { path } = error instanceof GraphQLError ? error : {}
  // Where in the document: for a document that is wrong. What fails while it runs has its path,
  // compiled or not.
  const located = error instanceof GraphQLError && path === undefined ? error : undefined
  const answer = new GraphQLError(detail, {
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
  told.add(answer)
  return answer
}

/** The refusal of an `Accept` that no answer fits. */
export const notAcceptable = (): ServiceError =>
  new ServiceError('validation_failed', { detail: 'The service has no answer of a type that Accept names.' })
