import type { ExecutionResult } from 'graphql'

import type { Payload } from '../../live/streams/batch.ts'
import type { SourceStream } from '../../live/source-stream.ts'
import { BrokenOff, type SharedConnection } from './shared-connection.ts'
import type { Subscription } from './subscription.ts'

/**
 * The answers of a subscription on a shared connection, in the form that graphql-sse takes. Rejects
 * with `BrokenOff` where the service ends it: trying again would mend it.
 */
export function resultsOf(
  source: SourceStream<Payload>,
  subscription: Subscription,
  shared: SharedConnection,
): AsyncIterableIterator<ExecutionResult> {
  const frames = source.iterate(shared.backlog)
  /** Answers to events that waited together: those of a replay are read together. */
  let answers = new Map<Payload, ReturnType<Subscription['answersTo']>[number]>()
  const finish = (): Promise<IteratorReturnResult<undefined>> => {
    source.leave()
    return Promise.resolve({ done: true, value: undefined })
  }
  const breakOff = async (): Promise<never> => {
    await shared.settled()
    throw new BrokenOff()
  }
  return {
    async next() {
      // Rejects if the client does not take its events in time.
      const { done, value: frame } = await frames.next().catch(breakOff)
      if (done === true) return source.isEnded ? breakOff() : { done, value: undefined }
      if (!answers.has(frame)) {
        const together = [frame, ...frames.waiting]
        const answered = subscription.answersTo(together)
        answers = new Map(answered.map((answer, index) => [together[index] ?? frame, answer]))
      }
      const answer = await answers.get(frame)
      if (answer === undefined) return breakOff()
      return answer.breaksOff ? breakOff() : { done: false, value: answer.result }
    },
    return: finish,
    throw: finish,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
