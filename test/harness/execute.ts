import { execute, type ExecutionArgs, type ExecutionResult } from 'graphql'

import { maskResult } from '../../src/api/execution/errors.ts'
import type { Ctx } from '../../src/core/context.ts'

/** Executes on any schema with errors of the service's form, as its own server does. */
export function executeMasked(args: ExecutionArgs): Promise<ExecutionResult> | ExecutionResult {
  const mask = (result: ExecutionResult): ExecutionResult => maskResult(result, args.contextValue as Ctx)
  const result = execute(args)
  return result instanceof Promise ? result.then(mask) : mask(result)
}
