import { isUtf8 } from 'node:buffer'

import type { FastifyInstance, FastifyRequest } from 'fastify'

import { invalid, ServiceError } from '../core/errors.ts'

/** JSON bodies only. The raw bytes are kept, because an identity assertion may vouch for them (`bodySha256`). */
export function registerBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    request.rawBody = body
    if (!isPlainUtf8(request)) return done(new ServiceError('unsupported_media_type'), undefined)
    if (body.length === 0) return done(null, undefined)
    try {
      if (!isUtf8(body)) throw new SyntaxError('not UTF-8')
      done(null, JSON.parse(body.toString('utf8')) as unknown)
    } catch (cause) {
      done(new ServiceError('malformed_json', { cause }), undefined)
    }
  })
  server.addHook('preValidation', (request, _reply, done) => {
    // No handler would see it, and what is not understood is refused, never ignored.
    if (!hasUnreadBody(request)) return done()
    done(invalid('', 'unknown_field', 'must be absent: this request takes no body'))
  })
}

/** JSON is UTF-8 (RFC 8259, section 8.1), and no body is taken compressed: its true size would show too late. */
function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1] ?? 'utf-8'
  return /^utf-?8$/i.test(charset) && encoding.toLowerCase() === 'identity'
}

/** A body of a method that has none: Fastify leaves it unread. */
function hasUnreadBody({ method, headers }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
