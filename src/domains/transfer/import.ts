import { setTimeout } from 'node:timers/promises'
import { basename } from 'node:path'

import { recordAuditOfImport } from '../../core/audit.ts'
import type { App } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, newId } from '../../core/ids.ts'
import { codeOf } from '../../core/outage.ts'
import { Pace } from '../../core/pace.ts'
import { ofTenant } from '../../core/patience.ts'
import { foldTenant } from '../analytics/fold.ts'
import { loadTenant } from '../tenants/tenants.ts'
import type { Rules } from './check.ts'
import type { Pairs } from './csv.ts'
import * as sql from './imports-sql.ts'
import type { OnRead } from './item.ts'
import type { Key } from './keys.ts'
import type { PageRule } from './pages.ts'
import { storeOwn } from './own.ts'
import { BATCH_ITEMS, newBatch, type ReadBatch, readBatches, takeFound } from './read-batches.ts'
import {
  addFindings,
  type ImportFinding,
  type ImportFindings,
  NO_FINDINGS,
  type TableUses,
  type TransferCounts,
} from './report.ts'
import { readSource, type SourceName } from './sources.ts'
import { reasonOf } from './threads.ts'
import type { ItemBatch, Stored, Work } from './store.ts'
import { storeNamed } from './store-named.ts'
import { storeThreads } from './store-threads.ts'

/** Another process imports into the same tenant, or takes an import back. */
export class ImportRunning extends Error {
  override readonly message = 'another import of this tenant is under way'
}

/** It was asked to stop. What it has taken stays; the same again goes on. */
export class ImportStopped extends Error {
  override readonly message = 'stopped: the same command goes on where this one has stopped'
}

export interface ImportFile {
  source: SourceName
  path: string
  /** What the ids of the file are unique in; the default is the source. */
  as?: string | undefined
  page?: PageRule | undefined
  /** The tables of `--map` and `--authors`. */
  addresses?: Pairs
  authors?: Pairs
}

/** How far an import is. */
export interface Progress {
  /** Bytes of the file that were read. */
  bytes: number
  /** Items that were read. */
  items: number
  counts: TransferCounts
  refused: number
}

export interface Watching {
  onProgress?: (progress: Progress) => void
  onFinding?: (kind: 'refused' | 'changed', finding: ImportFinding) => void
  signal?: AbortSignal
}

/** What became of a file. */
export interface ImportReport {
  /** Null where it has met nothing new: nothing is kept of it. */
  id: Id | null
  source: string
  file: string
  /** What was taken, over all runs of this import. */
  counts: TransferCounts
  /** Items that an import had taken before this run. */
  already: number
  refused: ImportFindings
  /** What was taken otherwise than it stands in the file. */
  changed: ImportFindings
  /** Null without tables. */
  tables: TableUses | null
}

/**
 * Moves a file into a tenant, without a word to streams or webhooks. Everything that was taken
 * stays, and is taken once: called again after it was cut off at any instant, it goes on. Throws
 * ImportRunning, ImportStopped, SourceError.
 */
export async function importFile(
  app: App,
  tenantId: Id,
  file: ImportFile,
  watching: Watching = {},
): Promise<ImportReport> {
  return holdingImports(app, tenantId, async (signal) => {
    const stopped = AbortSignal.any([signal, ...(watching.signal === undefined ? [] : [watching.signal])])
    const pace = new Pace(app.db, stopped)
    const run = await begin(ofTenant(app, tenantId), tenantId, file, watching, pace)
    await pace.keep(() => readAll(run, stopped))
    return finish(run)
  })
}

/**
 * Runs `work` while no other process imports into the tenant. A transaction that does nothing else
 * has the lock: it ends with the process, however that ends.
 */
export async function holdingImports<T>(
  { db }: App,
  tenantId: Id,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  // The embedded form has one connection, and one process.
  if (db.connections === 1) return work(lost.signal)
  return db.transaction(async (tx) => {
    if (!(await sql.tryLockImports(tx, tenantId))) throw new ImportRunning()
    const timer = setInterval(() => void sql.ping(tx).catch((error: unknown) => lost.abort(error)), PING_MS)
    try {
      return await work(lost.signal)
    } finally {
      clearInterval(timer)
    }
  })
}

