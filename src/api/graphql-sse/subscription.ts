import type { ExecutionArgs, ExecutionResult } from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import type { Batch, Payload } from '../../live/streams/batch.ts'
import { type Chunk, chunkOf } from '../../live/streams/chunk.ts'
import type { Frame } from '../../live/streams/frames.ts'
import { subjectOf } from '../../live/streams/stream-event.ts'
import { costOf } from '../execution/cost.ts'
import { toGraphQLError } from '../execution/errors.ts'
import type { SharedOperation } from '../yoga/operations.ts'
import { Payers } from './payers.ts'

/** Deadline for resolving one event; after it, subscribers get an error. */
const ANSWER_MS = 10_000
/** Caches answers briefly, so that a reconnect storm executes each event once. */
const SHARED_MS = 250

/** Answers are sent in pieces of about this size: an event is small, but its answer may be long. */
const PIECE_LENGTH = 64 * 1024

/** How often answers that nobody could pay for are tried again. */
const PAY_AGAIN_MS = 250

type MaybePromise<T> = T | Promise<T>
/** Makes an answer that has waited until it was paid for; null if all subscribers have left. */
type MakeAnswer = (contextValue: Ctx | null) => void
/** Answers in the order of their events, up to the first that is not to be sent. */
export interface Pieces {
  readonly chunks: readonly Chunk[]
  /** Whether the subscriber is cut off after them, to resume before the failed event. */
  readonly breaksOff: boolean
}

/**
 * One operation, shared by all subscribers with the same variables and rights: each event is
 * executed and encoded once for all of them.
 */
export class Subscription {
  /**
   * The context of the latest subscriber, with the newest settings of the tenant. All subscribers
   * get the same answers.
   */
  ctx: Ctx
  readonly #operation: Pick<ExecutionArgs, 'schema' | 'document' | 'operationName' | 'variableValues'>
  readonly #executeOn: SharedOperation['execute']
  readonly #answers = new Map<Payload, MaybePromise<EncodedResult>>()
  /** The events of `#answers` by what they are about. */
  readonly #answered = new Map<Id | null, Frame[]>()
  /** The position of the newest event that has been answered. */
  #newest = -1
  readonly #pieces = new WeakMap<Batch<Payload>, MaybePromise<Pieces>>()

  /** Who pays for its answers. */
  readonly payers: Payers
  /** Answers that wait until they are paid for. */
  readonly #unpaid = new Set<MakeAnswer>()
  #paysLater = false

  constructor({ execute, schema, document, operationName, variableValues }: SharedOperation, ctx: Ctx) {
    // Not the context of its first subscriber.
    this.#operation = { schema, document, operationName, variableValues }
    this.#executeOn = execute
    this.ctx = ctx
    this.payers = new Payers(costOf(schema, document, { operationName, variables: variableValues ?? {} }).requested)
  }

  /**
   * The answers to a batch, in pieces that are each sent at once; a promise if an answer takes
   * time. Never rejects.
   */
  piecesFor(batch: Batch<Payload>): MaybePromise<Pieces> {
    const known = this.#pieces.get(batch)
    if (known !== undefined) return known
    const pieces = this.#encode(batch.frames)
    this.#pieces.set(batch, pieces)
    return pieces
  }

  /**
   * The answer to one event, made with the context, or for null once it is paid for. Never rejects.
   */
  #answerTo(frame: Payload, contextValue: Ctx | null): MaybePromise<EncodedResult> {
    this.#forgetOlder(frame)
    const result = contextValue === null ? this.#executePaid(frame) : this.#execute(frame, contextValue)
    const answer =
      result instanceof Promise ? result.then((settled) => new EncodedResult(settled)) : new EncodedResult(result)
    if (this.#answers.size === 0) setTimeout(() => this.#forgetAll(), SHARED_MS).unref()
    this.#answers.set(frame, answer)
    if (isFrame(frame)) {
      const subject = subjectOf(frame)
      const others = this.#answered.get(subject)
      if (others === undefined) this.#answered.set(subject, [frame])
      else others.push(frame)
    }
    return answer
  }

  /**
   * Forgets the answers that a new event makes old. Answers read what is so now, and a replay after
   * this event must not bring what was so before it.
   */
  #forgetOlder(frame: Payload): void {
    if (!isFrame(frame) || frame.seq <= this.#newest) return
    this.#newest = frame.seq
    const subject = subjectOf(frame)
    for (const other of this.#answered.get(subject) ?? []) this.#answers.delete(other)
    this.#answered.delete(subject)
  }

  #forgetAll(): void {
    this.#answers.clear()
    this.#answered.clear()
  }

