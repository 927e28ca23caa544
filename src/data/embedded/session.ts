import { Duplex } from 'node:stream'

import type { PGlite } from '@electric-sql/pglite'
import pg from 'pg'

import { TYPES } from '../pool.ts'

/**
 * PGlite's one session as a pool of one connection: the embedded form runs the same prepared
 * statements through the same driver as a server. (PGlite's own `query` parses and plans each
 * statement again, which takes two to three times as long.)
 */
export const poolOn = (pglite: PGlite): pg.Pool =>
  new pg.Pool({
    max: 1,
    // Without it, a transaction that asks for a second connection would wait for itself forever.
    connectionTimeoutMillis: 30_000,
    idleTimeoutMillis: 0,
    types: TYPES,
    stream: () => new SessionSocket(pglite),
  })

/** In place of a socket: passes protocol messages to PGlite and back. */
class SessionSocket extends Duplex {
  readonly #pglite: PGlite
  #isStarted = false

  constructor(pglite: PGlite) {
    super()
    this.#pglite = pglite
  }

  override _read(): void {
    // PGlite answers each message at once.
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#send(chunk).then(() => done(), done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk))).then(() => done(), done)
  }

  async #send(messages: Buffer): Promise<void> {
    if (!this.#isStarted) return this.#start()
    // The driver sends it alone, as its last message.
    if (messages.at(0) === TERMINATE) return void this.push(null)
    this.push(await this.#answerTo(messages))
  }

  // An error of PostgreSQL is an ordinary answer. A thrown error is the end of PGlite's program:
  // another call would block the process forever.
  async #answerTo(messages: Buffer): Promise<Uint8Array> {
    const end = ended.get(this.#pglite)
    if (end !== undefined) throw end
    try {
      const answer: Uint8Array[] = []
      // `execProtocolRaw` would parse each answer, too, and hold what it has parsed forever.
      await this.#pglite.execProtocolRawStream(messages, { onRawData: (data) => answer.push(data.slice()) })
      return Buffer.concat(answer)
    } catch (error) {
      ended.set(this.#pglite, new Error('PGlite is closed', { cause: error }))
      throw error
    }
  }

  // There is nothing to authenticate. Removes the state of an earlier connection: its transaction,
  // prepared statements and settings.
  async #start(): Promise<void> {
    this.#isStarted = true
    for (const text of ['ROLLBACK', 'DISCARD ALL']) await this.#answerTo(message('Q', `${text}\0`))
    this.push(Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')]))
  }

  // The driver calls it on its socket.
  connect(): this {
    setImmediate(() => this.emit('connect'))
    return this
  }
  setNoDelay = (): this => this
  setKeepAlive = (): this => this
  ref = (): this => this
  unref = (): this => this
}

/** PGlites whose program has ended, with the error. */
const ended = new WeakMap<PGlite, Error>()

const TERMINATE = 'X'.charCodeAt(0)

/** A message: its type, its length (including these four bytes), its body. */
function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(`${type}....${body}`, 'latin1')
  bytes.writeInt32BE(bytes.length - 1, 1)
  return bytes
}
