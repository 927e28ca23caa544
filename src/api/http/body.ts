import { isUtf8 } from 'node:buffer'

import type { FastifyInstance, FastifyRequest } from 'fastify'

import { invalid, ServiceError } from '../../core/errors.ts'
import { hasNameTwice, MAX_JSON_DEPTH, shapeOfJson } from '../../core/input/json-shape.ts'
import type { RestRequest } from '../rest/handler.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** A request in the form that routes read. */
export const restRequest = ({ params, query, body }: FastifyRequest): RestRequest => ({
  params: params as Record<string, string>,
  query: query as Record<string, string | string[]>,
  body,
})

/**
 * Parses JSON bodies, and no others. The raw bytes are kept, because an identity assertion may
 * contain their hash (`bodySha256`).
 */
export function registerBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    request.rawBody = body
    const parse = (): void => {
      if (isCutOff(request)) return done(new ServiceError('request_timeout'), undefined)
      const detail = faultOf(request)
      if (detail !== null) return done(new ServiceError('unsupported_media_type', { detail }), undefined)
      if (body.length === 0) return done(null, undefined)
      const shape = shapeOfJson(body)
      if (shape.isTooDeep) {
        return done(invalid('', 'too_deep', `must be at most ${MAX_JSON_DEPTH} levels deep`), undefined)
      }
      let parsed: unknown
      try {
        if (!isUtf8(body)) throw new SyntaxError('not UTF-8')
        parsed = JSON.parse(body.toString('utf8'))
      } catch (cause) {
        return done(new ServiceError('malformed_json', { detail: 'The body is not JSON in UTF-8.', cause }), undefined)
      }
      if (hasNameTwice(shape, parsed)) {
        return done(
          new ServiceError('malformed_json', { detail: 'An object of the body has a name twice.' }),
          undefined,
        )
      }
      done(null, parsed)
    }
    // Over HTTP/2, Node ends the body of a reset request as if it were complete, and reports the
    // reset only afterwards.
    if (request.raw.httpVersionMajor > 1) setImmediate(parse)
    else parse()
  })
  server.addHook('preValidation', (request, _reply, done) => {
    // No handler reads this body, but ignoring it would hide a mistake of the caller.
    if (!hasUnreadBody(request)) return done()
    done(invalid('', 'unknown_field', 'must be absent: this request takes no body'))
  })
}

/**
 * What is wrong with the form of a body, or null. JSON is UTF-8 (RFC 8259, section 8.1). Compressed
 * bodies are refused, because their true size would be known too late.
 */
function faultOf({ headers }: FastifyRequest): string | null {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1] ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) return 'Content-Type: the charset must be UTF-8.'
  if (encoding.toLowerCase() !== 'identity') return 'Content-Encoding: the body must not be compressed; leave it out.'
  return null
}

/** Whether the client or a deadline has cut the request off. */
function isCutOff({ raw }: FastifyRequest): boolean {
  const { aborted = false, stream } = raw as { aborted?: boolean; stream?: { closed: boolean } }
  return raw.httpVersionMajor > 1 && (aborted || stream === undefined || stream.closed)
}

/** Whether a request has a body although its method takes none: Fastify would not read it. */
function hasUnreadBody({ method, headers }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
