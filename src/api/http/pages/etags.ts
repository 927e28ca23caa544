import { hash } from 'node:crypto'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { identityHeader, siteHeader } from '../../../core/access.ts'
import { JSON_TYPE } from '../body.ts'

/** What an answer with a tag depends on, of a request. */
export type PageRequest = Pick<FastifyRequest, 'ctx' | 'headers'>

/** An answer that may have a tag. Without bytes it is 304. */
export interface PageAnswer {
  headers: Readonly<Record<string, string>>
  bytes: Buffer | null
}

/** Bytes: Fastify would write the type of a text in its own way. */
export const sendPage = (reply: FastifyReply, { headers, bytes }: PageAnswer): FastifyReply =>
  bytes === null ? reply.code(304).headers(headers).send() : reply.headers(headers).send(bytes)

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
export function tagsOf({ headers }: PageRequest): string[] {
  const given = headers['if-none-match']?.trim() ?? ''
  return given === '*' ? [given] : given.split(',').map((tag) => tag.trim().replace(/^(?!W\/)/, 'W/'))
}

/**
 * The headers of a page that its client may keep, and must ask for again. Those of a site that all
 * may get are for shared caches.
 */
export function pageHeaders({ ctx }: PageRequest, etag: string) {
  const { actor, tenant } = ctx.caller ?? {}
  if (actor?.kind === 'site' && actor.graphql?.isShared === true)
    return { etag, 'cache-control': sharedControl(tenant?.settings.sites.cacheSeconds ?? 0), vary: 'Origin' }
  const vary = `X-API-Key, Authorization, ${identityHeader(ctx.app)}, ${siteHeader(ctx.app)}`
  return { etag, 'cache-control': 'private, no-cache', vary }
}

/** What caches may keep so long for everybody. */
export const sharedControl = (seconds: number): string =>
  `public, max-age=0, s-maxage=${seconds}${seconds === 0 ? '' : ', stale-while-revalidate=30'}`

interface TaggedPage {
  text: string
  /** The media type. */
  type?: string
  /** Further headers of the request that the answer depends on. */
  vary?: string
}

/** A page that is made for this request, or 304 for a client that has it. */
export function tagged(request: PageRequest, { text, type = JSON_TYPE, vary }: TaggedPage): PageAnswer {
  const etag = weakTag(text)
  const all = pageHeaders(request, etag)
  const headers = { ...all, vary: vary === undefined ? all.vary : `${all.vary}, ${vary}` }
  const known = tagsOf(request)
  if (known.includes(etag) || known.includes('*')) return { headers, bytes: null }
  return { headers: { ...headers, 'content-type': type }, bytes: Buffer.from(text) }
}

/** Sends it. */
export const sendTagged = (request: PageRequest, reply: FastifyReply, page: TaggedPage): FastifyReply =>
  sendPage(reply, tagged(request, page))
