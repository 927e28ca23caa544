import { isDeepStrictEqual } from 'node:util'

import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { touchPages } from '../../domains/tenants/tenants.ts'
import type { ImportedItem } from './imported.ts'
import { findProgress, type ImportProgress, noteProgress } from './imports-sql.ts'
import type { Key } from '../../domains/imports/keys.ts'
import { mayPass, patiently } from '../retry.ts'
import {
  addCounts,
  addFindings,
  type ImportFinding,
  type ImportFindings,
  type TransferCounts,
} from '../../domains/imports/report.ts'
import type { Known } from './sort-out.ts'
import { findItems } from './sql.ts'

/** An import under way, and its progress. */
export interface Work {
  app: App
  tenantId: Id
  importId: Id
  /** The scope in which the file's ids are unique. */
  source: string
  startedAt: Date
  maxDepth: number
  /** Aborts the import. */
  signal: AbortSignal | undefined
  /** The items taken, over all runs of this import. */
  counts: TransferCounts
  /** The changed items, over all runs of this import. */
  changed: ImportFindings
  /** Pages that were looked up: a page's discussion never changes. */
  pages: Map<Key, Id>
  /** Whether audit entries are taken; undefined before the first one. */
  takesAudit?: boolean
}

/** Items to store together, in transactions of some hundred milliseconds. */
export interface ItemBatch {
  rows: readonly ImportedItem[]
  /** The changes that the check has made to them. */
  changes: readonly (ImportFinding & { key: Key })[]
  /** Whether its items have waited, and wait no longer. */
  hasWaited: boolean
  /** Whether missing items will not come: then its items are taken without them, or refused. */
  isLast: boolean
}

export interface Stored {
  /** Items that were imported before. */
  already: number
  refused: ImportFinding[]
}

/** How many pages are remembered, in some 10 MB. */
const MAX_PAGES = 50_000

/** The rows so far of a batch's items, and of items that they refer to except readers. */
export async function findKnown(
  tx: TxSql,
  { tenantId, pages }: Pick<Work, 'tenantId' | 'pages'>,
  rows: readonly ImportedItem[],
): Promise<Map<Key, Id | null>> {
  const known = new Map<Key, Id | null>()
  const unknown = new Set<Key>()
  for (const row of rows) {
    for (const key of keysOf(row)) {
      if (key === null) continue
      const page = pages.get(key)
      if (page === undefined) unknown.add(key)
      else known.set(key, page)
    }
  }
  for (const { key, itemId } of await findItems(tx, tenantId, [...unknown])) known.set(key, itemId)
  if (pages.size > MAX_PAGES) pages.clear()
  for (const row of rows) {
    if (row.kind !== 'comment') continue
    const page = known.get(row.discussionKey)
    if (page != null) pages.set(row.discussionKey, page)
  }
  return known
}

function keysOf(row: ImportedItem): (Key | null)[] {
  switch (row.kind) {
    case 'comment':
      return [row.key, row.discussionKey, row.parentKey]
    case 'reaction':
    case 'report':
      return [row.commentKey]
    default:
      return [row.key]
  }
}

/** Items that no import has taken, each once: the first of a key counts. */
export function freshOf<Row extends ImportedItem>(rows: readonly Row[], known: Known): Row[] {
  const fresh = new Map<Key, Row>()
  for (const row of rows) if (!known.has(row.key) && !fresh.has(row.key)) fresh.set(row.key, row)
  return [...fresh.values()]
}

/** The latest of these times, if it is after the start of the import. */
export function latestOf({ startedAt }: Work, times: readonly (Date | null)[]): Date | null {
  let latest: Date | null = null
  for (const time of times) if (time !== null && time > (latest ?? startedAt)) latest = time
  return latest
}

interface Step {
  counts: TransferCounts
  changes: readonly ImportFinding[]
  /** Whether pages that readers see have changed. */
  touchesPages?: boolean
}

/** Runs one transaction of an import, which also stores the progress. Null: nothing was done. */
export async function advance(work: Work, run: (tx: TxSql) => Promise<Step | null>): Promise<void> {
  const { app, tenantId, importId } = work
  let after: ImportProgress | null = null
  const transaction = app.db.transaction(async (tx) => {
    after = null
    const step = await run(tx)
    if (step === null) return
    const changes = step.changes.map(({ place, reason }) => ({ place, reason }))
    after = { counts: addCounts(work.counts, step.counts), changed: addFindings(work.changed, changes) }
    await noteProgress(tx, tenantId, importId, after)
    if (step.touchesPages === true) await touchPages(tx, tenantId)
  })
  await transaction.catch(async (error: unknown) => {
    if (after === null || !mayPass(error) || !(await hasCommitted(work, after))) throw error
  })
  if (after !== null) Object.assign(work, after)
}

/** Whether a transaction with a lost answer was committed. */
async function hasCommitted(work: Work, after: ImportProgress): Promise<boolean> {
  const { app, tenantId, importId, signal, counts, changed } = work
  if (isDeepStrictEqual(after, { counts, changed })) return false
  const stored = await patiently(signal, () => findProgress(app.db.query, tenantId, importId))
  return isDeepStrictEqual(stored, after)
}
