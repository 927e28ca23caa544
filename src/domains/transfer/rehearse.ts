import type { App } from '../../core/context.ts'
import { type Id, newId } from '../../core/ids.ts'
import { loadTenant } from '../tenants/tenants.ts'
import {
  type ImportFile,
  ImportStopped,
  type ReadBatch,
  readBatches,
  rulesOf,
  saltOf,
  type Watching,
} from './import.ts'
import type { Key } from './keys.ts'
import { addCounts, addFindings, type Counts, type Finding, type Findings, NO_FINDINGS } from './report.ts'
import type { ItemRow } from './rows.ts'
import { readSource } from './sources.ts'
import { findItems } from './store-sql.ts'

/** What an import would do. */
export interface Rehearsal {
  source: string
  counts: Counts
  /** Items that an import has taken before. */
  already: number
  /** Pages whose external id would be made of their id, as they have no address. */
  pagesWithoutAddress: number
  /** Comments whose author is not in the file, or gone. */
  commentsWithoutAuthor: number
  refused: Findings
  changed: Findings
}

/** What an item waits for: a page, a comment or a reader that may stand further on. */
interface Awaited {
  place: string
  /** What becomes of it without that. */
  without: 'refused' | 'changed'
  reason: string
}

/**
 * Reads a file as an import would, and writes nothing. Comments that reply to each other in a
 * circle are found by the import itself.
 */
export async function rehearseImport(
  app: App,
  tenantId: Id,
  file: ImportFile,
  { onProgress, onFinding, signal }: Watching = {},
): Promise<Rehearsal> {
  const { settings } = await loadTenant(app, tenantId)
  const rules = rulesOf(file, settings, new Date())
  const seen = new Set<Key>()
  const awaited = new Map<Key, Awaited[]>()
  const report: Rehearsal = {
    source: rules.source,
    counts: {},
    already: 0,
    pagesWithoutAddress: 0,
    commentsWithoutAuthor: 0,
    refused: NO_FINDINGS,
    changed: NO_FINDINGS,
  }
  const note = (kind: 'refused' | 'changed', finding: Finding): void => {
    report[kind] = addFindings(report[kind], [finding])
    onFinding?.(kind, finding)
  }
  let bytes = 0
  let items = 0
  const salt = await saltOf(app, tenantId, newId())
  const found = readSource(file.source, file.path, (read) => void (bytes = read), salt)
  for await (const batch of readBatches(found, rules, file.source)) {
    if (signal?.aborted === true) throw new ImportStopped()
    for (const finding of batch.refused) note('refused', finding)
    for (const { place, reason } of batch.changes) note('changed', { place, reason })
    const known = await knownOf(app, tenantId, batch)
    for (const row of batch.rows) {
      if (seen.has(row.key) || known.has(row.key)) report.already++
      else count(report, row)
      if (row.kind !== 'reaction' && row.kind !== 'report') seen.add(row.key)
    }
    for (const row of batch.rows) {
      for (const [key, missing] of needsOf(row)) {
        if (!seen.has(key) && !known.has(key)) awaited.set(key, [...(awaited.get(key) ?? []), missing])
      }
    }
    items += batch.items
    onProgress?.({ bytes, items, counts: report.counts, refused: report.refused.total })
  }
  for (const [key, missing] of awaited) {
    if (seen.has(key)) continue
    for (const { place, reason, without } of missing) note(without, { place, reason })
  }
  return report
}

async function knownOf({ db }: App, tenantId: Id, { rows }: ReadBatch): Promise<Set<Key>> {
  const keys = new Set(rows.flatMap((row) => [row.key, ...needsOf(row).map(([key]) => key)]))
  return new Set((await findItems(db.query, tenantId, [...keys])).map(({ key }) => key))
}

const COUNTS = {
  reader: 'readers',
  discussion: 'discussions',
  comment: 'comments',
  reaction: 'reactions',
  report: 'reports',
} as const satisfies Record<ItemRow['kind'], keyof Counts>

function count(report: Rehearsal, row: ItemRow): void {
  report.counts = addCounts(report.counts, { [COUNTS[row.kind]]: 1 })
  if (row.kind === 'discussion' && row.lacksAddress) report.pagesWithoutAddress++
  if (row.kind === 'comment' && row.authorKey === null) report.commentsWithoutAuthor++
}

function needsOf(row: ItemRow): [Key, Awaited][] {
  const { place } = row
  const need = (key: Key | null, without: Awaited['without'], reason: string): [Key, Awaited][] =>
    key === null ? [] : [[key, { place, without, reason }]]
  switch (row.kind) {
    case 'comment':
      return [
        ...need(row.discussionKey, 'refused', 'is of a page that is not in the file'),
        ...need(
          row.parentKey,
          'changed',
          'replies to a comment that is not in the file: it will stand at the top level',
        ),
        ...need(row.authorKey, 'changed', 'is of a reader who is not in the file: it will have no author'),
      ]
    case 'reaction':
    case 'report':
      return [
        ...need(row.commentKey, 'refused', 'is on a comment that is not in the file'),
        ...need(row.readerKey, 'refused', 'is of a reader who is not in the file'),
      ]
    default:
      return []
  }
}
