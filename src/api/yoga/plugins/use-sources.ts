import { isAsyncIterable } from '@graphql-tools/utils'
import { createSourceEventStream, type ExecutionArgs } from 'graphql'

import { SourceStream } from '../../../live/source-stream.ts'
import type { ServerPlugin } from '../plugin.ts'

type Subscribe = (operation: ExecutionArgs) => unknown

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
 * Subscribes, and returns the source of the subscription. Without a source it returns what
 * `subscribe` has answered: a result with errors, such as the refusal of a plugin. If a plugin has
 * wrapped the source, what it made ends together with the source.
 */
export async function sourceOf(operation: ExecutionArgs, subscribe: Subscribe): Promise<unknown> {
  const begun = (): SourceStream | undefined => sources.get(operation.contextValue as object)
  try {
    const result = await subscribe(operation)
    const source = begun()
    if (source === undefined || result === source) return result
    if (!isAsyncIterable(result)) {
      source.leave()
      return result
    }
    const wrapped = result[Symbol.asyncIterator]()
    source.onLeave(() => void wrapped.return?.().catch(() => undefined))
    return source
  } catch (error) {
    begun()?.leave()
    throw error
  }
}
