import type { FastifyRequest } from 'fastify'

import { preferredType } from '../pages/encoding.ts'
import { headersFor } from './guides.ts'

const HTML = 'text/html'
/** Addresses that programs ask: their answer is a problem document, whatever the caller accepts. */
const OF_PROGRAMS = /^\/(api|graphql|engagement)([/?]|$)/

/** Whether the 404 of an address is a page for browsers and a problem document for others. */
export const isPageForBrowsers = ({ method, url }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && !OF_PROGRAMS.test(url)

/** Whether a person opens an address in a browser that is none of the API's. */
export const isOpenedByPerson = (request: FastifyRequest): boolean =>
  isPageForBrowsers(request) &&
  preferredType(request.headers.accept, ['application/problem+json', 'application/json', HTML]) === HTML

/**
 * The address of a page without its last slash, if it has one too many; else null. It is relative,
 * so that a proxy's prefix stays.
 */
export function withoutSlash({ method, url }: FastifyRequest): string | null {
  if (method !== 'GET' && method !== 'HEAD') return null
  const [, name, query = ''] = /^\/(?:docs\/(?:[\w-]+\/)*)?([\w-]+)\/(\?.*)?$/.exec(url) ?? []
  if (name === undefined || !/^\/(graphql|docs)\//.test(url)) return null
  return `../${name}${query}`
}

const STYLE =
  ':root { color-scheme: light dark } body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem; font: 16px/1.6 system-ui, sans-serif }'

export const NOT_FOUND_HEADERS = { ...headersFor(STYLE), 'content-type': `${HTML}; charset=utf-8` }

/** Deeper addresses are no mistyped ones. It bounds the page. */
const MAX_DEPTH = 20

/** The page of an address. Its links are relative, so that a proxy's prefix stays. */
export function notFoundPage({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1)
  const up = '../'.repeat(Math.min(path.split('/').length - 2, MAX_DEPTH)) || './'
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Page not found</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
<h1>Page not found</h1>
<p>There is no page at this address. These are here:</p>
<ul>
<li><a href="${up}docs/guides/">Guides</a>
<li><a href="${up}docs">API reference</a>
<li><a href="${up}console/">Console</a>
</ul>
</html>
`
}
