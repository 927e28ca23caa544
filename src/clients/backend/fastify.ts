import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'

import { mustClose, toPageRequest, urlOf } from './node.ts'
import { type Backend, requireBackend } from './requests.ts'

// The few parts of Fastify that are used here, so that it is no dependency of this module.
interface FastifyRequest {
  raw: IncomingMessage
  originalUrl: string
  body: unknown
}
interface FastifyReply {
  raw: ServerResponse
  getHeader: (name: string) => number | string | string[] | undefined
  header: (name: string, value: string) => unknown
  code: (status: number) => { send: (payload: Buffer) => unknown }
}
interface Fastify<Incoming> {
  removeAllContentTypeParsers: () => unknown
  addContentTypeParser: (
    type: string,
    parse: (request: Incoming, payload: IncomingMessage, done: (error: null, body: Readable) => void) => void,
  ) => unknown
  all: (path: string, handler: (request: Incoming, reply: FastifyReply) => Promise<unknown>) => unknown
}

/** The plugin for Fastify. Register it without a prefix: it uses the base path. */
export function fastifyPlugin<Incoming extends FastifyRequest>(
  backend: Backend<Incoming>,
): (instance: Fastify<Incoming>) => Promise<void> {
  requireBackend('fastifyPlugin', backend)
  return async (instance) => {
    // Only within this plugin: the body's bytes are passed on unchanged.
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    instance.all(`${backend.basePath}/*`, async (request, reply) => {
      const { raw, originalUrl, body } = request
      const pageRequest = toPageRequest(raw, urlOf(raw, originalUrl), isReadable(body) ? unread(body) : null, reply.raw)
      const answer = await backend.answer(pageRequest, request)
      for (const [name, value] of answer.headers) {
        // All other headers are set only here.
        const given = name === 'vary' ? [reply.getHeader(name) ?? []].flat() : []
        reply.header(name, [...given, value].join(', '))
      }
      if (mustClose(raw)) reply.header('connection', 'close')
      return reply.code(answer.status).send(Buffer.from(await answer.arrayBuffer()))
    })
  }
}

const isReadable = (body: unknown): body is Readable => typeof body === 'object' && body !== null && 'iterator' in body

const unread = (body: Readable): AsyncIterable<Uint8Array> =>
  body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
