import type { Plugin } from 'graphql-yoga'

import type { Ctx } from '../../core/context.ts'
import type { Params } from '../execution/params.ts'

/** What the server knows of a client's operation before it is parsed. */
export interface Asked {
  ctx: Ctx
  /** What the client has sent. */
  params: Pick<Params, 'operationName' | 'variables'>
}

/**
 * A plugin of the server. docs/decisions/0034 has which hooks run where. Hooks of parsing and
 * validating get what was asked (`Asked`), those of executing and subscribing the request (`Ctx`);
 * the type has both.
 *
 * - An event of a subscription is executed once, in a copy of the context of one of those who share
 *   it. So a plugin judges callers when they subscribe.
 * - To refuse, it sets a result with a GraphQLError, or throws one. Its `originalError` is a
 *   ServiceError, which has the code and the words that clients get. A GraphQLError without one
 *   gets `validation_failed`, and at a field `internal`. What is thrown gets its form where HTTP
 *   answers.
 * - The `valid` of a hook after validation is about the rules for documents alone. An operation may
 *   be refused although it is true: add to `result`, and never replace it.
 */
export type ServerPlugin = Plugin<Ctx & Asked>
