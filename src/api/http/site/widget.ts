import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { FastifyInstance } from 'fastify'

import { ROOT } from '../../../core/process/root.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'
import { takesGzip } from '../pages/encoding.ts'

/** The files that Vite builds from `src/clients/widget`. */
const FOLDER = join(ROOT, 'dist/widget')
const FILES = [
  'widget.js',
  'widget.stream.js',
  'widget.ar.js',
  'widget.first-by-parts.js',
  'widget.reveal.js',
  'widget.take-over.js',
  'widget.writing.js',
  'widget.inbox.js',
  'widget.names.js',
  'widget.warnings.js',
  'lists.js',
  'lists.ar.js',
  'lists.warnings.js',
]

const HEADERS = {
  // Pages of every site load it as a module, with CORS. It contains nothing private.
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  // A fixed release reaches everyone within minutes, and no one waits for the check.
  'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
  'x-content-type-options': 'nosniff',
  vary: 'Accept-Encoding',
}

/**
 * `GET /widget.js` and `GET /lists.js`, with their further files. It needs no credentials, and
 * does not count at the address, which many readers may share.
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

/** Compressed in shorter blocks than zlib's default: code and texts have little in common. */
function readScript(path: string): { plain: Asset; gzipped: Asset } {
  const bytes = readFileSync(path)
  const type = 'text/javascript; charset=utf-8'
  return {
    plain: assetOf(type, bytes, HEADERS),
    gzipped: assetOf(type, gzipSync(bytes, { level: 9, memLevel: 6 }), { ...HEADERS, 'content-encoding': 'gzip' }),
  }
}
