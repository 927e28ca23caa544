import { recordAuditOfImport } from '../../core/audit.ts'
import type { App } from '../../core/app.ts'
import { type Id, newId } from '../../core/ids.ts'
import { Pace } from '../../core/queues/pace.ts'
import { ofTenant } from '../../core/queues/patience.ts'
import type { PageRule, SourceName } from '../../domains/imports/options.ts'
import { foldTenant } from '../../domains/analytics/fold.ts'
import { loadTenant } from '../../domains/tenants/tenants.ts'
import type { Pairs } from '../csv.ts'
import * as sql from '../store/imports-sql.ts'
import { SourceError, type SourceFile } from '../item.ts'
import { patiently } from '../retry.ts'
import { type ReadBatch, readBatches } from './read-batches.ts'
import {
  type ImportFindings,
  NO_FINDINGS,
  sumsOf,
  type TableUses,
  type TransferCounts,
} from '../../domains/imports/report.ts'
import { comesLast } from '../store/imported.ts'
import { ImportStopped, note, type Run, storeOwnItems, storeRows, type Watching } from './run.ts'
import { readSource } from '../sources.ts'
import { nameOf } from '../sources/files.ts'
import { takeWaiting } from './waiting.ts'

/** Another process is importing into the same tenant, or undoing an import. */
export class ImportRunning extends Error {
  override readonly message = 'another import of this tenant is under way'
}

export interface ImportFile {
  source: SourceName
  path: SourceFile
  /** The scope in which the file's ids are unique; default: the source. */
  as?: string | undefined
  page?: PageRule | undefined
  /** Whether addresses keep parameters that do not distinguish pages. */
  keepsQuery?: boolean | undefined
  /** The tables of `--map` and `--authors`. */
  addresses?: Pairs
  authors?: Pairs
}

/** The result of an import. */
export interface ImportReport {
  /** Null if the file had nothing new: then nothing about it is stored. */
  id: Id | null
  source: string
  file: string
  /** The items taken, over all runs of this import. */
  counts: TransferCounts
  /** Items that an import had taken before this run. */
  already: number
  refused: ImportFindings
  /** Items that were changed when they were taken. */
  changed: ImportFindings
  /** Null without tables. */
  tables: TableUses | null
}

/**
 * Imports a file into a tenant, without messages to streams or webhooks. Everything that was taken
 * stays, and is taken once: after an interruption at any instant, another call continues. Throws
 * ImportRunning, ImportStopped, SourceError.
 */
export async function importFile(
  app: App,
  tenantId: Id,
  file: ImportFile,
  watching: Watching = {},
): Promise<ImportReport> {
  return holdingImports(app, tenantId, (lost) => {
    const signal = AbortSignal.any([lost, ...(watching.signal === undefined ? [] : [watching.signal])])
    return importHeld(app, tenantId, file, { ...watching, signal })
  })
}

/** Imports a file for a caller who holds the tenant's imports (`holdingImports`). */
export async function importHeld(app: App, tenantId: Id, file: ImportFile, watching: Watching): Promise<ImportReport> {
  const unfinished = await sql.findUnfinished(app.prisma, tenantId, file.as ?? file.source, nameOf(file.path))
  const run = await beginRun(ofTenant(app, tenantId), tenantId, file, watching, unfinished)
  await watching.onBegin?.(run.importId)
  await run.pace
    .keep(() => readAll(run))
    .catch((error: unknown) => {
      throw withWhatStays(error, run)
    })
  return finish(run)
}

/** A reader of the error might think that nothing was taken, so it says what was. */
function withWhatStays(error: unknown, { importId, counts: { comments = 0 } }: Run): unknown {
  if (!(error instanceof SourceError) || comments === 0) return error
  const stays = `What came before that stays (comments: ${comments}): import a whole file, which adds the rest, or take it back by \`import undo ${importId}\``
  return new SourceError(`${error.message}. ${stays}`, { cause: error })
}

/**
 * Runs `work` while no other process imports into the tenant. The lock belongs to a transaction of
 * its own, so that it ends with the process, however that ends.
 */
export async function holdingImports<T>(
  { db }: App,
  tenantId: Id,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  // The embedded form has one connection, and one process.
  if (db.connections === 1) return work(lost.signal)
  const results: T[] = []
  const holding = db.transaction(async (tx) => {
    if (!(await sql.tryLockImports(tx, tenantId))) throw new ImportRunning()
    await sql.ping(tx)
    const timer = setInterval(() => void sql.ping(tx).catch((error: unknown) => lost.abort(error)), PING_MS)
    try {
      results.push(await work(lost.signal))
    } finally {
      clearInterval(timer)
    }
  })
  // A failure to end the lock must not fail the import.
  await holding.catch((error: unknown) => {
    if (results.length === 0) throw error
  })
  return results[0] as T
}

/** The server ends a transaction after 30 s without a statement. */
const PING_MS = 5000

/** A run that reads a file. */
export interface Reading extends Run {
  file: ImportFile
  /** Whether it has no row yet: it is stored once something of the file was read. */
  isNew: boolean
  salt: string
  items: number
}

