import type { ExecutionResult } from 'graphql'

import type { Payload } from '../../live/batch.ts'
import type { Backlog } from '../../live/source-queue.ts'
import type { SourceStream } from '../../live/source-stream.ts'
import type { Subscription } from './subscription.ts'

/**
 * The answers of a subscription on a shared connection, in the form that graphql-sse takes. If the
 * source fails, the last payload is the error: a throw would end the process.
 */
export function resultsOf(
  source: SourceStream<Payload>,
  subscription: Subscription,
  backlog: Backlog,
): AsyncIterableIterator<ExecutionResult> {
  const frames = source.iterate(backlog)
  const finish = (): Promise<IteratorReturnResult<undefined>> => {
    source.leave()
    return Promise.resolve({ done: true, value: undefined })
  }
  return {
    async next() {
      try {
        const { done, value: frame } = await frames.next()
        if (done === true) return { done, value: undefined }
        return { done: false, value: (await subscription.answerTo(frame)).result }
      } catch (error) {
        return { done: false, value: subscription.failed(error) }
      }
    },
    return: finish,
    throw: finish,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
