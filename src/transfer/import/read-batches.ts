import { setImmediate } from 'node:timers/promises'

import { grouped } from '../../core/grouped.ts'
import type { Pace } from '../../core/queues/pace.ts'
import { checkItem } from './check.ts'
import type { Rules } from './checking.ts'
import { WITHOUT_FORMER } from '../store/former.ts'
import {
  comesLast,
  type ImportedDiscussion,
  type ImportedItem,
  type ImportedReader,
  type PlacedOwn,
} from '../store/imported.ts'
import type { Found } from '../item.ts'
import { KeyNumbers } from './key-numbers.ts'
import { type Key, keyOf } from '../../domains/imports/keys.ts'
import type { ImportFinding } from '../../domains/imports/report.ts'
import { parentsFirst } from '../store/sort-out.ts'
import type { SourceName } from '../../domains/imports/options.ts'

/** The most items that are stored together. */
export const BATCH_ITEMS = 4000
/** The most characters of text that are stored together, for batches of few long items. */
export const BATCH_LENGTH = 2_000_000

/**
 * Items that are read together. Files are often sorted by time: in a larger window, more items
 * belong to one page, and more replies are stored with their parents. The first windows are
 * smaller.
 */
const WINDOW_ITEMS = 4 * BATCH_ITEMS
const WINDOW_LENGTH = 3 * BATCH_LENGTH

/** Items that are checked, for a millisecond, before the event loop serves the database. */
const ITEMS_AT_ONCE = 8

/** Items that are stored together. */
export interface ReadBatch {
  rows: ImportedItem[]
  own: PlacedOwn[]
  changes: (ImportFinding & { key: Key })[]
  refused: ImportFinding[]
  /** Reactions and reports that were read before. */
  already: number
  items: number
  /** The file's bytes up to here. */
  bytes: number
}

export const newBatch = (): ReadBatch => ({
  rows: [],
  own: [],
  changes: [],
  refused: [],
  already: 0,
  items: 0,
  bytes: 0,
})

/** How many keys are remembered, in some 100 MB, to find duplicates. */
const MAX_REMEMBERED = 5_000_000

/** How far a file has been read. */
export interface FileRead {
  bytes: number
}

/**
 * Checked items of a source, in batches of the size that the pace allows. Only the first item of an
 * id counts. The result does not depend on the batch size.
 */
export async function* readBatches(
  found: AsyncIterable<Found>,
  rules: Rules,
  source: SourceName,
  pace: Pick<Pace, 'sized' | 'rest'>,
  file: FileRead = { bytes: 0 },
): AsyncGenerator<ReadBatch> {
  const reading = { rules, source, file, seen: new KeyNumbers(), items: 0, isOver: false }
  for await (const window of ahead(readWindows(found, reading, pace))) {
    for (const batch of window.batches(pace)) {
      let isTaken = false
      try {
        yield batch
        isTaken = true
      } finally {
        // Nobody will take the items that are still being read.
        reading.isOver = !isTaken
      }
    }
  }
}

/** Yields the same windows each time, whatever the pace. */
async function* readWindows(
  found: AsyncIterable<Found>,
  reading: Reading,
  pace: Pick<Pace, 'sized' | 'rest'>,
): AsyncGenerator<Window> {
  const { file } = reading
  let window = new Window(BATCH_ITEMS, file.bytes)
  let since = { items: 0, at: performance.now(), most: pace.sized(BATCH_ITEMS) }
  for await (const each of found) {
    window.take(each, reading)
    reading.items++
    since.items++
    // The previous batch is being stored: let its next statement go first.
    if (reading.items % ITEMS_AT_ONCE === 0) await setImmediate()
    if (reading.isOver) return
    if (since.items < since.most && !window.isWhole) continue
    await pace.rest(performance.now() - since.at)
    if (window.isWhole) {
      yield window.endAt(file.bytes)
      window = new Window(Math.min(Math.max(reading.items, BATCH_ITEMS), WINDOW_ITEMS), window.to)
    }
    since = { items: 0, at: performance.now(), most: pace.sized(BATCH_ITEMS) }
  }
  if (window.items > 0) yield window.endAt(file.bytes)
}