  /**
   * The answers to several events, made with one context: so its loaders read once for all of them
   * what each shows. That is read after the last of them has come, and so too old for none.
   */
  answersTo(frames: readonly Payload[]): MaybePromise<EncodedResult>[] {
    const missing = frames.filter((frame) => !this.#answers.has(frame)).length
    // Those that wait already come first.
    let paid = this.#unpaid.size > 0 ? 0 : this.payers.take(missing)
    const contextValue = { ...this.ctx }
    return frames.map((frame) => this.#answers.get(frame) ?? this.#answerTo(frame, paid-- > 0 ? contextValue : null))
  }

  /** Executes an event once it is paid for. After the deadline it is neither paid nor executed. */
  #executePaid(frame: Payload): Promise<ExecutionResult> {
    let make: MakeAnswer = () => undefined
    const result = new Promise<ExecutionResult>((resolve) => {
      make = (contextValue) =>
        resolve(
          contextValue === null ? this.failed(new ServiceError('unavailable')) : this.#execute(frame, contextValue),
        )
    })
    this.#unpaid.add(make)
    this.#payLater()
    return this.#inTime(result).finally(() => this.#unpaid.delete(make))
  }

  #payLater(): void {
    if (this.#paysLater) return
    this.#paysLater = true
    setTimeout(() => this.#payAgain(), PAY_AGAIN_MS).unref()
  }

  /** What is paid for now is made together, as things are by now. */
  #payAgain(): void {
    this.#paysLater = false
    // All have left meanwhile.
    const contextValue = this.payers.isEmpty ? null : { ...this.ctx }
    const paid = this.payers.take(this.#unpaid.size)
    for (const make of [...this.#unpaid].slice(0, paid)) {
      this.#unpaid.delete(make)
      make(contextValue)
    }
    if (this.#unpaid.size > 0) this.#payLater()
  }

  #encode(frames: readonly Payload[]): MaybePromise<Pieces> {
    const answers = this.answersTo(frames)
    const ready = answers.filter((answer) => answer instanceof EncodedResult)
    return ready.length === answers.length
      ? inPieces(ready)
      : Promise.all(answers.map(async (answer) => answer)).then(inPieces)
  }

  #execute(frame: Payload, contextValue: Ctx): MaybePromise<ExecutionResult> {
    try {
      const result = this.#executeOn({ ...this.#operation, rootValue: frame, contextValue })
      return result instanceof Promise ? this.#inTime(result.catch(this.failed)) : result
    } catch (error) {
      return this.failed(error)
    }
  }

  async #inTime(result: Promise<ExecutionResult>): Promise<ExecutionResult> {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<ExecutionResult>((resolve) => {
      timer = setTimeout(() => resolve(this.failed(late())), ANSWER_MS).unref()
    })
    return Promise.race([result, tooLate]).finally(() => clearTimeout(timer))
  }

  /** The answer when the execution failed. */
  readonly failed = (error: unknown): ExecutionResult => {
    return { data: null, errors: [toGraphQLError(error, this.ctx)] }
  }
}

/** A single longer answer is a piece by itself. */
function inPieces(answers: readonly EncodedResult[]): Pieces {
  const pieces: string[][] = []
  let length = Infinity
  const failed = answers.findIndex(({ breaksOff }) => breaksOff)
  for (const { text } of failed < 0 ? answers : answers.slice(0, failed)) {
    if (length + text.length > PIECE_LENGTH) {
      pieces.push([])
      length = 0
    }
    pieces.at(-1)?.push(text)
    length += text.length
  }
  return { chunks: pieces.map(chunkOf), breaksOff: failed >= 0 }
}

/** Whether it is an event of a discussion. */
const isFrame = (payload: Payload): payload is Frame => 'seq' in payload

const late = (): ServiceError =>
  new ServiceError('unavailable', { detail: 'The event could not be answered in time; resume before it.' })

/** The answer to one event. It is encoded once for all subscribers. */
export class EncodedResult {
  readonly result: ExecutionResult
  #text: string | undefined

  constructor(result: ExecutionResult) {
    this.result = result
  }

  /**
   * Whether the service cannot answer now, and can later. Such an answer is not sent: its client
   * would go on with the next event, and never get this one.
   */
  get breaksOff(): boolean {
    return this.result.errors?.some(({ extensions }) => extensions.code === 'unavailable') === true
  }

  /** As a server-sent event in distinct-connections mode. */
  get text(): string {
    return (this.#text ??= `event: next\ndata: ${JSON.stringify(this.result)}\n\n`)
  }
}
