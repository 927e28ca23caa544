import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'

import { mustClose, toPageRequest, urlOf } from './node.ts'
import type { Backend } from './requests.ts'

// The little of Fastify that is used here: it is no dependency of this module.
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

/** The plugin for Fastify, to be registered without a prefix: the base path is its place. */
export function fastifyPlugin<Incoming extends FastifyRequest>(
  backend: Backend<Incoming>,
): (instance: Fastify<Incoming>) => Promise<void> {
  return async (instance) => {
    // Of this plugin alone: the bytes are handed on as they came.
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    instance.all(`${backend.basePath}/*`, async (request, reply) => {
      const { raw, originalUrl, body } = request
      const pageRequest = toPageRequest(raw, urlOf(raw, originalUrl), isReadable(body) ? unread(body) : null, reply.raw)
      const answer = await backend.answer(pageRequest, request)
      for (const [name, value] of answer.headers) {
        // The others are ours alone to say.
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
