import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { ServiceError } from '../../../core/errors.ts'
import { ROOT } from '../../../core/process/root.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'
import { takesGzip } from '../pages/encoding.ts'

/** The files that Vite builds from `src/clients/widget`. */
const FOLDER = join(ROOT, 'dist/widget')
/** What pages name. Each loads further files, `widget.<part>.<digest of the build>.js`. */
const NAMES = ['widget', 'lists']
const FURTHER = /^(\w+\.([\w-]+)\.)(?:[\da-f]{8}\.)?js$/
/**
 * What any build can use: texts without code, and what pages of sites send each request with. That
 * imports nothing, and no comment is shown without it.
 */
const SHARED = new Set(['ar', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt', 'site'])

const HEADERS = {
  // Pages of every site load it as a module, with CORS. It contains nothing private.
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  // A release reaches everyone within minutes. For an hour after them nobody waits for the check:
  // their next page may still run the earlier release, which misses its further files.
  'cache-control': 'public, max-age=300, stale-while-revalidate=3600',
  'x-content-type-options': 'nosniff',
  vary: 'Accept-Encoding',
}
/** Of a further file: another build has another digest. */
const KEPT = { ...HEADERS, 'cache-control': 'public, max-age=31536000, immutable' }

interface Script {
  plain: Asset
  gzipped: Asset
}

/**
 * `GET /widget.js` and `GET /lists.js`, with their further files. It needs no credentials, and
 * does not count at the address, which many readers may share.
 */
export function registerWidget(server: FastifyInstance): void {
  const scripts = new Map<string, Script>()
  const send = (request: FastifyRequest, reply: FastifyReply, file: string): FastifyReply => {
    const script = scripts.get(file) ?? readScript(join(FOLDER, file))
    scripts.set(file, script)
    return sendAsset(request, reply, takesGzip(request.headers['accept-encoding']) ? script.gzipped : script.plain)
  }
  let built: string[] | undefined
  for (const name of NAMES) {
    server.get(`/${name}.js`, async (request, reply) => send(request, reply, `${name}.js`))
    server.get<{ Params: { rest: string } }>(`/${name}.:rest`, async (request, reply) => {
      built ??= readdirSync(FOLDER)
      const asked = `${name}.${request.params.rest}`
      if (built.includes(asked)) return send(request, reply, asked)
      // A page may have the first file of an earlier build from its browser's cache, or of a later
      // one while processes are replaced. Code of two builds does not fit together: it gets none.
      const [, start = '', part = ''] = FURTHER.exec(asked) ?? []
      const other = SHARED.has(part) && built.find((one) => one.startsWith(start))
      if (!other) throw new ServiceError('not_found')
      // Relative, because a proxy may serve it below a path.
      return reply.headers({ ...HEADERS, 'cache-control': 'private, no-store' }).redirect(other, 307)
    })
  }
}

/** Compressed in shorter blocks than zlib's default: code and texts have little in common. */
function readScript(path: string): Script {
  const bytes = readFileSync(path)
  const headers = NAMES.includes(basename(path, '.js')) ? HEADERS : KEPT
  const type = 'text/javascript; charset=utf-8'
  return {
    plain: assetOf(type, bytes, headers),
    gzipped: assetOf(type, gzipSync(bytes, { level: 9, memLevel: 6 }), { ...headers, 'content-encoding': 'gzip' }),
  }
}
