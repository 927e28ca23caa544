import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { quietTurn } from '../core/process/event-loop.ts'
import type { Listening } from './protocol.ts'

/** A process that takes connections: one at a time, each of which it confirms. */
export interface ConnectionTaker {
  take(socket: Socket): void
}

interface ListenerOptions {
  /** How many connections may wait for a free process. */
  maxWaiting: number
  /** How long a connection may wait. */
  patienceMs: number
}

/** How long the last connections may wait for a process. */
const LAST_MS = 1000

/**
 * The one listener of several processes. The next connection goes to the process that has been free
 * for longest, where free means that no connection is under way to it; without a free process
 * connections wait. So a process that hangs delays only the one connection that is under way to it.
 * Node's cluster module resets connections under way when the last process closes.
 */
export class Listener {
  readonly #options: ListenerOptions
  readonly #takers = new Set<ConnectionTaker>()
  /** Free processes, the longest free first. */
  #free: ConnectionTaker[] = []
  readonly #underWay = new Map<ConnectionTaker, Socket>()
  readonly #waiting = new Set<Socket>()
  #server: Server | undefined
  #listening: Promise<Listening> | undefined
  #closing: Promise<void> | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Starts listening, once. */
  listen(host: string, port: number): Promise<Listening> {
    return (this.#listening ??= this.#open(host, port))
  }

  async #open(host: string, port: number): Promise<Listening> {
    // The kernel keeps the options; HTTP closes half-open connections.
    const options = { pauseOnConnect: true, allowHalfOpen: true, noDelay: true }
    const server = createServer(options, (socket) => this.#accept(socket))
    this.#server = server
    try {
      server.listen(port, host)
      await once(server, 'listening')
      // A connection that cannot be accepted must not affect the others.
      server.on('error', () => undefined)
      return { port: (server.address() as AddressInfo).port }
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      return { code, message }
    }
  }

  /** Gives connections to a taker from now on. */
  join(taker: ConnectionTaker): void {
    this.#takers.add(taker)
    this.#free.push(taker)
    this.#give()
  }

  /** The connection that was under way has arrived. */
  confirm(taker: ConnectionTaker): void {
    // The connection stays open until the taker closes it too.
    this.#underWay.get(taker)?.destroy()
    this.#underWay.delete(taker)
    if (!this.#takers.has(taker)) return
    this.#free.push(taker)
    this.#give()
  }

  /** Gives a taker no more connections. */
  leave(taker: ConnectionTaker): void {
    this.#takers.delete(taker)
    this.#free = this.#free.filter((each) => each !== taker)
  }

  /** The process has ended, and with it the connection that was under way to it. */
  forget(taker: ConnectionTaker): void {
    this.leave(taker)
    this.confirm(taker)
  }

  /** Closes the listener. Resolves once every accepted connection has been given away. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await quietTurn()
    this.#server?.close()
    for (const until = performance.now() + LAST_MS; this.#waiting.size > 0 && performance.now() < until;) {
      await sleep(1)
    }
    for (const socket of this.#waiting) socket.destroy()
  }

  #accept(socket: Socket): void {
    if (this.#waiting.size >= this.#options.maxWaiting) return void socket.destroy()
    // Otherwise Node would follow the connection in its new process, message by message.
    Object.assign(socket, { server: undefined })
    socket.on('error', () => undefined)
    socket.on('close', () => this.#waiting.delete(socket))
    socket.setTimeout(this.#options.patienceMs, () => socket.destroy())
    this.#waiting.add(socket)
    this.#give()
  }

  #give(): void {
    for (const socket of this.#waiting) {
      const taker = this.#free.shift()
      if (taker === undefined) return
      this.#waiting.delete(socket)
      socket.setTimeout(0)
      this.#underWay.set(taker, socket)
      taker.take(socket)
    }
  }
}