/** A run that has read nothing yet, of this interrupted import or of a new one. */
export async function beginRun(
  app: App,
  tenantId: Id,
  file: ImportFile,
  watching: Watching,
  unfinished: sql.ImportRow | null = null,
): Promise<Reading> {
  const { settings } = await loadTenant(app, tenantId)
  const source = file.as ?? file.source
  const now = new Date()
  const importId = unfinished?.id ?? newId()
  return {
    app,
    tenantId,
    importId,
    source,
    startedAt: unfinished?.startedAt ?? now,
    maxDepth: settings.maxDepth,
    signal: watching.signal,
    counts: unfinished?.counts ?? {},
    changed: { ...NO_FINDINGS, ...unfinished?.changed },
    pages: new Map(),
    file,
    isNew: unfinished === null,
    // The id of the tenant's first import, perhaps this one: it is random, visible only to admins,
    // and permanent.
    salt: (await sql.findFirstImport(app.prisma, tenantId)) ?? importId,
    rules: {
      source,
      keepsIds: false,
      setsStaff: typeof file.path === 'string',
      settings,
      authors: file.authors ?? new Map(),
      page: file.page ?? null,
      keepsQuery: file.keepsQuery ?? false,
      addresses: file.addresses ?? new Map(),
      now,
    },
    watching,
    pace: new Pace(app.db, watching.signal),
    refused: NO_FINDINGS,
    already: 0,
    items: 0,
  }
}

/** The items of a run's file in batches. Throws ImportStopped, SourceError. */
export async function* batchesOf({ file, rules, pace, salt, signal }: Reading): AsyncGenerator<ReadBatch> {
  const read = { bytes: 0 }
  const found = readSource(file.source, file.path, (bytes) => void (read.bytes = bytes), salt)
  for await (const batch of readBatches(found, rules, file.source, pace, read)) {
    if (signal?.aborted === true) throw new ImportStopped()
    yield batch
  }
}

/** What was used of the tables since they were read; null without tables. */
export const tableUsesOf = ({ addresses, authors }: ImportFile): TableUses | null =>
  addresses === undefined && authors === undefined
    ? null
    : { ...(addresses && { map: addresses.use() }), ...(authors && { authors: authors.use() }) }

async function readAll(run: Reading): Promise<void> {
  let folding: Promise<void> = Promise.resolve()
  try {
    for await (const batch of batchesOf(run)) {
      if (run.isNew) await addImport(run)
      await run.pace.slice(async () => {
        await store(run, batch)
        // Beside the next batch, so that the rollups keep up, and no pile of deltas is left to
        // workers.
        await folding
        folding = fold(run)
        // A failure is reported when it is awaited.
        folding.catch(() => undefined)
      })
    }
  } finally {
    // Waits in any case, so that the database is not closed meanwhile.
    await Promise.allSettled([folding])
  }
  await folding
  await takeWaiting(run)
  await fold(run)
}

const fold = ({ app, tenantId, signal }: Run): Promise<void> => patiently(signal, () => foldTenant(app, tenantId))

async function addImport(run: Reading): Promise<void> {
  const { app, tenantId, importId, startedAt, file, rules } = run
  const row = { id: importId, source: rules.source, fileName: nameOf(file.path), startedAt }
  await patiently(run.signal, () => sql.insertImport(app.db.query, tenantId, row))
  run.isNew = false
}

async function store(run: Reading, { rows, own, changes, refused, already, items, bytes }: ReadBatch): Promise<void> {
  note(run, 'refused', refused)
  run.already += already
  // First and last, because settings bound the depth of threads, and some refer to the other items.
  await storeOwnItems(
    run,
    own.filter((each) => !comesLast(each)),
  )
  await storeRows(run, { rows, changes, hasWaited: false, isLast: false })
  await storeOwnItems(run, own.filter(comesLast))
  run.items += items
  run.watching.onProgress?.({ bytes, items: run.items, counts: run.counts, refused: run.refused.total })
}

/**
 * Marks the import as done, in its row and in the audit log. An import without new items is
 * removed.
 */
async function finish(run: Reading): Promise<ImportReport> {
  const { app, tenantId, importId, counts, changed, refused, already, file, rules } = run
  const now = new Date()
  // A finished run has read the whole file, so it has used all that earlier runs did.
  const tables = tableUsesOf(file)
  const report = { source: rules.source, file: nameOf(file.path), counts, already, refused, changed, tables }
  const isKept = await patiently(run.signal, () =>
    app.db.transaction(async (tx) => {
      if (Object.keys(counts).length === 0 && (await sql.removeImport(tx, tenantId, importId))) return false
      // Not again if the answer to a first try was lost.
      if (!(await sql.finishImport(tx, tenantId, importId, { now, refused, tables }))) {
        return (await sql.findProgress(tx, tenantId, importId)) !== undefined
      }
      const { source, file: name } = report
      const used = tables === null ? {} : { tables: sumsOf(tables) }
      const after = { source, file: name, counts, refused: refused.total, changed: changed.total, ...used }
      await recordAuditOfImport(tx, run, { action: 'import.finish', targetId: importId, after })
      return true
    }),
  )
  return { id: isKept ? importId : null, ...report }
}
