import { grouped } from '../../core/grouped.ts'
import type { Key } from '../../domains/imports/keys.ts'
import { addCounts } from '../../domains/imports/report.ts'
import {
  type ImportedComment,
  type ImportedItem,
  type ImportedReaction,
  type ImportedReport,
  type PairKind,
  pairKindOf,
} from '../import/imported.ts'
import type { ReadBatch } from '../import/read-batches.ts'
import { note } from '../import/run.ts'
import {
  type Known,
  OF_ERASED_READER,
  OF_MISSING_PAGE,
  OF_MISSING_READER,
  ON_MISSING_COMMENT,
} from '../import/sort-out.ts'
import { FATES, type Survey } from '../import/survey.ts'
import { maxDepthOf, moveReason, WITHOUT_AUTHOR } from '../import/threads.ts'
import { findItems } from '../store/sql.ts'
import { findPairs } from './rehearse-sql.ts'
import { isItem, type Rehearsing } from './survey-batch.ts'

/** The second pass: finds out what happens to each item. */
export async function predictBatch(run: Rehearsing, { rows, changes, refused, already }: ReadBatch): Promise<void> {
  const { app, tenantId, survey } = run
  run.already += already
  note(run, 'refused', refused)
  const keys = new Set(rows.flatMap((row) => (isItem(row.kind) ? [row.key] : [row.key, ...hangingOn(row)])))
  const known = new Map((await findItems(app.db.query, tenantId, [...keys])).map(({ key, itemId }) => [key, itemId]))
  const changesOf = grouped(changes, ({ key }) => key)
  const pairs = await pairsIn(run, rows, known)
  const counts = { comments: 0, revisions: 0, reactions: 0, reports: 0 }
  for (const row of rows) {
    const { key, place } = row
    if (known.get(key) === null) note(run, 'refused', [{ place, reason: OF_ERASED_READER }])
    if (known.has(key)) continue
    if (!isItem(row.kind) && !survey.isFirst(key)) {
      run.already++
      continue
    }
    const reason = refusalOf(survey, row)
    if (reason !== null) {
      note(run, 'refused', [{ place, reason }])
      continue
    }
    if (row.kind === 'comment') {
      if (survey.fateOf(key) === FATES.there) continue
      counts.comments++
      counts.revisions += row.revisions.length
      noteMoves(run, row)
    } else if (row.kind === 'reaction' || row.kind === 'report') {
      const isThere = pairs[pairKindOf(row)].has(`${known.get(row.commentKey)} ${known.get(row.readerKey)}`)
      if (isThere || !survey.addPair(row)) run.already++
      else counts[row.kind === 'reaction' ? 'reactions' : 'reports']++
    }
    for (const change of changesOf.get(key) ?? []) note(run, 'changed', [{ place, reason: change.reason }])
  }
  run.counts = addCounts(run.counts, counts)
}

const hangingOn = (row: ImportedItem): Key[] =>
  row.kind === 'reaction' || row.kind === 'report' ? [row.commentKey, row.readerKey] : []

/** The reactions and reports of a batch that exist already. */
async function pairsIn(
  { app, tenantId }: Rehearsing,
  rows: readonly ImportedItem[],
  known: Known,
): Promise<Record<PairKind, Set<string>>> {
  const find = async (kind: PairKind): Promise<Set<string>> => {
    const pairs = rows.flatMap((row) => {
      if ((row.kind !== 'reaction' && row.kind !== 'report') || pairKindOf(row) !== kind) return []
      const [commentId, readerId] = [known.get(row.commentKey), known.get(row.readerKey)]
      return commentId == null || readerId == null ? [] : [{ commentId, readerId }]
    })
    const found = await findPairs(app.db.query, tenantId, kind, pairs)
    return new Set(found.map(({ commentId, readerId }) => `${commentId} ${readerId}`))
  }
  const [reaction, inShadow] = [await find('reaction'), await find('shadow_reaction')]
  return { reaction, shadow_reaction: inShadow, report: await find('report') }
}

/** Why an item will be refused; null if it will be taken. */
function refusalOf(survey: Survey, row: ImportedItem): string | null {
  if (row.kind === 'comment') {
    if (survey.fateOf(row.key) !== FATES.refused) return null
    const isOfErased = row.authorKey !== null && survey.fateOf(row.authorKey) === FATES.erased
    return isOfErased ? OF_ERASED_READER : OF_MISSING_PAGE
  }
  return row.kind === 'reaction' || row.kind === 'report' ? refusalOnComment(survey, row) : null
}

function refusalOnComment(survey: Survey, { commentKey, readerKey }: ImportedReaction | ImportedReport): string | null {
  if (survey.fateOf(readerKey) === FATES.erased) return OF_ERASED_READER
  const comment = survey.fateOf(commentKey)
  if (comment !== FATES.there && comment !== FATES.taken) return ON_MISSING_COMMENT
  return survey.fateOf(readerKey) === FATES.there ? null : OF_MISSING_READER
}

/** Reports how a comment's place will differ from its item. */
function noteMoves(run: Rehearsing, row: ImportedComment): void {
  const { key, place, authorKey } = row
  const { survey, maxDepth } = run
  const lacksAuthor = authorKey !== null && survey.fateOf(authorKey) !== FATES.there
  if (lacksAuthor) note(run, 'changed', [{ place, reason: WITHOUT_AUTHOR }])
  if (lacksAuthor || authorKey === null) run.commentsWithoutAuthor++
  const move = survey.moveOf(key)
  if (move !== null) note(run, 'changed', [{ place, reason: moveReason(move, maxDepthOf(row, maxDepth)) }])
}
