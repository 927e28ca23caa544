import { createYoga } from 'graphql-yoga'

import { type App, perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { schema } from '../execution/schema.ts'
import type { Asked, ServerPlugin } from './plugin.ts'
import { useJit } from './plugins/use-jit.ts'
import { useKeptDocuments } from './plugins/use-kept-documents.ts'
import { useOperationRules } from './plugins/use-operation-rules.ts'
import { useSources } from './plugins/use-sources.ts'
import { useTraces } from './plugins/use-traces.ts'

/**
 * The plugins in their order. A new one is last: it may wrap the functions that `useKeptDocuments`,
 * `useSources` and `useJit` set, and it sees errors as they are, because they get their form for
 * clients after all plugins.
 */
export const PLUGINS: ((app: App) => ServerPlugin)[] = [
  useKeptDocuments,
  useOperationRules,
  useSources,
  useJit,
  useTraces,
]

/**
 * The GraphQL server of a process. Every operation goes through it (`operations.ts`): those of
 * clients, the events of subscriptions, and the operations of REST. A page that is kept needs no
 * operation, and is answered without it. Its HTTP is not used, nor the hooks of HTTP
 * (docs/decisions/0034). The first operation makes it: Yoga loads Node's fetch, 3 % of a start.
 */
export const serverOf = perApp((app) =>
  createYoga<Asked, Ctx>({
    schema,
    context: ({ ctx }) => ctx,
    plugins: PLUGINS.map((plugin) => plugin(app)),
    // Yoga's own masking knows no codes.
    maskedErrors: false,
    batching: false,
    logging: false,
    parserAndValidationCache: false,
  }),
)
