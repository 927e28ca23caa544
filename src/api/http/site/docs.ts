import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import type { FastifyInstance } from 'fastify'

import { ServiceError } from '../../../core/errors.ts'
import { ROOT } from '../../../core/process/root.ts'
import { takesGzip } from '../pages/encoding.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'

/** What `src/docs` has written. */
const FOLDER = join(ROOT, 'dist/docs')

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

const policy = (style: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${style}`,
    "img-src 'self' data:",
    // The index of the search.
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

export const HEADERS = {
  'content-security-policy': policy("'self'"),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** A drawing has its style sheet within it. */
const DRAWING_HEADERS = { ...HEADERS, 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" }

/** The name of an asset has a digest of its content. */
const IS_NAMED_BY_CONTENT = /^assets\/.+-[0-9a-f]{8}\.\w+$/

/** The page of a wrong address. Its links begin with `{docs}`, the way to the documentation. */
export function missingPage(): string {
  const file = join(FOLDER, '404.html')
  return existsSync(file) ? readFileSync(file, 'utf8') : '<!doctype html>\n<title>Page not found</title>\n'
}

/** An asset in its plain and in its compressed form. */
interface Page {
  plain: Asset
  gzipped: Asset
}

const compress: (bytes: Buffer) => Promise<Buffer> = promisify(gzip)

async function readPage(name: string): Promise<Page> {
  const bytes = await readFile(join(FOLDER, name))
  const headers = {
    ...(name.endsWith('.svg') ? DRAWING_HEADERS : HEADERS),
    vary: 'Accept-Encoding',
    ...(IS_NAMED_BY_CONTENT.test(name) ? { 'cache-control': 'public, max-age=31536000, immutable' } : {}),
  }
  const type = TYPES[extname(name)] ?? ''
  const plain = assetOf(type, bytes, headers)
  if (name.endsWith('.png')) return { plain, gzipped: plain }
  return { plain, gzipped: assetOf(type, await compress(bytes), { ...headers, 'content-encoding': 'gzip' }) }
}

/**
 * `GET /docs/`, `/docs/guides/`, `/docs/reference/errors` and so on: the documentation as
 * `src/docs` has written it. Each page is also served as Markdown, at the path of its file.
 * `GET /llms.txt` lists these.
 */
export function registerDocs(server: FastifyInstance): void {
  let names: ReadonlyMap<string, string> | undefined
  const pages = new Map<string, Promise<Page>>()

  function pageAt(address: string): Promise<Page> | undefined {
    const name = (names ??= readNames()).get(address)
    if (name === undefined) return undefined
    const known = pages.get(name)
    if (known !== undefined) return known
    const page = readPage(name)
    pages.set(name, page)
    page.catch(() => pages.delete(name))
    return page
  }

  server.get('/docs', (_request, reply) => reply.redirect('docs/', 308))
  server.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
    const address = request.params['*']
    const page = await pageAt(address)
    if (page !== undefined) {
      return sendAsset(request, reply, takesGzip(request.headers['accept-encoding']) ? page.gzipped : page.plain)
    }
    // A folder without its slash. The redirect is relative, so that a proxy's prefix stays.
    if (names?.has(`${address}/`)) return reply.redirect(`${address.split('/').at(-1)}/`, 308)
    throw new ServiceError('not_found')
  })
  let list: Asset | undefined
  server.get('/llms.txt', async (request, reply) => {
    list ??= assetOf('text/plain; charset=utf-8', await readFile(join(FOLDER, 'llms.txt')))
    return sendAsset(request, reply, list)
  })
}

/** The files by their addresses below `/docs/`: a page has no `.html`, and a folder a slash. */
function readNames(): ReadonlyMap<string, string> {
  if (!existsSync(FOLDER)) return new Map()
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => extname(name) in TYPES && name !== '404.html')
  return new Map(names.map((name) => [name.replace(/(^|\/)index\.html$|\.html$/, '$1'), name]))
}