/** A file that is being read. */
interface Reading {
  rules: Rules
  source: SourceName
  file: FileRead
  seen: KeyNumbers
  items: number
  /** Whether the remaining items will not be taken. */
  isOver: boolean
}

/** Items that are read before any of them is stored. */
class Window {
  items = 0
  /** The file's bytes before the window's end. */
  to: number
  private length = 0
  private readonly from: number
  private readonly most: number
  private readonly whole = newBatch()
  private readonly hung = new Set<Key>()

  constructor(most: number, from: number) {
    this.most = most
    this.from = from
    this.to = from
  }

  get isWhole(): boolean {
    return this.items >= this.most || this.length >= WINDOW_LENGTH
  }

  endAt(bytes: number): this {
    this.to = bytes
    return this
  }

  take(each: Found, { rules, source, seen, items }: Reading): void {
    this.items++
    const { rows, changes, refused } = this.whole
    const before = { rows: rows.length, changes: changes.length }
    this.length += takeFound(this.whole, each, rules, items === 0)
    const row = rows[before.rows]
    if (row === undefined) return
    const isHungBefore = this.hasHung(row)
    if (isHungBefore || isSecond(row, seen)) {
      rows.pop()
      changes.splice(before.changes)
      if (isHungBefore) this.whole.already++
      // Other sources repeat a reader and a page with every comment.
      else if (row.kind === 'comment' || source === 'jsonl') {
        refused.push({ place: row.place, reason: `has the id of a ${row.kind} further up, which counts` })
      }
    } else if (row.kind === 'reader') keepFirst(row, seen, changes, rules.source)
    else if (row.kind === 'discussion') noteSamePage(row, seen, changes, rules.source)
  }

  /** Whether it is a duplicate reaction or report. */
  private hasHung({ kind, key }: ImportedItem): boolean {
    if (kind !== 'reaction' && kind !== 'report') return false
    const isKnown = this.hung.has(key)
    this.hung.add(key)
    return isKnown
  }

  /**
   * The window's items in batches: settings and endpoints, then readers and pages, then the
   * comments of one page after the other, and last mutes and audit entries, which refer to others.
   * Readers and pages without a time get that of their first comment in the window.
   */
  *batches(pace: Pick<Pace, 'sized'>): Generator<ReadBatch> {
    const { rows, own, changes, refused, already } = this.whole
    const firstAt = earliest(rows)
    for (const row of rows) {
      if (row.kind === 'reader' || row.kind === 'discussion') row.createdAt ??= firstAt.get(row.key) ?? null
    }
    const left = [...own.filter((each) => !comesLast(each)), ...pageByPage(rows), ...own.filter(comesLast)]
    // Frees what is stored.
    own.length = 0
    rows.length = 0
    const changesOf = grouped(changes, ({ key, place }) => `${key} ${place}`)
    // Items that became no row count in the first batch.
    let rest = { refused, already, items: this.items - left.length }
    let items = 0
    do {
      const some = left.splice(0, fitting(left, pace.sized(BATCH_ITEMS)))
      const someRows = some.filter(isRow)
      items += rest.items + some.length
      yield {
        ...rest,
        rows: someRows,
        own: some.filter(isOwn),
        changes: someRows.flatMap(({ key, place }) => changesOf.get(`${key} ${place}`) ?? []),
        items: rest.items + some.length,
        bytes: Math.round(this.from + ((this.to - this.from) * items) / this.items),
      }
      rest = { refused: [], already: 0, items: 0 }
    } while (left.length > 0)
  }
}

const isRow = (each: ImportedItem | PlacedOwn): each is ImportedItem => 'key' in each
const isOwn = (each: ImportedItem | PlacedOwn): each is PlacedOwn => !isRow(each)

