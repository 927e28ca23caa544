import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'

import { ROOT } from '../core/root.ts'
import { readMigrations } from './migration-files.ts'

// A template is a migrated database that the build has made, in one file: its digest, then
// compressed a line of JSON, which lists what is in its folder, and the bytes of the files in that
// order.
interface Entry {
  name: string
  /** Null for a folder. */
  bytes: number | null
}

/**
 * Where the template of this release is. The name says which migrations it has, and which PGlite
 * made it, so that no other one is taken for it.
 */
export function templateFile(): string {
  const engine = join(dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite')), '../package.json')
  const { version } = JSON.parse(readFileSync(engine, 'utf8')) as { version: string }
  const made = JSON.stringify([version, readMigrations()])
  return join(ROOT, 'dist/database', `${createHash('sha256').update(made).digest('hex').slice(0, 16)}.br`)
}

/** Packs the folder of a database that is closed. */
export function packTemplate(folder: string): Buffer {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name !== 'postmaster.pid')
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  const contents = found.map(({ path, isFile }) => (isFile ? readFileSync(path) : null))
  const entries = found.map(({ path }, index): Entry => ({
    name: path.slice(folder.length + 1),
    bytes: contents[index]?.length ?? null,
  }))
  const files = contents.filter((content) => content !== null)
  const packed = Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...files])
  // PostgreSQL's three databases are almost the same: a window that spans them packs 41 MB into
  // 1.7.
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_MAX_WINDOW_BITS } = constants
  const compressed = brotliCompressSync(packed, {
    params: { [BROTLI_PARAM_QUALITY]: 9, [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS },
  })
  return Buffer.concat([digestOf(compressed), compressed])
}

const DIGEST = { algorithm: 'sha256', bytes: 32 }
const digestOf = (bytes: Buffer): Buffer => createHash(DIGEST.algorithm).update(bytes).digest()

/** The packed template; null where the file is missing or damaged. */
export function readTemplate(file = templateFile()): Buffer | null {
  if (!existsSync(file)) return null
  const content = readFileSync(file)
  const compressed = content.subarray(DIGEST.bytes)
  return digestOf(compressed).equals(content.subarray(0, DIGEST.bytes)) ? compressed : null
}

/** Unpacks the template of this release into an empty folder. False where there is no whole one. */
export function unpackTemplate(folder: string, file = templateFile()): boolean {
  const compressed = readTemplate(file)
  if (compressed === null) return false
  const packed = brotliDecompressSync(compressed)
  let at = packed.indexOf('\n') + 1
  for (const { name, bytes } of JSON.parse(packed.toString('utf8', 0, at)) as Entry[]) {
    if (bytes === null) mkdirSync(join(folder, name), { mode: 0o700 })
    else writeFileSync(join(folder, name), packed.subarray(at, (at += bytes)), { mode: 0o600 })
  }
  return true
}
