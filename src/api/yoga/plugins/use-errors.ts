import type { ExecutionResult } from 'graphql'

import type { Ctx } from '../../../core/context.ts'
import { toGraphQLError } from '../../execution/errors.ts'
import { isOwn } from '../own.ts'
import type { ServerPlugin } from '../plugin.ts'

/**
 * Answers clients with errors of the service's form, which reveal nothing else. In the place of
 * Yoga's masking, which knows no codes. The errors of the service's own operations stay as they
 * are: REST makes problems of them.
 */
export const useErrors = (): ServerPlugin => ({
  onParse:
    ({ context: { ctx } }) =>
    ({ result, replaceParseResult }) => {
      if (result instanceof Error) replaceParseResult(toGraphQLError(result, ctx))
    },
  onValidate:
    ({ context: { ctx } }) =>
    // `valid` is what it was before the rules for operations.
    ({ result, setResult }) =>
      setResult(result.map((error) => toGraphQLError(error, ctx))),
  onExecute: ({ args }) =>
    isOwn(args.document)
      ? undefined
      : {
          onExecuteDone: ({ result, setResult }) => setResult(maskResult(result as ExecutionResult, args.contextValue)),
        },
})

/** A result whose errors are in the service's form. */
export function maskResult<R extends Pick<ExecutionResult, 'errors'>>(result: R, ctx: Ctx): R {
  if (result.errors === undefined) return result
  return { ...result, errors: result.errors.map((error) => toGraphQLError(error, ctx)) }
}
