import { setImmediate as immediate } from 'node:timers/promises'

import type { Payload } from '../../live/streams/batch.ts'
import { Backlog } from '../../live/source-queue.ts'
import type { SourceStream } from '../../live/source-stream.ts'

/**
 * Ends a shared connection without `complete` for its operations, so that its client tries again.
 * graphql-sse passes it on to the connection, after everything that was sent before.
 */
export class BrokenOff extends Error {}

/** How long the end of a connection waits for operations that have not been answered. */
const SETTLE_MS = 2000

/** An operation that has not begun. */
interface Turn {
  operationId: string
  isGone: (() => boolean) | undefined
}

/**
 * State that the operations of one connection share: together they hold at most what one connection
 * may.
 */
export class SharedConnection {
  readonly gate = new Gate()
  readonly backlog = new Backlog()
  readonly #sources = new Set<SourceStream<Payload>>()
  readonly #turns = new Set<Turn>()
  #isOver = false
  #underWay = 0
  #settling: (() => void)[] = []

  /** Runs an operation, whose result is then sent before a `BrokenOff`. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    this.#underWay++
    try {
      return await operation()
    } finally {
      if (--this.#underWay === 0) this.#settling.splice(0).forEach((wake) => wake())
      this.gate.wake()
    }
  }

  /**
   * The same for an operation with a result: it begins once the client has taken earlier ones. A
   * result may have 2 MB. Null if it has been given up before.
   */
  async runInTurn<T>(turn: Turn, operation: () => Promise<T>): Promise<T | null> {
    const isGivenUp = (): boolean => !this.#turns.has(turn) || turn.isGone?.() === true
    const isFull = (): boolean => this.#underWay + this.gate.held >= MAX_WAITING
    this.#turns.add(turn)
    // Those whose clients have left would hold their requests.
    this.gate.wake()
    while (!this.#isOver && !isGivenUp() && isFull()) await this.gate.changed()
    const begins = !isGivenUp()
    this.#turns.delete(turn)
    return begins ? this.run(operation) : null
  }

  /** The client has ended an operation, which may not have begun. */
  giveUp(operationId: string): void {
    for (const turn of this.#turns) if (turn.operationId === operationId) this.#turns.delete(turn)
    this.gate.wake()
  }

  /**
   * Resolves once the results of operations under way are known: a client that misses the result of
   * a mutation runs it again.
   */
  async settled(): Promise<void> {
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#settling.push(resolve)
        setTimeout(resolve, SETTLE_MS).unref()
      })
    }
    await immediate()
  }

  add(source: SourceStream<Payload>): void {
    // The connection may have closed meanwhile, and then the library would never end the source.
    if (this.#isOver) return source.leave()
    this.#sources.add(source)
    source.onLeave(() => this.#sources.delete(source))
  }

  /** The connection has closed. */
  close(): void {
    this.#isOver = true
    for (const source of this.#sources) source.leave()
    this.gate.close()
  }
}

/** The most results that wait for the client. The library would hold any number. */
const MAX_WAITING = 16

/** Holds results back until the client has taken the earlier ones. */
export class Gate {
  #waiting = 0
  /** Those that wait for room behind them. */
  #behind = 0
  #isOpen = true
  #wake: (() => void)[] = []

  /** The results that the client has not taken. */
  get held(): number {
    return this.#waiting + this.#behind
  }

  async enter(): Promise<void> {
    this.#behind++
    while (this.#waiting >= MAX_WAITING && this.#isOpen) await this.changed()
    this.#behind--
    this.#waiting++
  }

  leave(): void {
    this.#waiting--
    this.wake()
  }

  /** The connection has closed: waiting results continue, and end. */
  close(): void {
    this.#isOpen = false
    this.wake()
  }

  /** Resolves when there may be room. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve))
  }

  wake(): void {
    this.#wake.splice(0).forEach((wake) => wake())
  }
}
