import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { basename, isAbsolute, join } from 'node:path'
import { PassThrough, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, type Gzip } from 'node:zlib'

import { z } from 'zod'

import type { App } from '../core/context.ts'
import type { Id } from '../core/ids.ts'
import { exportTenant, type Write } from '../domains/transfer/export.ts'
import { type ImportFile, importFile } from '../domains/transfer/import.ts'
import { PAGE_RULES } from '../domains/transfer/pages.ts'
import { rehearseImport } from '../domains/transfer/rehearse.ts'
import { SOURCES, type SourceName } from '../domains/transfer/sources.ts'
import { readAddresses, readAuthors } from '../domains/transfer/tables.ts'
import { showExport, showImport } from './progress.ts'

const path = z.string().min(1).transform(fromCaller)

/** Relative to where the command was given: npm goes to the folder of the project. */
function fromCaller(file: string): string {
  const { npm_lifecycle_event: script, INIT_CWD: folder } = process.env
  return isAbsolute(file) || script !== 'cli' || folder === undefined ? file : join(folder, file)
}

const sourceNames = Object.keys(SOURCES) as [SourceName, ...SourceName[]]

export const IMPORT = {
  from: z.enum(sourceNames, `must be one of ${sourceNames.join(', ')}`).describe(sourceNames.join('|')),
  file: path,
  map: path.optional().describe('old,new.csv'),
  authors: path.optional().describe('emails.csv'),
  page: z
    .enum(PAGE_RULES, `must be one of ${PAGE_RULES.join(', ')}`)
    .optional()
    .describe(PAGE_RULES.join('|')),
  as: z
    .string()
    .regex(/^[\w-]{1,40}$/, 'must be 1 to 40 letters, digits, hyphens and underscores')
    .optional()
    .describe('name'),
  'dry-run': z.boolean().optional(),
}

type ImportOptions = z.output<z.ZodObject<typeof IMPORT>>

/** Runs an import, or rehearses it, before the eyes of the operator. Gives what is printed. */
export async function runImport(app: App, tenantId: Id, options: ImportOptions): Promise<string> {
  const file: ImportFile = {
    source: options.from,
    path: options.file,
    as: options.as,
    page: options.page,
    ...(options.map !== undefined && { addresses: await readAddresses(options.map) }),
    ...(options.authors !== undefined && { authors: await readAuthors(options.authors) }),
  }
  const run = options['dry-run'] === true ? rehearseImport : importFile
  return untilInterrupted(async (signal) => {
    const { onProgress, onFinding, end, stop } = showImport(file.path)
    try {
      const report = await run(app, tenantId, file, { onProgress, onFinding, signal })
      if (report.refused.total > 0) process.exitCode = 1
      return end(report)
    } finally {
      stop()
    }
  })
}

/** The first Ctrl+C ends the work after the transaction under way, the second one the process. */
async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const stop = (): void => controller.abort()
  process.once('SIGINT', stop)
  try {
    return await work(controller.signal)
  } finally {
    process.off('SIGINT', stop)
  }
}

export const EXPORT = { file: path.optional() }

/**
 * Writes an export to a file, packed where its name ends in `.gz`, or to standard output. Gives
 * what is printed.
 */
export async function runExport(
  app: App,
  tenant: { id: Id; slug: string },
  { file }: z.output<z.ZodObject<typeof EXPORT>>,
): Promise<string> {
  const shown = showExport(file === undefined)
  try {
    const counts = await writeExport(file, (write) => exportTenant(app, tenant.id, write, shown))
    return shown.end({ tenant: tenant.slug, ...(file !== undefined && { file: basename(file) }), counts })
  } finally {
    shown.stop()
  }
}

/** The file gets its name when it is whole. */
async function writeExport<T>(file: string | undefined, work: (write: Write) => Promise<T>): Promise<T> {
  if (file === undefined) return throughTo(work, process.stdout)
  const draft = `${file}.part`
  try {
    const result = await throughTo(work, createWriteStream(draft), file.endsWith('.gz') ? createGzip() : undefined)
    await rename(draft, file)
    return result
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Runs `work` with a stream that takes no more than what follows it has taken. */
async function throughTo<T>(work: (write: Write) => Promise<T>, end: Writable, pack?: Gzip): Promise<T> {
  const start = new PassThrough()
  const ends = end !== process.stdout
  const done = pack === undefined ? pipeline(start, end, { end: ends }) : pipeline(start, pack, end, { end: ends })
  // Told below; a failure there ends the work here.
  done.catch(() => undefined)
  const write: Write = async (lines) => {
    if (!start.write(lines)) await Promise.race([once(start, 'drain'), done])
  }
  try {
    return await work(write)
  } finally {
    start.end()
    await done
  }
}
