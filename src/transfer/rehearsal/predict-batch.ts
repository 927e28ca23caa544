import { grouped } from '../../core/grouped.ts'
import { isId } from '../../core/ids.ts'
import { type Key, keyOf } from '../../domains/imports/keys.ts'
import { addCounts } from '../../domains/imports/report.ts'
import {
  type ImportedComment,
  type ImportedItem,
  type ImportedReaction,
  type ImportedReport,
  type PairKind,
  pairKindOf,
} from '../store/imported.ts'
import { readersOf } from '../import/own.ts'
import type { ReadBatch } from '../import/read-batches.ts'
import { note } from '../import/run.ts'
import {
  type Known,
  OF_ERASED_READER,
  OF_MISSING_PAGE,
  OF_MISSING_READER,
  OF_OWN_COMMENT,
  ON_MISSING_COMMENT,
} from '../store/sort-out.ts'
import { FATES, type Survey } from '../import/survey.ts'
import { maxDepthOf, moveReason, WITHOUT_AUTHOR } from '../store/thread-places.ts'
import { findItems } from '../store/sql.ts'
import { findPairs } from './rehearse-sql.ts'
import { isItem, type Rehearsing } from './survey-batch.ts'

/** The second pass: finds out what happens to each item. */
export async function predictBatch(
  run: Rehearsing,
  { rows, own, changes, refused, already }: ReadBatch,
): Promise<void> {
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
  run.counts = addCounts(run.counts, { ...counts, mutes: await tellMutes(run, own) })
}

/** Returns how many mutes will be taken. */
async function tellMutes(run: Rehearsing, own: ReadBatch['own']): Promise<number> {
  const { app, tenantId, source, survey } = run
  const mutes = own.flatMap(({ place, row }) =>
    row.kind === 'mute' ? [{ place, id: row.id, ...readersOf(source, row) }] : [],
  )
  if (mutes.length === 0) return 0
  const keys = new Set(mutes.flatMap(({ reader, muted }) => [reader, muted]))
  const known = new Map((await findItems(app.db.query, tenantId, [...keys])).map(({ key, itemId }) => [key, itemId]))
  const ids = new Set([...known.values()].filter((id) => id !== null))
  const found = await app.prisma.readerMute.findMany({
    where: { tenantId, readerId: { in: [...ids] }, mutedId: { in: [...ids] } },
    select: { readerId: true, mutedId: true },
  })
  const there = new Set(found.map(({ readerId, mutedId }) => `${readerId} ${mutedId}`))
  let count = 0
  for (const { place, id, reader, muted } of mutes) {
    const fates = [reader, muted].map((key) =>
      known.has(key) ? (known.get(key) === null ? FATES.erased : FATES.there) : survey.fateOf(key),
    )
    if (!isId(id)) note(run, 'refused', [{ place, reason: 'id: is not a UUID' }])
    else if (fates.includes(FATES.erased)) note(run, 'refused', [{ place, reason: OF_ERASED_READER }])
    else if (fates.some((fate) => fate !== FATES.there)) note(run, 'refused', [{ place, reason: OF_MISSING_READER }])
    else if (there.has(`${known.get(reader)} ${known.get(muted)}`)) run.already++
    else if (!survey.isFirst(keyOf(source, 'mute', reader, muted))) run.already++
    else count++
  }
  return count
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

function refusalOnComment(survey: Survey, row: ImportedReaction | ImportedReport): string | null {
  const { commentKey, readerKey } = row
  if (survey.fateOf(readerKey) === FATES.erased) return OF_ERASED_READER
  const comment = survey.fateOf(commentKey)
  if (comment !== FATES.there && comment !== FATES.taken) return ON_MISSING_COMMENT
  if (survey.fateOf(readerKey) !== FATES.there) return OF_MISSING_READER
  return row.kind === 'report' && survey.isByAuthor(row) ? OF_OWN_COMMENT : null
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
