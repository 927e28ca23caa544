import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import type { Db, TxSql } from '../../core/database/database.ts'
import { batchesOf, beginRun, type ImportFile, type ImportReport, tableUsesOf } from '../import/import.ts'
import type { ReadBatch } from '../import/read-batches.ts'
import type { Watching } from '../import/run.ts'
import { Survey } from '../import/survey.ts'
import { predictBatch } from './predict-batch.ts'
import { type Lacking, type Rehearsing, surveyBatch } from './survey-batch.ts'

/** The expected result of an import. */
export interface Rehearsal extends Omit<ImportReport, 'id' | 'file'>, Lacking {}

/** The most keys that the rehearsal of an upload holds, in some 850 MB. */
const MAX_KEYS = 10_000_000

/**
 * Reads a file twice, and writes nothing: first to learn what it contains, then to find out what an
 * import would take and refuse. It is no import that is rolled back
 * (docs/decisions/0032-a-rehearsal-writes-nothing.md).
 */
export async function rehearseImport(
  app: App,
  tenantId: Id,
  file: ImportFile,
  watching: Watching = {},
): Promise<Rehearsal> {
  const run: Rehearsing = {
    ...(await beginRun(undoing(app), tenantId, file, watching)),
    survey: new Survey(typeof file.path === 'string' ? Infinity : MAX_KEYS),
    pagesWithoutAddress: 0,
    commentsWithoutAuthor: 0,
  }
  const surveyed = { bytes: 0, items: 0 }
  for await (const batch of readOnce(run)) {
    await surveyBatch(run, batch)
    surveyed.bytes = batch.bytes
    surveyed.items += batch.items
  }
  run.survey.settle(run.maxDepth)
  await run.pace.keep(async () => {
    for await (const batch of readOnce(run, surveyed)) await run.pace.slice(() => predictBatch(run, batch))
  })
  const { source, counts, already, pagesWithoutAddress, commentsWithoutAuthor, refused, changed } = run
  const report = { source, counts, already, pagesWithoutAddress, commentsWithoutAuthor, refused, changed }
  return { ...report, tables: tableUsesOf(file) }
}

const UNDONE = new Error('undone')

/** The app with transactions that are always rolled back. */
function undoing(app: App): App {
  const { db } = app
  async function transaction<T>(work: (tx: TxSql) => Promise<T>): Promise<T> {
    let undo: (() => T) | null = null
    try {
      return await db.transaction(async (tx) => {
        const result = await work(tx)
        undo = () => result
        throw UNDONE
      })
    } catch (error) {
      if (error !== UNDONE || undo === null) throw error
      return (undo as () => T)()
    }
  }
  return { ...app, root: app.root ?? app, db: Object.assign(Object.create(db) as Db, { transaction }) }
}

async function* readOnce(run: Rehearsing, before = { bytes: 0, items: 0 }): AsyncGenerator<ReadBatch> {
  let items = 0
  for await (const batch of batchesOf(run)) {
    yield batch
    items += batch.items
    // Each pass is half of the work.
    const bytes = Math.round((before.bytes + batch.bytes) / 2)
    const done = Math.round((before.items + items) / 2)
    run.watching.onProgress?.({ bytes, items: done, counts: run.counts, refused: run.refused.total })
  }
}