/** The server ends a transaction that is idle for 30 s. */
const PING_MS = 5000

interface Run extends Work {
  file: ImportFile
  /** Whether it has no row yet: it gets one when something of the file was read. */
  isNew: boolean
  salt: string
  rules: Rules
  watching: Watching
  pace: Pace
  refused: ImportFindings
  already: number
  items: number
  bytes: number
}

async function begin(app: App, tenantId: Id, file: ImportFile, watching: Watching, pace: Pace): Promise<Run> {
  const { settings } = await loadTenant(app, tenantId)
  const source = file.as ?? file.source
  const fileName = basename(file.path)
  const now = new Date()
  const unfinished = await sql.findUnfinished(app.db.query, tenantId, source, fileName)
  const importId = unfinished?.id ?? newId()
  const startedAt = unfinished?.startedAt ?? now
  return {
    app,
    tenantId,
    importId,
    source,
    startedAt,
    maxDepth: settings.maxDepth,
    counts: unfinished?.counts ?? {},
    changed: { ...NO_FINDINGS, ...unfinished?.changed },
    file,
    isNew: unfinished === undefined,
    salt: await saltOf(app, tenantId, importId),
    rules: rulesOf(file, settings, now),
    watching,
    pace,
    refused: NO_FINDINGS,
    already: 0,
    items: 0,
    bytes: 0,
  }
}

/**
 * The id of the tenant's first import, be it this one: it is random, shown to admins alone, and
 * stays.
 */
export const saltOf = async (app: App, tenantId: Id, importId: Id): Promise<string> =>
  (await sql.findFirstImport(app.db.query, tenantId)) ?? importId

export const rulesOf = (file: ImportFile, settings: Rules['settings'], now: Date): Rules => ({
  source: file.as ?? file.source,
  keepsIds: false,
  settings,
  authors: file.authors ?? new Map(),
  page: file.page ?? null,
  addresses: file.addresses ?? new Map(),
  now,
})

/** What was used of the tables since they were read; null without tables. */
export const tableUsesOf = ({ addresses, authors }: ImportFile): TableUses | null =>
  addresses === undefined && authors === undefined
    ? null
    : { ...(addresses && { map: addresses.use() }), ...(authors && { authors: authors.use() }) }

async function readAll(run: Run, signal: AbortSignal): Promise<void> {
  const onRead: OnRead = (bytes) => void (run.bytes = bytes)
  const found = readSource(run.file.source, run.file.path, onRead, run.salt)
  let folding: Promise<void> = Promise.resolve()
  try {
    for await (const batch of ahead(readBatches(found, run.rules, run.file.source, run.pace))) {
      if (signal.aborted) throw new ImportStopped()
      if (run.isNew) await addImport(run)
      await run.pace.slice(async () => {
        await store(run, batch)
        // Beside the next batch: the rollups keep up, and leave no heap of deltas to the workers.
        await folding
        folding = foldTenant(run.app, run.tenantId)
      })
    }
  } finally {
    // However this ends, nobody closes the database under it.
    await Promise.allSettled([folding])
  }
  await folding
  await takeWaiting(run, signal)
  await foldTenant(run.app, run.tenantId)
}

async function addImport(run: Run): Promise<void> {
  const { app, tenantId, importId, startedAt, file, rules } = run
  const row = { id: importId, source: rules.source, fileName: basename(file.path), startedAt }
  await patiently(run, () => sql.insertImport(app.db.query, tenantId, row))
  run.isNew = false
}

/** The same items, each begun while the one before it is being used. */
async function* ahead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next()
  // Its failure is told when it is its turn.
  next.catch(() => undefined)
  for (;;) {
    const { done, value } = await next
    if (done === true) return
    next = items.next()
    next.catch(() => undefined)
    yield value
  }
}

