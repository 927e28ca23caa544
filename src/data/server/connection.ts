import { Socket } from 'node:net'

import pg from 'pg'

import { guardData } from './guard.ts'
import { sessionFor } from './session.ts'

/** Deadlines of work on the database, in milliseconds. */
export interface Deadlines {
  /** For a new connection. */
  connectMs: number
  /** For a free connection of the pool. */
  poolMs: number
  /** For the answer to a statement. */
  statementMs: number
}

export const DEADLINES: Deadlines = { connectMs: 3000, poolMs: 5000, statementMs: 10_000 }

/** How long the server may take to close an ended connection. */
const END_MS = 1000

export interface ConnectionConfig extends pg.ClientConfig {
  /** What its session begins with. Default: what any server and pooler takes. */
  session?: Readonly<Record<string, string>>
}

/** The part of the driver that makes the first message, which its types lack. */
interface Startup {
  getStartupConf(): Record<string, string>
}

/**
 * A connection that knows how long it has been waiting: a vanished server closes nothing, and TCP
 * notices only after a quarter of an hour.
 */
export class Connection extends pg.Client {
  readonly #socket: Socket
  #waitingSince: number | undefined

  constructor({ session = sessionFor(true), ...config }: ConnectionConfig = {}) {
    const socket = new Socket()
    super({ ...config, stream: () => socket })
    const startup = this as unknown as Startup
    const { getStartupConf } = startup
    startup.getStartupConf = () => ({ ...getStartupConf.call(this), ...session })
    this.#socket = socket
    guardData(socket)
    // Callers that wait for an answer learn of the connection's end. An error without a listener
    // would end the process.
    this.on('error', () => undefined)
    const { connection } = this as unknown as { connection: NodeJS.EventEmitter }
    let hasBegun = false
    // An error before the session begins is fatal, but the word for that is in the server's
    // language.
    connection.on('errorMessage', (error: { severity?: string }) => {
      if (!hasBegun) error.severity = 'FATAL'
    })
    // The next statement may begin before `drain`, which a busy connection never emits.
    connection.on('readyForQuery', () => {
      hasBegun = true
      if (this.#waitingSince !== undefined) this.#waitingSince = performance.now()
    })
    this.on('drain', () => void (this.#waitingSince = undefined))
    const { prototype } = pg.Client
    this.query = ((...args: unknown[]) => {
      this.#waitingSince ??= performance.now()
      return Reflect.apply(prototype.query, this, args)
    }) as typeof prototype.query
    this.end = ((...args: unknown[]) => {
      const late = setTimeout(() => this.cut(), END_MS).unref()
      this.once('end', () => clearTimeout(late))
      return Reflect.apply(prototype.end, this, args)
    }) as typeof prototype.end
  }

  /** Milliseconds that the current statement has waited for an answer. */
  waitedMs(now = performance.now()): number {
    return this.#waitingSince === undefined ? 0 : now - this.#waitingSince
  }

  /**
   * Ends the connection at once, and fails everything that waits on it. Unsent data is dropped: TCP
   * would send it later, and the statement would run long after its caller was refused.
   */
  cut(): void {
    const isPipe = this.host.startsWith('/')
    if (this.#socket.connecting || isPipe) this.#socket.destroy()
    else this.#socket.resetAndDestroy()
  }
}
