import type { ExecutionResult } from 'graphql'

/**
 * What a subscription says to one event. It is encoded once, however many subscribers there are.
 */
export class Answer {
  readonly result: ExecutionResult
  #text: string | undefined

  constructor(result: ExecutionResult) {
    this.result = result
  }

  /** As a server-sent event of graphql-sse's distinct-connections mode. */
  get text(): string {
    return (this.#text ??= `event: next\ndata: ${JSON.stringify(this.result)}\n\n`)
  }
}
