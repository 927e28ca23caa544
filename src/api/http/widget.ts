import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { FastifyInstance } from 'fastify'

import { ROOT } from '../../core/root.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'
import { takesGzip } from './encoding.ts'

/** Built by Vite from `src/clients/widget`. */
const FOLDER = join(ROOT, 'dist/widget')
const FILES = ['widget.js', 'widget.ar.js', 'widget.warnings.js']

const HEADERS = {
  // Pages of every site load it as a module, which is asked for with CORS; there is nothing of
  // anybody in it.
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  // A mended one is everywhere within minutes; nobody waits for the look whether there is one.
  'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
  'x-content-type-options': 'nosniff',
  vary: 'Accept-Encoding',
}

/**
 * `GET /widget.js`, its languages and its warnings beside it. It is no credential's, and no address
 * is counted: many share one.
 */
export function registerWidget(server: FastifyInstance): void {
  for (const file of FILES) {
    let made: { plain: Asset; gzipped: Asset } | undefined
    server.get(`/${file}`, async (request, reply) => {
      made ??= readScript(join(FOLDER, file))
      return sendAsset(request, reply, takesGzip(request.headers['accept-encoding']) ? made.gzipped : made.plain)
    })
  }
}

/** With shorter blocks than zlib's own: those of code and of texts have little in common. */
function readScript(path: string): { plain: Asset; gzipped: Asset } {
  const bytes = readFileSync(path)
  const type = 'text/javascript; charset=utf-8'
  return {
    plain: assetOf(type, bytes, HEADERS),
    gzipped: assetOf(type, gzipSync(bytes, { level: 9, memLevel: 6 }), { ...HEADERS, 'content-encoding': 'gzip' }),
  }
}
