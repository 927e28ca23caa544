import type { IncomingMessage, ServerResponse } from 'node:http'

import type { FastifyInstance } from 'fastify'

/**
 * Asks a client that waits (`Expect: 100-continue`) for its body only when that is read. Node would
 * ask at once, and the client would send what its head has already had refused.
 */
export function askForBodies(server: FastifyInstance): void {
  const waiting = new WeakSet<object>()
  server.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request)
    // An answer without the body: the client may send it or not, so that nothing can follow.
    if (request.httpVersionMajor === 1) response.setHeader('connection', 'close')
    server.server.emit('request', request, response)
  })
  server.addHook('preParsing', ({ raw, headers, routeOptions }, reply, payload, done) => {
    const isTooLarge = Number(headers['content-length'] ?? 0) > routeOptions.bodyLimit
    if (!isTooLarge && waiting.delete(raw)) {
      if (raw.httpVersionMajor === 1) reply.raw.removeHeader('connection')
      reply.raw.writeContinue()
    }
    done(null, payload)
  })
}