async function store(run: Run, { rows, own, changes, refused, items }: ReadBatch): Promise<void> {
  note(run, refused)
  const isAudit = ({ row }: (typeof own)[number]): boolean => row.kind === 'audit'
  // Settings say how deep threads are; entries of the audit log are about what comes before them.
  await storeInHalves(
    run,
    own.filter((each) => !isAudit(each)),
    (some) => storeOwn(run, some),
  )
  await storeRows(run, { rows, changes, hasWaited: false, isLast: false })
  await storeInHalves(run, own.filter(isAudit), (some) => storeOwn(run, some))
  run.items += items
  run.watching.onProgress?.({ bytes: run.bytes, items: run.items, counts: run.counts, refused: run.refused.total })
}

async function storeRows(run: Run, batch: ItemBatch): Promise<void> {
  const before = run.changed.first.length
  for (const storeSome of [storeNamed, storeThreads]) {
    await storeInHalves(run, batch.rows, (rows) => storeSome(run, { ...batch, rows }))
  }
  for (const finding of run.changed.first.slice(before)) run.watching.onFinding?.('changed', finding)
}

/**
 * Stores items together. Where the database refuses a value, it stores them in halves, down to the
 * item that has it: that one is refused, and the import goes on.
 */
async function storeInHalves<Each extends { place: string; key?: Key }>(
  run: Run,
  items: readonly Each[],
  storeSome: (items: readonly Each[]) => Promise<Stored>,
): Promise<void> {
  try {
    const { already, refused } = await patiently(run, () => storeSome(items))
    run.already += already
    note(run, refused)
  } catch (error) {
    const code = refusedValue(error)
    const [first] = items
    if (code === null || first === undefined) throw error
    if (items.length > 1) {
      const half = Math.ceil(items.length / 2)
      await storeInHalves(run, items.slice(0, half), storeSome)
      await storeInHalves(run, items.slice(half), storeSome)
      return
    }
    note(run, [{ place: first.place, reason: `has a value that the database refuses (SQLSTATE ${code})` }])
    if (first.key !== undefined) await sql.deleteWaiting(run.app.db.query, run.tenantId, run.importId, [first.key])
  }
}

/**
 * The SQLSTATE of an error that the values themselves have caused. Class 22: data. 23: a
 * constraint. 54: a limit of the database. Its message would quote them.
 */
function refusedValue(error: unknown): string | null {
  const code = error instanceof Error ? codeOf(error) : null
  return typeof code === 'string' && /^(22|23|54)\w{3}$/.test(code) ? code : null
}

function note(run: Run, refused: readonly ImportFinding[]): void {
  run.refused = addFindings(run.refused, refused)
  for (const finding of refused) run.watching.onFinding?.('refused', finding)
}

/** For so long an import tries again what meets the locks of others, or a database that is away. */
const PATIENCE_MS = 60_000

/** Nobody waits for an answer: it may take its time where a request would be refused. */
async function patiently<T>({ watching: { signal } }: Run, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const mayPass = error instanceof ServiceError && error.code === 'unavailable'
      if (!mayPass || performance.now() > until || signal?.aborted === true) throw error
      await setTimeout(500)
    }
  }
}

// What waits

/**
 * Takes what has waited. Only comments wait to be taken: what else an item lacks is not in the
 * file. So parents are taken before what hangs on them, each as far as it can be. Comments that
 * reply to each other in a circle are left at last.
 */
async function takeWaiting(run: Run, signal: AbortSignal): Promise<void> {
  const { app, tenantId, importId } = run
  for (let after: Key | null = null; ;) {
    const limit = run.pace.sized(BATCH_ITEMS)
    const items = await sql.selectWaitingRoots(app.db.query, tenantId, importId, { after, limit })
    if (items.length === 0) break
    after = items.at(-1)?.key ?? null
    await takeWaited(run, items, signal)
    await takeBelow(run, keysOf(items), signal)
  }
  while (await breakCircle(run, signal)) continue
}

/** Takes all that waits for these comments, with all that waits for that, and so on. */
async function takeBelow(run: Run, keys: readonly Key[], signal: AbortSignal): Promise<void> {
  const { app, tenantId, importId } = run
  const stack = [keys]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const limit = run.pace.sized(BATCH_ITEMS)
    const items = await sql.selectWaitingBelow(app.db.query, tenantId, importId, { keys: next, limit })
    await takeWaited(run, items, signal)
    // Fewer were all. Otherwise something may be left below these, or below what was taken.
    if (items.length === limit) stack.push(next, keysOf(items))
  }
}

