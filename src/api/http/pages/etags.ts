import { hash } from 'node:crypto'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { identityHeader } from '../../../core/context.ts'
import { JSON_TYPE } from '../body.ts'

/** 22 characters that stand for a text. */
export const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22)

/**
 * A weak tag covers the plain and the compressed form of an answer alike (RFC 9110, section 8.8.1).
 */
export const weakTag = (text: string): string => `W/"${digest(text)}"`

/**
 * The tags of If-None-Match, in the weak form for comparison (RFC 9110, section 13.1.2). `*`
 * matches any.
 */
export function tagsOf({ headers }: FastifyRequest): string[] {
  const given = headers['if-none-match']?.trim() ?? ''
  return given === '*' ? [given] : given.split(',').map((tag) => tag.trim().replace(/^(?!W\/)/, 'W/'))
}

/** The headers of a page that its client may keep, and must ask for again. */
export const pageHeaders = ({ ctx }: FastifyRequest, etag: string) => ({
  etag,
  'cache-control': 'private, no-cache',
  vary: `X-API-Key, Authorization, ${identityHeader(ctx.app)}`,
})

/** Sends a page that is made for this request, or 304 to a client that has it. */
export function sendTagged(
  request: FastifyRequest,
  reply: FastifyReply,
  { text, type = JSON_TYPE, vary }: { text: string; type?: string; vary?: string },
): FastifyReply {
  const etag = weakTag(text)
  const headers = pageHeaders(request, etag)
  void reply.headers({ ...headers, vary: vary === undefined ? headers.vary : `${headers.vary}, ${vary}` })
  const known = tagsOf(request)
  if (known.includes(etag) || known.includes('*')) return reply.code(304).send()
  // Bytes: Fastify would write the type in its own way.
  return reply.header('content-type', type).send(Buffer.from(text))
}
