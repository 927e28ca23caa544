import { createHash } from 'node:crypto'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { baseUrl } from '../../core/address.ts'
import type { App } from '../../core/context.ts'
import { schema } from '../graphql/schema.ts'
import { asyncApiDocument } from '../reference/asyncapi.ts'
import { openApiDocument } from '../reference/openapi.ts'
import { API_BASE } from '../../schema/route.ts'

/** Bytes that stay as they are while the process runs, and the name of that state. */
export interface Asset {
  type: string
  bytes: Buffer
  etag: string
  headers?: Record<string, string>
}

export const assetOf = (type: string, bytes: Buffer, headers: Record<string, string> = {}): Asset => ({
  type,
  bytes,
  etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
  headers,
})

/** Answers GET and HEAD of `url` with an asset, 304 to a client that has it. */
export function serveAsset(server: FastifyInstance, url: string, make: () => Asset): void {
  let made: Asset | undefined
  server.get(url, async (request, reply) => sendAsset(request, reply, (made ??= make())))
}

export function sendAsset(request: FastifyRequest, reply: FastifyReply, { type, bytes, etag, headers = {} }: Asset) {
  const known = (request.headers['if-none-match'] ?? '').split(/\s*,\s*/)
  void reply.headers({ etag, 'cache-control': 'no-cache', ...headers })
  if (known.some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag)) return reply.code(304).send()
  return reply.type(type).send(bytes)
}

/**
 * `GET /openapi.json` and `GET /asyncapi.json`. Made at the first request, so that a start need not
 * wait for them.
 */
export function registerDocuments(server: FastifyInstance, app: App): void {
  const { settings } = app
  const json = (document: object): Asset =>
    assetOf('application/json; charset=utf-8', Buffer.from(JSON.stringify(document)))
  serveAsset(server, `${API_BASE}/openapi.json`, () => json(openApiDocument(schema, settings, baseUrl(app))))
  serveAsset(server, `${API_BASE}/asyncapi.json`, () => json(asyncApiDocument(schema, settings, baseUrl(app))))
}
