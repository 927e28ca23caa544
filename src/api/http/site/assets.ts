import { createHash } from 'node:crypto'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * Bytes that do not change while the process runs, and their hash. Most are made in memory, which
 * @fastify/static cannot serve. Its ETag is a file's size and date, which would differ between two
 * machines of one release.
 */
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

/** Serves an asset for GET and HEAD of `url`, or 304 to a client that has it. */
export function serveAsset(server: FastifyInstance, url: string, make: () => Asset): void {
  let made: Asset | undefined
  server.get(url, async (request, reply) => sendAsset(request, reply, (made ??= make())))
}

export function sendAsset(request: FastifyRequest, reply: FastifyReply, { type, bytes, etag, headers = {} }: Asset) {
  const known = (request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim())
  void reply.headers({ etag, 'cache-control': 'no-cache', ...headers })
  if (known.some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag)) return reply.code(304).send()
  return reply.type(type).send(bytes)
}
