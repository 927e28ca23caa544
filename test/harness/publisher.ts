import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

import {
  createBackend,
  nodeHandler,
  type RenderedThread,
  type SignedInReader,
} from '../../src/clients/backend/backend.ts'
import { open, shut } from './backends.ts'
import { articlePage, ARTICLES, indexPage, SCRIPT, STYLE } from './publisher-pages.ts'

/**
 * A newspaper's site with its own backend: articles, readers who sign in by a cookie, and a strict
 * policy.
 */
export interface Publisher {
  url: string
  close(): Promise<void>
}

export interface PublisherOptions {
  /** Where the browser finds the service. */
  serviceUrl: string
  /** Where the backend does; the same by default. */
  backendUrl?: string
  apiKey: string
  tenant: string
  identitySecret: string
}

/** The site's own user table. */
export const READERS: Readonly<Record<string, SignedInReader>> = {
  ann: { id: 'ann', name: 'Ann Okafor' },
  bob: { id: 'bob', name: 'Bob Lindqvist' },
}

/** What a publisher who means it sets: nothing inline without a nonce, nothing of a third party. */
const policyFor = (serviceUrl: string, nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${serviceUrl}`,
    `connect-src 'self' ${serviceUrl}`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' https:",
    "base-uri 'none'",
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    'trusted-types lit-html engagement',
  ].join('; ')

const readerNameOf = ({ headers }: IncomingMessage): string | undefined =>
  Object.keys(READERS).find((name) => headers.cookie?.includes(`reader=${name}`))

export async function startPublisher(options: PublisherOptions): Promise<Publisher> {
  const { serviceUrl, backendUrl = serviceUrl, apiKey, tenant, identitySecret } = options
  const backend = createBackend({
    url: backendUrl,
    apiKey,
    tenant,
    identitySecret,
    reader: (request: IncomingMessage) => READERS[readerNameOf(request) ?? ''] ?? null,
    isPage: (slug, { headers }) => {
      const article = ARTICLES[slug]
      if (article === undefined) return !slug.startsWith('missing')
      return { title: article.title, url: `http://${headers.host}/articles/${slug}` }
    },
    onError: () => undefined,
  })
  const render: Render = (slug, query, request, nonce) =>
    backend.renderThread({
      externalId: slug,
      // As a page would be drawn that is cached for all readers.
      request: query.get('render') === 'cached' ? undefined : request,
      page: { title: ARTICLES[slug]?.title, url: `http://${request.headers.host}/articles/${slug}` },
      cursor: query.get('comments'),
      hrefOf: (cursor) => `?render=1&page-size=${query.get('page-size')}&comments=${encodeURIComponent(cursor)}`,
      pageSize: Number(query.get('page-size') ?? 20),
      lang: query.get('lang') ?? undefined,
      attributes: query.has('theme') ? { theme: query.get('theme') ?? '' } : {},
      nonce,
    })
  const serve = nodeHandler(backend)
  const server = createServer((request, response) => {
    serve(request, response, () => void answer(serviceUrl, request, response, render))
  })
  return { url: await open(server), close: () => shut(server) }
}

type Render = (slug: string, query: URLSearchParams, request: IncomingMessage, nonce: string) => Promise<RenderedThread>

async function answer(
  serviceUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
  render: Render,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site')
  const nonce = randomUUID()
  const send = (type: string, text: string): void => {
    response.setHeader('content-type', `${type}; charset=utf-8`)
    response.setHeader('content-security-policy', policyFor(serviceUrl, nonce))
    response.end(text)
  }
  const visit = { serviceUrl, reader: readerNameOf(request), path: request.url ?? '/', query: searchParams }
  // The policy forbids `data:`.
  if (pathname === '/icon.svg') return send('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>')
  if (pathname === '/style.css') return send('text/css', STYLE)
  if (pathname === '/site.js') return send('text/javascript', SCRIPT)
  if (pathname === '/') return send('text/html', indexPage(visit))
  if (pathname === '/sign-in') return signIn(searchParams, response)
  const article = /^\/articles\/([\w-]+)$/.exec(pathname)?.[1]
  if (article !== undefined) {
    const rendered = searchParams.has('render') ? await render(article, searchParams, request, nonce) : undefined
    return send('text/html', articlePage(article, visit, rendered))
  }
  response.writeHead(404).end()
}

/** Signs in as whom the address names: a site for showing has no passwords. */
function signIn(query: URLSearchParams, response: ServerResponse): void {
  const name = query.get('as') ?? ''
  const back = query.get('return') ?? '/'
  response.setHeader('set-cookie', `reader=${name in READERS ? name : ''}; Path=/; HttpOnly; SameSite=Lax`)
  response.writeHead(303, { location: /^\/(?![/\\])/.test(back) ? back : '/' }).end()
}
