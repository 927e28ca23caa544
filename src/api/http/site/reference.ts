import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { FastifyInstance } from 'fastify'

import { baseUrl } from '../../../core/address.ts'
import type { App } from '../../../core/app.ts'
import { API_BASE } from '../../../graphql/route.ts'
import { schema } from '../../execution/schema.ts'
import { asyncApiDocument } from '../../reference/asyncapi.ts'
import { openApiDocument } from '../../reference/openapi.ts'
import { type Asset, assetOf, serveAsset } from './assets.ts'
import { navigationFrom, NAVIGATION_STYLE } from './guides.ts'

// The page loads nothing from other sites, sends nothing to them, and cannot be framed. The script
// creates the styles.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const escape = (text: string): string => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`)

interface Listed {
  tags: readonly { name: string; description: string }[]
  paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** All operations in a list, by their tags. An entry opens the reference at its operation. */
function listOf({ tags, paths }: Listed): string {
  const all = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const { tags: [tag = ''] = [], summary = '' } = Object(operation) as { tags?: string[]; summary?: string }
      const address = `#tag/${tag}/${method.toUpperCase()}${path}`
      const name = `<code>${method.toUpperCase()} ${escape(path)}</code>`
      return { tag, html: `<li><a href="${escape(address)}">${name}</a> ${escape(summary)}</li>` }
    }),
  )
  return tags
    .map(({ name, description }) => {
      const entries = all.filter(({ tag }) => tag === name).map(({ html }) => html)
      return `<h2>${escape(name)}</h2><p>${escape(description)}</p><ul>${entries.join('')}</ul>`
    })
    .join('\n')
}

const pageOf = (document: Listed): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Engagement Service: API reference</title>
    <link rel="icon" href="data:,">
    <link rel="alternate" type="application/json" href="api/v1/openapi.json" title="OpenAPI 3.1">
    <link rel="alternate" type="application/json" href="api/v1/asyncapi.json" title="AsyncAPI 3">
    <style>:root { color-scheme: light dark } body > nav, #list { max-width: 60rem; margin: 0 auto; padding: 1rem; font: 16px/1.6 system-ui, sans-serif; overflow-wrap: anywhere } ${NAVIGATION_STYLE}</style>
  </head>
  <body>
    ${navigationFrom('docs/')}
    <main id="list">
      <h1>API reference</h1>
      <p><a href="#description/introduction">Open the whole reference</a>, with requests to try, or read
      <a href="docs/guides/">the guides</a>, <a href="api/v1/openapi.json">OpenAPI 3.1</a> and
      <a href="api/v1/asyncapi.json">AsyncAPI 3</a>.</p>
      ${listOf(document)}
    </main>
    <div id="reference"></div>
    <script src="docs/start.js"></script>
  </body>
</html>
`

/**
 * The reference takes 1 MB and seconds of a slow processor, so that it comes when an operation is
 * opened. All options that would contact other sites are off.
 */
const START = `let isOpen = false
function open() {
  if (isOpen || location.hash === '') return
  isOpen = true
  const script = document.createElement('script')
  script.src = 'docs/scalar.js'
  script.onload = start
  script.onerror = () => (isOpen = false)
  document.body.append(script)
}
function start() {
  document.getElementById('list').remove()
  Scalar.createApiReference('#reference', {
    url: 'api/v1/openapi.json',
    telemetry: false,
    withDefaultFonts: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    documentDownloadType: 'direct',
    persistAuth: false,
    agent: { disabled: true },
    mcp: { disabled: true },
  })
}
addEventListener('hashchange', open)
open()
`

/**
 * The API reference: `GET /docs` lists the operations, and renders `/api/v1/openapi.json` where one
 * of them is opened, with files served from here. Each document is made at its first request, so
 * that a start does not wait for it.
 */
export function registerReference(server: FastifyInstance, app: App): void {
  const { settings } = app
  const json = (document: object): Asset =>
    assetOf('application/json; charset=utf-8', Buffer.from(JSON.stringify(document)))
  serveAsset(server, `${API_BASE}/openapi.json`, () => json(openApiDocument(schema, settings, baseUrl(app))))
  serveAsset(server, `${API_BASE}/asyncapi.json`, () => json(asyncApiDocument(schema, settings, baseUrl(app))))
  // Many tools look for the document at the root. The redirect is relative, so that a proxy's
  // prefix stays.
  for (const name of ['openapi.json', 'asyncapi.json']) {
    server.get(`/${name}`, (_request, reply) => reply.redirect(`.${API_BASE}/${name}`, 308))
  }
  const script = 'text/javascript; charset=utf-8'
  serveAsset(server, '/docs', () =>
    assetOf('text/html; charset=utf-8', Buffer.from(pageOf(openApiDocument(schema, settings, baseUrl(app)))), HEADERS),
  )
  serveAsset(server, '/docs/start.js', () => assetOf(script, Buffer.from(START), HEADERS))
  // 3 MB, which every browser accepts compressed.
  serveAsset(server, '/docs/scalar.js', () =>
    assetOf(script, gzipSync(readFileSync(scalarFile())), { ...HEADERS, 'content-encoding': 'gzip' }),
  )
}

/**
 * The script that Scalar's own Fastify plugin serves; the plugin's page has inline scripts, which
 * the policy forbids.
 */
const scalarFile = (): string => {
  const require = createRequire(import.meta.url)
  return join(dirname(require.resolve('@scalar/fastify-api-reference')), 'js/standalone.js')
}
