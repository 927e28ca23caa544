import { createSourceEventStream, type ExecutionArgs } from 'graphql'

import { SourceStream } from '../../../live/source-stream.ts'
import type { ServerPlugin } from '../plugin.ts'

/** By the context of their operation. Other plugins may have wrapped what they return. */
const sources = new WeakMap<object, SourceStream>()

/**
 * A subscription returns its source, of which `src/api/graphql-sse` executes each event once for
 * all subscribers that are alike. graphql-js would execute it for each of them.
 */
export const useSources = (): ServerPlugin => ({
  onSubscribe: ({ setSubscribeFn }) =>
    setSubscribeFn(async (args: ExecutionArgs) => {
      const source: unknown = await createSourceEventStream(args)
      if (source instanceof SourceStream) sources.set(args.contextValue as object, source)
      return source
    }),
})

/**
 * The source of a subscription; `result` where there is none. What a plugin has made of the source
 * ends with it.
 */
export function sourceOf({ contextValue }: ExecutionArgs, result: unknown): unknown {
  const source = sources.get(contextValue as object)
  if (source === undefined || result === source) return result
  source.onLeave(() => void (result as Partial<AsyncIterator<unknown>>).return?.().catch(() => undefined))
  return source
}
