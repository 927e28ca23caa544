import type { Id } from '../../core/ids.ts'
import type { Key } from '../../domains/imports/keys.ts'
import type { ImportFinding } from '../../domains/imports/report.ts'
import type { ImportedComment, ImportedItem, ImportedReaction, ImportedReport } from './imported.ts'

/** The rows of items: an id, or null for a reader who was erased, or a page that was deleted. */
export type Known = ReadonlyMap<Key, Id | null>

/** Comments, and their reactions and reports. */
export type ThreadItem = ImportedComment | ImportedReaction | ImportedReport

export interface Sorted {
  /** Parents come before their replies. */
  comments: ImportedComment[]
  onComments: (ImportedReaction | ImportedReport)[]
  /** Items that need an item that has not come yet. */
  waiting: ThreadItem[]
  refused: (ImportFinding & { key: Key })[]
}

type Fate = 'taken' | 'waits' | 'refused'

export const OF_ERASED_READER = 'is of a reader who was erased'
export const OF_DELETED_PAGE = 'is of a page whose discussion was deleted'
export const OF_MISSING_PAGE = 'is of a page that was not taken'
export const OF_MISSING_READER = 'is of a reader who was not taken'
export const OF_OWN_COMMENT = 'is a report by the author of the comment'
export const ON_MISSING_COMMENT = 'is on a comment that was not taken'

/**
 * Decides which rows can be stored now. The others wait for missing items; if these will not come
 * (`isLast`), they are taken without them or refused. Nothing of an erased reader is ever taken.
 */
export function sortOut(rows: readonly ImportedItem[], known: Known, isLast: boolean): Sorted {
  const sorted: Sorted = { comments: [], onComments: [], waiting: [], refused: [] }
  const fates = new Map<Key, Fate>()
  const comments = rows.filter((row) => row.kind === 'comment')
  const inBatch = new Set(comments.map(({ key }) => key))
  const refuse = ({ key, place }: ImportedItem, reason: string): void =>
    void sorted.refused.push({ key, place, reason })
  for (const row of parentsFirst(comments)) {
    const reason = refusalOf(row, known, isLast)
    const fate = reason === null ? fateOf(row, { known, isLast, fates, inBatch }) : 'refused'
    fates.set(row.key, fate)
    if (reason !== null) refuse(row, reason)
    else if (fate === 'taken') sorted.comments.push(row)
    else sorted.waiting.push(row)
  }
  for (const row of rows) {
    if (row.kind !== 'reaction' && row.kind !== 'report') continue
    const hasComment = known.has(row.commentKey) || fates.get(row.commentKey) === 'taken'
    if (known.get(row.readerKey) === null) refuse(row, OF_ERASED_READER)
    else if (hasComment && known.has(row.readerKey)) sorted.onComments.push(row)
    else if (!isLast) sorted.waiting.push(row)
    else refuse(row, hasComment ? OF_MISSING_READER : ON_MISSING_COMMENT)
  }
  return sorted
}

function refusalOf({ authorKey, discussionKey }: ImportedComment, known: Known, isLast: boolean): string | null {
  if (authorKey !== null && known.get(authorKey) === null) return OF_ERASED_READER
  if (known.get(discussionKey) === null) return OF_DELETED_PAGE
  return isLast && !known.has(discussionKey) ? OF_MISSING_PAGE : null
}

interface Deciding {
  known: Known
  isLast: boolean
  fates: ReadonlyMap<Key, Fate>
  inBatch: ReadonlySet<Key>
}

/** Whether a comment that was not refused is taken or waits. */
function fateOf({ authorKey, discussionKey, parentKey }: ImportedComment, deciding: Deciding): Fate {
  const { known, isLast, fates, inBatch } = deciding
  const lacks = (key: Key | null): boolean => key !== null && !known.has(key)
  if (!isLast && (lacks(discussionKey) || lacks(authorKey))) return 'waits'
  if (parentKey === null || known.has(parentKey)) return 'taken'
  // A parent in the batch that is undecided here is part of a circle of replies.
  const above = inBatch.has(parentKey) ? (fates.get(parentKey) ?? 'waits') : 'refused'
  if (above !== 'refused') return above
  return isLast ? 'taken' : 'waits'
}

/** The comments, each parent before its replies. */
export function parentsFirst(rows: readonly ImportedComment[]): Iterable<ImportedComment> {
  const byKey = new Map(rows.map((row) => [row.key, row]))
  const ordered = new Set<ImportedComment>()
  for (const row of rows) {
    const path = new Set<ImportedComment>()
    let next: ImportedComment | undefined = row
    while (next !== undefined && !ordered.has(next) && !path.has(next)) {
      path.add(next)
      next = byKey.get(next.parentKey ?? '')
    }
    for (const each of [...path].toReversed()) ordered.add(each)
  }
  return ordered
}
