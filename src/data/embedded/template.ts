import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'

import { ROOT } from '../../core/process/root.ts'
import { readMigrations } from '../migrations/files.ts'

// A template is a migrated database that the build has made, as one file: its digest; then,
// compressed, a line of JSON that lists its folder, and the files' bytes in that order.
interface Entry {
  name: string
  /** Null for a folder. */
  bytes: number | null
  /** The whole length of a file that ends in zeros, such as the log. */
  length?: number
}

/** The form of the template's content; part of the file's name. */
const FORM = 'one database, without maps and zeros at ends'

/**
 * The path of this release's template. The name is made of the migrations, PGlite's version and the
 * form, so that no other template is mistaken for it.
 */
export function templateFile(): string {
  const engine = join(dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite')), '../package.json')
  const { version } = JSON.parse(readFileSync(engine, 'utf8')) as { version: string }
  const sources = JSON.stringify([version, readMigrations(), FORM])
  return join(ROOT, 'dist/database', `${createHash('sha256').update(sources).digest('hex').slice(0, 16)}.br`)
}

/**
 * Maps of free space, and of pages whose rows are all visible: every sixth file. PostgreSQL creates
 * a missing one when it needs it.
 */
const IS_MAP = /^\d+_(fsm|vm)$/

/** Packs the folder of a closed database. */
export function packTemplate(folder: string): Buffer {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name !== 'postmaster.pid' && !IS_MAP.test(name))
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  const files: Buffer[] = []
  const entries = found.map(({ path, isFile }): Entry => {
    const name = path.slice(folder.length + 1)
    if (!isFile) return { name, bytes: null }
    const content = readFileSync(path)
    const bytes = content.findLastIndex((byte) => byte !== 0) + 1
    files.push(content.subarray(0, bytes))
    return { name, bytes, ...(bytes < content.length && { length: content.length }) }
  })
  const packed = Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...files])
  const compressed = brotliCompressSync(packed, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
  return Buffer.concat([digestOf(compressed), compressed])
}

/** The exit code of the thread that unpacks (unpack.ts) if it has found no intact template. */
export const NO_TEMPLATE = 2

const DIGEST = { algorithm: 'sha256', bytes: 32 }
const digestOf = (bytes: Buffer): Buffer => createHash(DIGEST.algorithm).update(bytes).digest()

/** The packed template; null if the file is missing or damaged. */
export function readTemplate(file = templateFile()): Buffer | null {
  if (!existsSync(file)) return null
  const content = readFileSync(file)
  const compressed = content.subarray(DIGEST.bytes)
  return digestOf(compressed).equals(content.subarray(0, DIGEST.bytes)) ? compressed : null
}

/** Unpacks the template of this release into an empty folder. False if there is no intact one. */
export function unpackTemplate(folder: string, file = templateFile()): boolean {
  const compressed = readTemplate(file)
  if (compressed === null) return false
  const packed = brotliDecompressSync(compressed)
  let at = packed.indexOf('\n') + 1
  for (const { name, bytes, length } of JSON.parse(packed.toString('utf8', 0, at)) as Entry[]) {
    const path = join(folder, name)
    if (bytes === null) {
      mkdirSync(path, { mode: 0o700 })
      continue
    }
    writeFileSync(path, packed.subarray(at, (at += bytes)), { mode: 0o600 })
    // The zeros at its end take no place on the disk until the database writes there.
    if (length !== undefined) truncateSync(path, length)
  }
  return true
}
