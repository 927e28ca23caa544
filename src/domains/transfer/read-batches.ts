import { setImmediate } from 'node:timers/promises'

import type { Pace } from '../../core/pace.ts'
import { checkItem, type Rules } from './check.ts'
import { WITHOUT_FORMER } from './former.ts'
import type { ImportedItem, ImportedReader, OwnItem } from './imported.ts'
import type { Found } from './item.ts'
import { KeyNumbers } from './key-numbers.ts'
import type { Key } from './keys.ts'
import type { ImportFinding } from './report.ts'
import type { SourceName } from './sources.ts'

/** Items that are stored together, at most. */
export const BATCH_ITEMS = 2000
/** As much text, in characters, so that few long ones are not much more. */
const BATCH_LENGTH = 2_000_000

/** So many items, some milliseconds of work, are checked before the database is listened to. */
const ITEMS_AT_ONCE = 32

/** What was read together. */
export interface ReadBatch {
  rows: ImportedItem[]
  own: { place: string; row: OwnItem }[]
  changes: (ImportFinding & { key: Key })[]
  refused: ImportFinding[]
  items: number
}

export const newBatch = (): ReadBatch => ({ rows: [], own: [], changes: [], refused: [], items: 0 })

/** So many keys are remembered, in some 100 MB, to tell of those that come twice. */
const MAX_REMEMBERED = 5_000_000

/** The items of a source, checked, in batches of the size that the pace says. An id counts once. */
export async function* readBatches(
  found: AsyncIterable<Found>,
  rules: Rules,
  source: SourceName,
  pace: Pick<Pace, 'sized'>,
): AsyncGenerator<ReadBatch> {
  const seen = new KeyNumbers()
  let batch = newBatch()
  let length = 0
  let most = pace.sized(BATCH_ITEMS)
  let isFirst = true
  for await (const each of found) {
    batch.items++
    const { rows, changes } = batch
    const before = { rows: rows.length, changes: changes.length }
    length += takeFound(batch, each, rules, isFirst)
    const row = rows[before.rows]
    if (row !== undefined && isSecond(row, seen)) {
      rows.pop()
      changes.splice(before.changes)
      // Other sources name a reader and a page with every comment.
      if (row.kind === 'comment' || source === 'jsonl') {
        batch.refused.push({ place: row.place, reason: `has the id of a ${row.kind} further up, which counts` })
      }
    } else if (row?.kind === 'reader') keepFirst(row, seen, changes)
    isFirst = false
    // The batch before is being stored: its next statement goes first.
    if (batch.items % ITEMS_AT_ONCE === 0) await setImmediate()
    if (batch.items < most && length < BATCH_LENGTH) continue
    yield batch
    batch = newBatch()
    length = 0
    most = pace.sized(BATCH_ITEMS)
  }
  if (batch.items > 0) yield batch
}

function isSecond({ kind, key }: ImportedItem, seen: KeyNumbers): boolean {
  return kind !== 'reaction' && kind !== 'report' && seen.size < MAX_REMEMBERED && !seen.add(key).isNew
}

/** Leaves out former readers whose ids are those of readers further up. */
function keepFirst(row: ImportedReader, seen: KeyNumbers, changes: ReadBatch['changes']): void {
  const first = row.formerly.filter(({ key }) => seen.size >= MAX_REMEMBERED || seen.add(key).isNew)
  if (first.length < row.formerly.length) changes.push({ key: row.key, place: row.place, reason: WITHOUT_FORMER })
  row.formerly = first
}

/** Adds what was found to a batch, once it is checked. Returns how much text there is in it. */
export function takeFound(batch: ReadBatch, each: Found, rules: Rules, isFirst = false): number {
  const { place } = each
  const checked = 'refused' in each ? { refused: each.refused } : checkItem(each.item, place, rules)
  if ('refused' in checked) {
    batch.refused.push({ place, reason: checked.refused })
    return 0
  }
  const { row, changes } = checked
  if (!('key' in row)) {
    if (row.kind !== 'header') batch.own.push({ place, row })
    else if (isFirst) rules.keepsIds = true
    else batch.refused.push({ place, reason: 'is a header, which stands first alone' })
    return 0
  }
  batch.rows.push(row)
  if ('changed' in each && each.changed !== undefined) changes.push(each.changed)
  batch.changes.push(...changes.map((reason) => ({ place, reason, key: row.key })))
  return row.kind === 'comment'
    ? (row.body?.length ?? 0) + row.revisions.reduce((sum, { body }) => sum + body.length, 0)
    : 0
}
