import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, type Stats } from 'node:fs'
import { chmod, chown, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { PassThrough, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setFlagsFromString } from 'node:v8'
import { createGzip, type Gzip } from 'node:zlib'

import { z } from 'zod'

import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import { exportTenant, type Write } from '../transfer/export/export.ts'
import { type ImportFile, importFile } from '../transfer/import/import.ts'
import { rehearseImport } from '../transfer/rehearsal/rehearse.ts'
import { ImportStopped } from '../transfer/import/run.ts'
import { PAGE_RULES, SOURCE_ALIAS, SOURCE_NAMES } from '../domains/imports/options.ts'
import { troubleOfFile } from '../transfer/sources/files.ts'
import { readAddresses, readAuthors } from '../transfer/csv.ts'
import type { Named } from './command.ts'
import { fromCaller } from './command-line.ts'
import { showExport, showImport } from './progress.ts'
import { CommandStopped, draftOf, untilStopped } from './stop.ts'

export const filePath = z.string().min(1).transform(fromCaller)

export const IMPORT = {
  from: z
    .enum(SOURCE_NAMES, `must be one of ${SOURCE_NAMES.join(', ')}`)
    .meta({ description: SOURCE_NAMES.join('|'), about: 'The system that has written the file.' }),
  file: filePath,
  map: filePath.optional().meta({
    description: 'renames.csv',
    about: 'CSV of two columns: the old addresses of pages, or their paths, and the new ones.',
  }),
  authors: filePath.optional().meta({
    description: 'emails.csv',
    about: 'CSV of two columns: e-mail addresses of readers, or their ids at the source, and your ids of them.',
  }),
  page: z
    .enum(PAGE_RULES, `must be one of ${PAGE_RULES.join(', ')}`)
    .optional()
    .meta({
      description: PAGE_RULES.join('|'),
      about:
        'The part of a page that becomes its external id; by default its external id at the source, else its address.',
    }),
  'keep-query': z.boolean().optional().meta({
    about: 'Keeps utm_…, fbclid, gclid and the like in addresses of pages, and what follows #.',
  }),
  as: z.string().regex(SOURCE_ALIAS, 'must be 1 to 40 letters, digits, hyphens and underscores').optional().meta({
    description: 'name',
    about: 'A name for the source, to import two sites of one system whose ids may be the same; by default the system.',
  }),
  'dry-run': z.boolean().optional().meta({ about: 'Reports what would be imported, and changes nothing.' }),
}

type ImportOptions = z.output<z.ZodObject<typeof IMPORT>>

/** For somebody who imports a file once more to give its pages or readers other ids. */
const NOTHING_NEW =
  'All of the file was imported before, and keeps its ids: for others, first take that import back with import undo'

/** Runs an import, or rehearses it, and shows its progress. Returns the text to print. */
export async function runImport(app: App, tenantId: Id, options: ImportOptions): Promise<string> {
  const addresses = options.map === undefined ? undefined : await readAddresses(options.map)
  const authors = options.authors === undefined ? undefined : await readAuthors(options.authors)
  const file: ImportFile = {
    source: options.from,
    path: options.file,
    as: options.as,
    page: options.page,
    keepsQuery: options['keep-query'],
    ...(addresses && { addresses }),
    ...(authors && { authors }),
  }
  // By default V8 collects garbage only when the heap has grown to some three times the memory in
  // use.
  setFlagsFromString('--heap-growing-percent=100')
  const run = options['dry-run'] === true ? rehearseImport : importFile
  return untilStopped(ImportStopped, new ImportStopped().message, async (signal) => {
    const { onProgress, onFinding, end, stop } = showImport(options.file)
    try {
      const report = await run(app, tenantId, file, { onProgress, onFinding, signal })
      if (report.refused.total > 0) process.exitCode = 1
      const printed = end(options['dry-run'] === true ? { dryRun: true, ...report } : report)
      for (const table of ['map', 'authors'] as const) {
        if (report.tables?.[table]?.used === 0) console.error(`No row of --${table} was used: is it one of this site?`)
      }
      const isNew = report.already === 0 || Object.keys(report.counts).length > 0
      if (!isNew && (options.page ?? options.map ?? options.authors) !== undefined) console.error(NOTHING_NEW)
      return printed
    } finally {
      stop()
    }
  })
}

class ExportStopped extends CommandStopped {
  override readonly message = 'stopped: the export was not written'
}

export const EXPORT = { file: filePath.optional() }

/**
 * Writes an export to a file, compressed if its name ends in `.gz`, or to standard output. Returns
 * the text to print.
 */
export async function runExport(
  app: App,
  tenant: Named,
  { file }: z.output<z.ZodObject<typeof EXPORT>>,
): Promise<string> {
  return untilStopped(ExportStopped, new ExportStopped().message, async (signal) => {
    const shown = showExport(file === undefined)
    try {
      const counts = await writeExport(file, signal, (write) => exportTenant(app, tenant.id, write, shown))
      return shown.end({ tenant: tenant.slug, ...(file !== undefined && { file: basename(file) }), counts })
    } finally {
      shown.stop()
    }
  })
}

/** The file cannot be written. */
export class FileError extends Error {}

type Work<T> = (write: Write) => Promise<T>

/**
 * Writes to standard output, or to a file, which gets its name when it is complete. Anything but a
 * regular file, such as a device or a pipe, is written to directly.
 */
async function writeExport<T>(file: string | undefined, signal: AbortSignal, work: Work<T>): Promise<T> {
  if (file === undefined) return throughTo(work, process.stdout, signal)
  const pack = file.endsWith('.gz') ? createGzip() : undefined
  try {
    const before = await stat(file).catch(nullWithoutFile)
    if (before !== null && !before.isFile()) return await throughTo(work, await opened(file, 'w'), signal, pack)
    // A link stays: its target is replaced.
    const target = before === null ? file : await realpath(file)
    return await writeBeside(target, before, (draft) => throughTo(work, draft, signal, pack))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!(error instanceof Error) || code === undefined || !FILE_CODES.has(code)) throw error
    const reason = code === 'ENOENT' ? 'its folder is not there' : troubleOfFile(error)
    throw new FileError(`${file}: ${reason}`, { cause: error })
  }
}

