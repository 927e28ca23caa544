import type { ExecutionResult } from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { toGraphQLError } from './errors.ts'

/** A result whose errors are in the service's form, and reveal nothing else. */
export function maskResult<R extends Pick<ExecutionResult, 'errors'>>(result: R, ctx: Ctx): R {
  if (result.errors === undefined) return result
  return { ...result, errors: result.errors.map((error) => toGraphQLError(error, ctx)) }
}

/**
 * The HTTP status of an answer: 200 if it has data, else that of its errors, the greatest of
 * several. A null field is no data.
 */
export function statusOf({ data, errors }: ExecutionResult): number {
  if (errors === undefined || errors.length === 0) return 200
  if (Object.values(data ?? {}).some((value) => value !== null)) return 200
  return Math.max(...errors.map(({ extensions }) => Number(extensions.status)))
}
