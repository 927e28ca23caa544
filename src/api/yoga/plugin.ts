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
 * GraphQLError whose `originalError` is a ServiceError, which has the code that clients get. A
 * GraphQLError without one gets `validation_failed`, and at a field `internal`.
 */
export type ServerPlugin = Plugin<Ctx & Asked>
