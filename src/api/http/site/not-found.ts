import type { FastifyRequest } from 'fastify'

import { preferredType } from '../pages/encoding.ts'
import { headersFor } from './guides.ts'

const HTML = 'text/html'
/** Addresses that programs ask: their answer is a problem document, whatever the caller accepts. */
const OF_PROGRAMS = /^\/(api|graphql|engagement)([/?]|$)/

/** Whether a person opens an address in a browser that is none of the API's. */
export const isOpenedByPerson = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  !OF_PROGRAMS.test(url) &&
  preferredType(headers.accept, ['application/problem+json', 'application/json', HTML]) === HTML

const STYLE =
  ':root { color-scheme: light dark } body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem; font: 16px/1.6 system-ui, sans-serif }'

export const NOT_FOUND_HEADERS = { ...headersFor(STYLE), 'content-type': `${HTML}; charset=utf-8` }

// Without links: a proxy may serve the service below a prefix.
export const NOT_FOUND_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Page not found</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
<h1>Page not found</h1>
<p>There is no page at this address. The documentation is at <code>/docs</code>, the console at <code>/console</code>.</p>
</html>
`
