import type { FastifyRequest } from 'fastify'

import { preferredType } from '../pages/encoding.ts'
import { pathOf } from '../path.ts'
import { HEADERS, missingPage } from './docs.ts'

const HTML = 'text/html'
/** Addresses that programs ask: their answer is a problem document, whatever the caller accepts. */
const OF_PROGRAMS = /^\/(api|graphql|engagement)([/?]|$)/

/** Whether a 404 at this address depends on `Accept`: HTML for browsers, a problem for others. */
export const isPageForBrowsers = ({ method, url }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && !OF_PROGRAMS.test(url)

/** Whether a browser opens an address outside the API. */
export const isOpenedByPerson = (request: FastifyRequest): boolean =>
  isPageForBrowsers(request) &&
  preferredType(request.headers.accept, ['application/problem+json', 'application/json', HTML]) === HTML

/**
 * Where `/graphql/` and pages of `/docs` with a slash at their end lead: the same address without
 * it. Null for other addresses. It is relative, so that a proxy's prefix stays.
 */
export function withoutSlash({ method, url }: FastifyRequest): string | null {
  const path = pathOf(url)
  const name = path.split('/').at(-2) ?? ''
  const isOne = path === '/graphql/' || (path.startsWith('/docs/') && path.endsWith('/') && /^[\w-]+$/.test(name))
  return isOne && (method === 'GET' || method === 'HEAD') ? `../${name}${url.slice(path.length)}` : null
}

export const NOT_FOUND_HEADERS = { ...HEADERS, 'content-type': `${HTML}; charset=utf-8` }

/** Deeper addresses are no mistyped ones. It bounds the page. */
const MAX_DEPTH = 20

let template: string | undefined

/** The page of an address. Its links are relative, so that a proxy's prefix stays. */
export function notFoundPage({ url }: FastifyRequest): string {
  const up = '../'.repeat(Math.min(pathOf(url).split('/').length - 2, MAX_DEPTH)) || './'
  template ??= missingPage()
  return template.replaceAll('{docs}', `${up}docs/`)
}
