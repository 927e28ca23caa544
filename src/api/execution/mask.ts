import type { ExecutionResult } from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { toGraphQLError } from './errors.ts'

/** A result whose errors are in the service's form, and reveal nothing else. */
export function maskResult<R extends Pick<ExecutionResult, 'errors'>>(result: R, ctx: Ctx): R {
  if (result.errors === undefined) return result
  return { ...result, errors: result.errors.map((error) => toGraphQLError(error, ctx)) }
}