const keysOf = (items: readonly sql.WaitedItem[]): Key[] => items.map(({ key }) => key)

async function takeWaited(run: Run, items: readonly sql.WaitedItem[], signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new ImportStopped()
  const batch = checkAgain(run, items)
  await run.pace.slice(async () => {
    await refuseWaited(run, items, batch)
    await storeRows(run, { rows: batch.rows, changes: batch.changes, hasWaited: true, isLast: true })
  })
}

function checkAgain({ rules }: Run, items: readonly sql.WaitedItem[]): ReadBatch {
  const batch = newBatch()
  for (const { item, place } of items) takeFound(batch, { item, place }, rules)
  return batch
}

/** What was fit to wait may not be fit to be taken: the tenant's settings change. */
async function refuseWaited(run: Run, items: readonly sql.WaitedItem[], { rows, refused }: ReadBatch): Promise<void> {
  if (refused.length === 0) return
  const fit = new Set(rows.map(({ key }) => key))
  const keys = keysOf(items).filter((key) => !fit.has(key))
  await sql.deleteWaiting(run.app.db.query, run.tenantId, run.importId, keys)
  note(run, refused)
}

/**
 * Takes a comment that waits for itself, over others, to the top level, and all below it. False
 * where nothing waits.
 */
async function breakCircle(run: Run, signal: AbortSignal): Promise<boolean> {
  const { app, tenantId, importId } = run
  const found = topOf(await sql.selectPathUp(app.db.query, tenantId, importId))
  const item = found === null ? undefined : await sql.findWaiting(app.db.query, tenantId, importId, found.key)
  if (found === null || item === undefined) return false
  if (signal.aborted) throw new ImportStopped()
  const batch = checkAgain(run, [item])
  const { rows, changes } = batch
  await refuseWaited(run, [item], batch)
  const reason = reasonOf('circle', run.maxDepth)
  await storeRows(run, {
    rows: rows.map((row) => (found.isInCircle && row.kind === 'comment' ? { ...row, parentKey: null } : row)),
    changes: found.isInCircle ? [...changes, { key: item.key, place: item.place, reason }] : changes,
    hasWaited: true,
    isLast: true,
  })
  await takeBelow(run, [item.key], signal)
  return true
}

/** Where a path of replies ends, at the top or in a circle; null of an empty path. */
function topOf(path: readonly sql.WaitingLink[]): { key: Key; isInCircle: boolean } | null {
  const above = new Map(path.map(({ key, commentKey }) => [key, commentKey]))
  const passed = new Set<Key>()
  let key = path[0]?.key
  if (key === undefined) return null
  for (;;) {
    passed.add(key)
    const next: Key | null = above.get(key) ?? null
    if (next === null || !above.has(next)) return { key, isInCircle: false }
    key = next
    if (!passed.has(key)) continue
    // The same one of the circle wherever the path has begun.
    const passes = [...passed]
    return { key: passes.slice(passes.indexOf(key)).toSorted()[0] ?? key, isInCircle: true }
  }
}

/** Says that it is done: in its row, and in the audit log. One that has met no new item goes. */
async function finish(run: Run): Promise<ImportReport> {
  const { app, tenantId, importId, counts, changed, refused, already, file, rules } = run
  const now = new Date()
  // A run that comes to its end has read all of the file: it has used what any run before it has.
  const tables = tableUsesOf(file)
  const report = { source: rules.source, file: basename(file.path), counts, already, refused, changed, tables }
  const isKept = await app.db.transaction(async (tx) => {
    if (Object.keys(counts).length === 0 && (await sql.removeImport(tx, tenantId, importId))) return false
    await sql.finishImport(tx, tenantId, importId, { now, refused, tables })
    const after = { source: report.source, file: report.file, counts, refused: refused.total, changed: changed.total }
    await recordAuditOfImport(tx, run, { action: 'import.finish', targetType: 'import', targetId: importId, after })
    return true
  })
  return { id: isKept ? importId : null, ...report }
}
