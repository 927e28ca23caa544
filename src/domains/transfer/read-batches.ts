import { setImmediate } from 'node:timers/promises'

import type { Pace } from '../../core/pace.ts'
import { checkItem, type Rules } from './check.ts'
import { WITHOUT_FORMER } from './former.ts'
import type { ImportedDiscussion, ImportedItem, ImportedReader, PlacedOwn } from './imported.ts'
import type { Found } from './item.ts'
import { KeyNumbers } from './key-numbers.ts'
import { type Key, keyOf } from './keys.ts'
import type { ImportFinding } from './report.ts'
import type { SourceName } from './sources.ts'

/**
 * Items that are read together. As many are stored together at most. Files are often in the order
 * of time: of more items, more are of one page, and more replies are stored with their parents.
 */
export const BATCH_ITEMS = 4000
/** As much text, in characters, so that few long ones are not much more. */
export const BATCH_LENGTH = 2_000_000

/** So many items, a millisecond of work, are checked before the database is listened to. */
const ITEMS_AT_ONCE = 8

/** What was read together. */
export interface ReadBatch {
  rows: ImportedItem[]
  own: PlacedOwn[]
  changes: (ImportFinding & { key: Key })[]
  refused: ImportFinding[]
  /** Reactions and reports that were read before. */
  already: number
  items: number
}

export const newBatch = (): ReadBatch => ({ rows: [], own: [], changes: [], refused: [], already: 0, items: 0 })

/** So many keys are remembered, in some 100 MB, to tell of those that come twice. */
const MAX_REMEMBERED = 5_000_000

/**
 * The items of a source, checked, in batches of the size that the pace says. An id counts once.
 * What an item becomes does not depend on that size.
 */
export async function* readBatches(
  found: AsyncIterable<Found>,
  rules: Rules,
  source: SourceName,
  pace: Pick<Pace, 'sized' | 'rest'>,
): AsyncGenerator<ReadBatch> {
  for await (const batches of ahead(readWindows(found, rules, source, pace))) yield* batches
}

/** The same items each time, in batches of the size that the pace says. */
async function* readWindows(
  found: AsyncIterable<Found>,
  rules: Rules,
  source: SourceName,
  pace: Pick<Pace, 'sized' | 'rest'>,
): AsyncGenerator<ReadBatch[]> {
  const seen = new KeyNumbers()
  let window = new Window()
  let batch = window.add()
  let most = pace.sized(BATCH_ITEMS)
  let beganAt = performance.now()
  let isFirst = true
  for await (const each of found) {
    batch.items++
    window.items++
    const { rows, changes } = batch
    const before = { rows: rows.length, changes: changes.length }
    window.length += takeFound(batch, each, rules, isFirst)
    const row = rows[before.rows]
    const isHungBefore = row !== undefined && window.hasHung(row)
    if (row !== undefined && (isHungBefore || isSecond(row, seen))) {
      rows.pop()
      changes.splice(before.changes)
      if (isHungBefore) batch.already++
      // Other sources name a reader and a page with every comment.
      else if (row.kind === 'comment' || source === 'jsonl') {
        batch.refused.push({ place: row.place, reason: `has the id of a ${row.kind} further up, which counts` })
      }
    } else if (row?.kind === 'reader') keepFirst(row, seen, changes, rules.source)
    else if (row?.kind === 'discussion') noteSamePage(row, seen, changes, rules.source)
    isFirst = false
    // The batch before is being stored: its next statement goes first.
    if (batch.items % ITEMS_AT_ONCE === 0) await setImmediate()
    const isWhole = window.items >= BATCH_ITEMS || window.length >= BATCH_LENGTH
    if (batch.items < most && !isWhole) continue
    await pace.rest(performance.now() - beganAt)
    if (isWhole) {
      yield window.close()
      window = new Window()
    }
    batch = window.add()
    most = pace.sized(BATCH_ITEMS)
    beganAt = performance.now()
  }
  if (window.items > 0) yield window.close()
}