/** How many of these fit into a batch with `most` characters; at least one. */
function fitting(all: readonly (ImportedItem | PlacedOwn)[], most: number): number {
  let length = 0
  const end = all.findIndex((each, n) => {
    const isFull = n >= most || length >= BATCH_LENGTH
    length += lengthOf(each)
    return isFull
  })
  return end === -1 ? all.length : end
}

/**
 * Readers and pages first, then everything of one page together: parents before their replies, then
 * reactions and reports on these comments. Those on earlier comments come last.
 */
function pageByPage(rows: readonly ImportedItem[]): ImportedItem[] {
  const comments = rows.filter((row) => row.kind === 'comment')
  const onComments = rows.filter((row) => row.kind === 'reaction' || row.kind === 'report')
  const pageOf = new Map(comments.map(({ key, discussionKey }) => [key, discussionKey]))
  const hung = grouped(onComments, ({ commentKey }) => pageOf.get(commentKey))
  const pages = [...grouped(comments, ({ discussionKey }) => discussionKey)]
  return [
    ...rows.filter(({ kind }) => kind === 'reader' || kind === 'discussion'),
    ...pages.flatMap(([page, all]) => [...parentsFirst(all), ...(hung.get(page) ?? [])]),
    ...(hung.get(undefined) ?? []),
  ]
}

/** When the first comment of each reader and discussion was written, as far as these items show. */
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

/** The items, each prefetched while the one before it is used. */
async function* ahead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next()
  // A failure is reported when it is awaited.
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
 * Leaves out former readers whose ids belong to earlier readers, or whose external ids belong to
 * earlier former ones.
 */
function keepFirst(row: ImportedReader, seen: KeyNumbers, changes: ReadBatch['changes'], source: string): void {
  const isNew = (key: Key): boolean => seen.size >= MAX_REMEMBERED || seen.add(key).isNew
  const first = row.formerly.filter(({ key, externalId }) => isNew(key) && isNew(keyOf(source, 'name', externalId)))
  if (first.length < row.formerly.length) changes.push({ key: row.key, place: row.place, reason: WITHOUT_FORMER })
  row.formerly = first
}

/** Notes pages of a source that get the same external id at the tenant: these become one. */
function noteSamePage(
  { key, place, externalId }: ImportedDiscussion,
  seen: KeyNumbers,
  changes: ReadBatch['changes'],
  source: string,
): void {
  if (seen.size >= MAX_REMEMBERED || seen.add(keyOf(source, 'name', 'discussion', externalId)).isNew) return
  changes.push({ key, place, reason: `becomes one page with an item further up, whose title counts: ${externalId}` })
}

/** Adds a checked item to a batch. Returns the length of its text. */
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
    if (row.kind === 'header') {
      if (isFirst) rules.keepsIds = true
      else batch.refused.push({ place, reason: 'is a header, which stands first alone' })
      return 0
    }
    const all = [...(changed === undefined ? [] : [changed]), ...changes]
    const own = { place, row, changed: all.length === 0 ? undefined : all.join('; ') }
    batch.own.push(own)
    return lengthOf(own)
  }
  batch.rows.push(row)
  if (changed !== undefined) {
    changes.push(changed)
    // Kept with the item, which may have to wait.
    row.item = { ...row.item, changed }
  }
  batch.changes.push(...changes.map((reason) => ({ place, reason, key: row.key })))
  return lengthOf(row)
}

/** The length of its text as read, or as stored if that is more. */
function lengthOf(each: ImportedItem | PlacedOwn): number {
  if (isOwn(each)) return JSON.stringify(each.row).length
  if (each.kind === 'comment') {
    const { item, bodyHtml, revisions } = each
    const read = 'body' in item ? (item.body?.length ?? 0) : 0
    return Math.max(read, bodyHtml?.length ?? 0) + revisions.reduce((sum, { body }) => sum + body.length, 0)
  }
  const texts = Object.values(each.item).filter((value) => typeof value === 'string')
  return texts.reduce((sum, { length }) => sum + length, 0)
}
