import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip, type ZlibOptions } from 'node:zlib'

import type { FastifyInstance } from 'fastify'

import { baseUrl } from '../../../core/address.ts'
import type { App } from '../../../core/app.ts'
import { ServiceError } from '../../../core/errors.ts'
import { ROOT } from '../../../core/process/root.ts'
import { offersSignOn } from '../../../domains/staff/sign-on/offered.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'

/** The built console. */
const FOLDER = join(ROOT, 'dist/console')
const BASE = '/console/'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

// Loads nothing from other sites, sends nothing to them, no inline script, no framing. Styles of
// components carry the answer's nonce.
const policy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/**
 * `GET /console/`: the admin console, one page for all of its paths, and its files, which browsers
 * cache for good.
 */
export function registerConsole(server: FastifyInstance, app: App): void {
  let files: Promise<ReadonlyMap<string, Asset>> | undefined
  let page: string | undefined
  // People who open the service's address in a browser want the console.
  server.get('/', (_request, reply) => reply.redirect(basePath(app), 302))
  server.get('/console', (_request, reply) => reply.redirect(basePath(app), 308))
  server.get<{ Params: { '*': string } }>(`${BASE}*`, async (request, reply) => {
    const path = request.params['*']
    const file = (await (files ??= readFiles())).get(path)
    if (file !== undefined) return sendAsset(request, reply, file)
    // The file belongs to an older build.
    if (path.startsWith('assets/')) throw new ServiceError('not_found')
    page ??= readFileSync(join(FOLDER, 'index.html'), 'utf8')
    const signOn = (await offersSignOn(app)) ? 'offered' : 'none'
    const nonce = randomBytes(16).toString('base64url')
    return reply
      .headers({ ...HEADERS, 'cache-control': 'no-store', 'content-security-policy': policy(nonce) })
      .type('text/html; charset=utf-8')
      .send(
        page
          .replaceAll('{nonce}', nonce)
          .replace('{sign-on}', signOn)
          .replace(`<base href="${BASE}"`, `<base href="${basePath(app)}"`),
      )
  })
}

/** The path of the console for browsers: a proxy may add a prefix. */
const basePath = (app: App): string => new URL(baseUrl(app)).pathname.replace(/\/$/, '') + BASE

async function readFiles(): Promise<Map<string, Asset>> {
  const names = await readdir(FOLDER, { recursive: true })
  const served = names.filter((name) => extname(name) in TYPES)
  return new Map(await Promise.all(served.map(async (name) => [name, await readAsset(name)] as const)))
}

async function readAsset(name: string): Promise<Asset> {
  // The name contains a hash of the content, so the file never changes.
  const isNamedByContent = name.startsWith('assets/')
  return assetOf(TYPES[extname(name)] ?? '', await compress(await readFile(join(FOLDER, name)), { level: 9 }), {
    ...HEADERS,
    'content-encoding': 'gzip',
    ...(isNamedByContent ? { 'cache-control': 'public, max-age=31536000, immutable' } : {}),
  })
}

const compress = promisify<Buffer, ZlibOptions, Buffer>(gzip)
