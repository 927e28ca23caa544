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

/**
 * State that the operations of one connection share: together they hold at most what one connection
 * may.
 */
export class SharedConnection {
  readonly gate = new Gate()
  readonly backlog = new Backlog()
  readonly #sources = new Set<SourceStream<Payload>>()
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
    }
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
  #isOpen = true
  #wake: (() => void)[] = []

  async enter(): Promise<void> {
    while (this.#waiting >= MAX_WAITING && this.#isOpen) await new Promise<void>((resolve) => this.#wake.push(resolve))
    this.#waiting++
  }

  leave(): void {
    this.#waiting--
    this.#wake.splice(0).forEach((wake) => wake())
  }

  /** The connection has closed: waiting results continue, and end. */
  close(): void {
    this.#isOpen = false
    this.#wake.splice(0).forEach((wake) => wake())
  }
}