const FILE_CODES = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENAMETOOLONG'])

function nullWithoutFile(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Opens a file for writing, before the export begins. */
async function opened(file: string, flags: 'w' | 'wx', mode?: number): Promise<Writable> {
  const stream = createWriteStream(file, { flags, ...(mode !== undefined && { mode }) })
  await once(stream, 'open')
  return stream
}

/** Replaces a file by a new one with the same rights, once that is complete. */
async function writeBeside<T>(target: string, before: Stats | null, work: (draft: Writable) => Promise<T>): Promise<T> {
  const draft = `${target}.${randomBytes(4).toString('hex')}.part`
  const forgetDraft = draftOf(draft)
  try {
    const rights = before === null ? undefined : before.mode & 0o777
    const result = await work(await opened(draft, 'wx', rights))
    // Rights that the process may not pass on are left out; the umask has removed some of the
    // mode.
    if (before !== null) {
      await chown(draft, before.uid, before.gid).catch(() => undefined)
      await chmod(draft, before.mode & 0o777)
    }
    await rename(draft, target)
    return result
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  } finally {
    forgetDraft()
  }
}

/** Runs `work` with a stream that accepts data only as fast as its target. Throws ExportStopped. */
async function throughTo<T>(work: Work<T>, end: Writable, signal: AbortSignal, pack?: Gzip): Promise<T> {
  const start = new PassThrough()
  const ends = end !== process.stdout
  const done = pack === undefined ? pipeline(start, end, { end: ends }) : pipeline(start, pack, end, { end: ends })
  // Awaited below; until then a failure ends the work here.
  done.catch(() => undefined)
  const stopped = once(signal, 'abort').then(() => Promise.reject(new ExportStopped()))
  stopped.catch(() => undefined)
  const write: Write = async (lines) => {
    if (signal.aborted) throw new ExportStopped()
    if (!start.write(lines)) await Promise.race([once(start, 'drain'), done, stopped])
  }
  try {
    const result = await work(write)
    start.end()
    await done
    return result
  } catch (error) {
    start.destroy()
    await done.catch(() => undefined)
    throw error
  }
}
