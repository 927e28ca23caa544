import type { Plugin } from 'graphql-yoga'

import type { Ctx } from '../../core/context.ts'
import type { Params } from '../execution/params.ts'

/** What the server knows of an operation before it is parsed. */
export interface Asked {
  ctx: Ctx
  /** What the client has sent. Absent where the service runs an operation of its own. */
  params?: Pick<Params, 'operationName' | 'variables'>
}

/** A plugin of the server. */
export type ServerPlugin = Plugin<Ctx & Asked>
