import { setImmediate } from 'node:timers/promises'

import type { Pace } from '../../core/pace.ts'
import { checkItem, type Rules } from './check.ts'
import { WITHOUT_FORMER } from './former.ts'
import type { ImportedDiscussion, ImportedItem, ImportedReader, PlacedOwn } from './imported.ts'
import type { Found } from './item.ts'
import { KeyNumbers } from './key-numbers.ts'
import { type Key, keyOf } from './keys.ts'
import type { ImportFinding } from './report.ts'
import { parentsFirst } from './sort-out.ts'
import type { SourceName } from './sources.ts'

/** Items that are stored together at most. */
export const BATCH_ITEMS = 4000
/** As much text, in characters, so that few long ones are not much more. */
export const BATCH_LENGTH = 2_000_000

/**
 * Items that are read together. Files are often in the order of time: of more items, more are of
 * one page, and more replies are stored with their parents. The first ones are fewer.
 */
const WINDOW_ITEMS = 4 * BATCH_ITEMS
const WINDOW_LENGTH = 3 * BATCH_LENGTH

/** So many items, a millisecond of work, are checked before the database is listened to. */
const ITEMS_AT_ONCE = 8

/** What is stored together. */
export interface ReadBatch {
  rows: ImportedItem[]
  own: PlacedOwn[]
  changes: (ImportFinding & { key: Key })[]
  refused: ImportFinding[]
  /** Reactions and reports that were read before. */
  already: number
  items: number
  /** Of the file, up to here. */
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

/** So many keys are remembered, in some 100 MB, to tell of those that come twice. */
const MAX_REMEMBERED = 5_000_000

/** How far a file is read. */
export interface FileRead {
  bytes: number
}

/**
 * The items of a source, checked, in batches of the size that the pace says. An id counts once.
 * What an item becomes does not depend on that size.
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
        // Nobody waits for what is being read meanwhile.
        reading.isOver = !isTaken
      }
    }
  }
}

/** The same windows each time, whatever the pace. */
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
    // The batch before is being stored: its next statement goes first.
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
  /** Whether nobody takes what is still read. */
  isOver: boolean
}

/** What is read before any of it is stored. */
class Window {
  items = 0
  /** Bytes of the file before its end. */
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
      // Other sources name a reader and a page with every comment.
      else if (row.kind === 'comment' || source === 'jsonl') {
        refused.push({ place: row.place, reason: `has the id of a ${row.kind} further up, which counts` })
      }
    } else if (row.kind === 'reader') keepFirst(row, seen, changes, rules.source)
    else if (row.kind === 'discussion') noteSamePage(row, seen, changes, rules.source)
  }

  /** Whether it is a reaction or a report that was asked for before. */
  private hasHung({ kind, key }: ImportedItem): boolean {
    if (kind !== 'reaction' && kind !== 'report') return false
    const isKnown = this.hung.has(key)
    this.hung.add(key)
    return isKnown
  }

  /**
   * What was read: settings and endpoints, then readers and pages, then page by page what is on
   * them, and then entries of the audit log, which are about what comes before them. Readers and
   * pages without a time have that of their first comment here.
   */
  *batches(pace: Pick<Pace, 'sized'>): Generator<ReadBatch> {
    const { rows, own, changes, refused, already } = this.whole
    const firstAt = earliest(rows)
    for (const row of rows) {
      if (row.kind === 'reader' || row.kind === 'discussion') row.createdAt ??= firstAt.get(row.key) ?? null
    }
    const isAudit = ({ row }: PlacedOwn): boolean => row.kind === 'audit'
    const left = [...own.filter((each) => !isAudit(each)), ...pageByPage(rows), ...own.filter(isAudit)]
    // Nothing holds what is stored.
    own.length = 0
    rows.length = 0
    const changesOf = grouped(changes, ({ key, place }) => `${key} ${place}`)
    // What has become no row counts to the first batch.
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

/** How many of these fit into a batch that has `most` at most: one at least. */
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
 * Readers and pages, then all of a page together: parents before what replies to them, then what
 * hangs on these comments. What hangs on comments that were read before comes last.
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

function grouped<Each, By>(all: readonly Each[], by: (each: Each) => By): Map<By, Each[]> {
  const groups = new Map<By, Each[]>()
  for (const each of all) {
    const group = groups.get(by(each))
    if (group === undefined) groups.set(by(each), [each])
    else group.push(each)
  }
  return groups
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
    if (row.kind === 'header') {
      if (isFirst) rules.keepsIds = true
      else batch.refused.push({ place, reason: 'is a header, which stands first alone' })
      return 0
    }
    const own = { place, row, changed }
    batch.own.push(own)
    return lengthOf(own)
  }
  batch.rows.push(row)
  if (changed !== undefined) {
    changes.push(changed)
    // It may have to wait.
    row.item = { ...row.item, changed }
  }
  batch.changes.push(...changes.map((reason) => ({ place, reason, key: row.key })))
  return lengthOf(row)
}

/** Characters of text in it: as it was read, or as it is stored, where that is more. */
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
