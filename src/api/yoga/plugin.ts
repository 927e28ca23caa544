import type { Plugin } from 'graphql-yoga'

import type { Ctx } from '../../core/context.ts'
import type { Params } from '../execution/params.ts'

/** What the server knows of an operation before it is parsed. */
export interface Asked {
  ctx: Ctx
  /** What the client has sent. Absent where the service runs an operation of its own. */
  params?: Pick<Params, 'operationName' | 'variables'>
}

/**
 * A plugin of the server. Its hooks of parsing and validating have what was asked, those of
 * executing and subscribing the context of the operation. To refuse, it sets or throws a
 * GraphQLError whose `originalError` is a ServiceError: any other is `validation_failed` before
 * something ran, and `internal` after.
 */
export type ServerPlugin = Plugin<Ctx & Asked>