/** What is read before any of it is stored. */
class Window {
  items = 0
  length = 0
  private readonly batches: ReadBatch[] = []
  private readonly hung = new Set<Key>()

  add(): ReadBatch {
    const batch = newBatch()
    this.batches.push(batch)
    return batch
  }

  /** Whether it is a reaction or a report that was asked for before. */
  hasHung({ kind, key }: ImportedItem): boolean {
    if (kind !== 'reaction' && kind !== 'report') return false
    const isKnown = this.hung.has(key)
    this.hung.add(key)
    return isKnown
  }

  /** The batches. Readers and pages without a time have that of their first comment here. */
  close(): ReadBatch[] {
    const rows = this.batches.flatMap((batch) => batch.rows)
    const firstAt = earliest(rows)
    for (const row of rows) {
      if (row.kind === 'reader' || row.kind === 'discussion') row.createdAt ??= firstAt.get(row.key) ?? null
    }
    return this.batches.filter(({ items }) => items > 0)
  }
}

/** When the first comment of each reader and discussion was written, as far as these tell. */
function earliest(rows: readonly ImportedItem[]): Map<Key, Date> {
  const first = new Map<Key, Date>()
  for (const row of rows) {
    if (row.kind !== 'comment') continue
    for (const key of [row.authorKey, row.discussionKey]) {
      if (key !== null && (first.get(key) ?? row.createdAt) >= row.createdAt) first.set(key, row.createdAt)
    }
  }
  return first
}

/** The same items, each begun while the one before it is being used. */
async function* ahead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next()
  // Its failure is told when it is its turn.
  next.catch(() => undefined)
  try {
    for (;;) {
      const { done, value } = await next
      if (done === true) return
      next = items.next()
      next.catch(() => undefined)
      yield value
    }
  } finally {
    await next.catch(() => undefined)
    await items.return(undefined)
  }
}

function isSecond({ kind, key }: ImportedItem, seen: KeyNumbers): boolean {
  return kind !== 'reaction' && kind !== 'report' && seen.size < MAX_REMEMBERED && !seen.add(key).isNew
}

/**
 * Leaves out former readers whose ids are those of readers further up, or whose external ids are
 * those of former ones.
 */
function keepFirst(row: ImportedReader, seen: KeyNumbers, changes: ReadBatch['changes'], source: string): void {
  const isNew = (key: Key): boolean => seen.size >= MAX_REMEMBERED || seen.add(key).isNew
  const first = row.formerly.filter(({ key, externalId }) => isNew(key) && isNew(keyOf(source, 'name', externalId)))
  if (first.length < row.formerly.length) changes.push({ key: row.key, place: row.place, reason: WITHOUT_FORMER })
  row.formerly = first
}

/** Several pages of a source may have one external id at the tenant: then they are one. */
function noteSamePage(
  { key, place, externalId }: ImportedDiscussion,
  seen: KeyNumbers,
  changes: ReadBatch['changes'],
  source: string,
): void {
  if (seen.size >= MAX_REMEMBERED || seen.add(keyOf(source, 'name', 'discussion', externalId)).isNew) return
  changes.push({ key, place, reason: `becomes one page with an item further up, whose title counts: ${externalId}` })
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
  const changed = 'changed' in each ? each.changed : undefined
  if (!('key' in row)) {
    if (row.kind !== 'header') batch.own.push({ place, row, changed })
    else if (isFirst) rules.keepsIds = true
    else batch.refused.push({ place, reason: 'is a header, which stands first alone' })
    return 0
  }
  batch.rows.push(row)
  if (changed !== undefined) {
    changes.push(changed)
    // It may have to wait.
    row.item = { ...row.item, changed }
  }
  batch.changes.push(...changes.map((reason) => ({ place, reason, key: row.key })))
  return row.kind === 'comment'
    ? (row.body?.length ?? 0) + row.revisions.reduce((sum, { body }) => sum + body.length, 0)
    : 0
}
