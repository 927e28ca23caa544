import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { FastifyInstance } from 'fastify'

import { assetOf, serveAsset } from './documents.ts'

// The page loads nothing from elsewhere, sends nothing elsewhere, and cannot be framed. Styles are
// made by the script.
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

// Whatever would ask or tell another site is off.
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
 * `GET /docs`: the API reference as a page, made in the browser from `openapi.json` by files of our
 * own.
 */
export function registerReference(server: FastifyInstance): void {
  const script = 'text/javascript; charset=utf-8'
  serveAsset(server, '/docs', () => assetOf('text/html; charset=utf-8', Buffer.from(PAGE), HEADERS))
  serveAsset(server, '/docs/start.js', () => assetOf(script, Buffer.from(START), HEADERS))
  // 3 MB, which every browser can take compressed.
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
