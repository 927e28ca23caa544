import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { FastifyInstance } from 'fastify'

import { baseUrl } from '../../../core/address.ts'
import type { App } from '../../../core/context.ts'
import { API_BASE } from '../../../graphql/route.ts'
import { schema } from '../../execution/schema.ts'
import { asyncApiDocument } from '../../reference/asyncapi.ts'
import { openApiDocument } from '../../reference/openapi.ts'
import { type Asset, assetOf, serveAsset } from './assets.ts'

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

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Engagement Service: API reference</title>
    <link rel="icon" href="data:,">
    <link rel="alternate" type="application/json" href="api/v1/openapi.json" title="OpenAPI 3.1">
    <link rel="alternate" type="application/json" href="api/v1/asyncapi.json" title="AsyncAPI 3">
  </head>
  <body>
    <noscript><a href="api/v1/openapi.json">OpenAPI 3.1</a> <a href="api/v1/asyncapi.json">AsyncAPI 3</a></noscript>
    <div id="reference"></div>
    <script src="docs/scalar.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`

// All options that would contact other sites are off.
const START = `Scalar.createApiReference('#reference', {
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
`

/**
 * The API reference: `GET /docs` is a page that the browser renders from `/api/v1/openapi.json` and
 * `/api/v1/asyncapi.json`, with files served from here. Each document is made at its first request,
 * so that a start does not wait for it.
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
  serveAsset(server, '/docs', () => assetOf('text/html; charset=utf-8', Buffer.from(PAGE), HEADERS))
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
