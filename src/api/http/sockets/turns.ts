import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

import type { FastifyInstance } from 'fastify'

/** The most requests of a connection that wait for the answers before theirs: 4 KB each. */
const MAX_WAITING = 16

/**
 * Runs the requests of an HTTP/1.1 connection one after another. Node would run all that arrive
 * together, and hold their answers until the first one is over, which may be a stream of minutes.
 * RFC 9112, 9.3.2 allows that for safe methods alone. A connection with more of them is closed.
 */
export function takeTurns(server: FastifyInstance): void {
  const waiting = new WeakMap<Socket, number>()
  // Before the router, whose own refusals run no hooks.
  server.server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (response.socket !== null) return
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    if (count > MAX_WAITING) socket.destroy()
    response.once('socket', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
  })
  server.addHook('onRequest', (_request, { raw }, done) => {
    if (raw.socket !== null) return done()
    // Not within the event, after which Node sends what has been written. If the connection closes
    // first, the request never runs.
    raw.once('socket', () => process.nextTick(done))
  })
}
