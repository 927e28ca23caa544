import { isUtf8 } from 'node:buffer'

import type { FastifyInstance } from 'fastify'

import { ServiceError } from '../core/errors.ts'

/** JSON bodies only. The raw bytes are kept, because an identity assertion may vouch for them (`bodySha256`). */
export function registerBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    request.rawBody = body
    if (body.length === 0) return done(null, undefined)
    try {
      if (!isUtf8(body)) throw new SyntaxError('not UTF-8')
      done(null, JSON.parse(body.toString('utf8')) as unknown)
    } catch (cause) {
      done(new ServiceError('malformed_json', { cause }), undefined)
    }
  })
}
