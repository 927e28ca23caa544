import { grouped } from '../../core/grouped.ts'
import type { Id } from '../../core/ids.ts'
import type { Key } from '../../domains/imports/keys.ts'
import { addCounts } from '../../domains/imports/report.ts'
import { keysOf, WITHOUT_FORMER } from '../store/former.ts'
import type { Reading } from '../import/import.ts'
import type { ImportedComment, ImportedDiscussion, ImportedItem, ImportedReader } from '../store/imported.ts'
import type { ReadBatch } from '../import/read-batches.ts'
import { note, storeOwnItems } from '../import/run.ts'
import type { Known } from '../store/sort-out.ts'
import { FATES, type Survey } from '../import/survey.ts'
import { findItems } from '../store/sql.ts'
import { findNamed, findStanding } from './rehearse-sql.ts'

/** What items of a file lack, as a rehearsal counts it. */
export interface Lacking {
  /** Pages whose external id would be made of their id, because they have no address. */
  pagesWithoutAddress: number
  /** Comments whose author is not in the file, or was erased. */
  commentsWithoutAuthor: number
}

/** A run that stores nothing. */
export interface Rehearsing extends Reading, Lacking {
  survey: Survey
}

/** Imports store keys of these kinds. */
export const isItem = (kind: ImportedItem['kind']): boolean => kind !== 'reaction' && kind !== 'report'

/** The first pass: learns what the file contains. */
export async function surveyBatch(run: Rehearsing, { rows, own }: ReadBatch): Promise<void> {
  // Those of mutes are not stored: the second pass finds out about these.
  const others = own.filter(({ row }) => row.kind !== 'mute')
  if (others.length > 0) await storeOwnItems(run, others)
  const known = await findKnown(run, rows)
  const fresh = rows.filter(({ key }) => !known.has(key))
  run.already += rows.filter(({ key, kind }) => known.get(key) != null && isItem(kind)).length
  const readers = fresh.filter((row) => row.kind === 'reader')
  const newReaders = await surveyNamed(run, 'reader', readers)
  await surveyFormer(run, newReaders)
  const pages = await surveyNamed(
    run,
    'discussion',
    fresh.filter((row) => row.kind === 'discussion'),
  )
  run.counts = addCounts(run.counts, { readers: newReaders.length, discussions: pages.length })
  run.pagesWithoutAddress += pages.filter(({ lacksAddress }) => lacksAddress).length
  await surveyComments(
    run,
    fresh.filter((row) => row.kind === 'comment'),
    known,
  )
}

/** The results of earlier imports for these items, and for those that they refer to. */
async function findKnown(
  { app, tenantId, survey }: Rehearsing,
  rows: readonly ImportedItem[],
): Promise<Map<Key, Id | null>> {
  const keys = { reader: new Set<Key>(), discussion: new Set<Key>(), comment: new Set<Key>() }
  for (const row of rows) {
    if (isItem(row.kind)) keys[row.kind as keyof typeof keys].add(row.key)
    for (const [kind, key] of referencesOf(row)) if (key !== null) keys[kind].add(key)
  }
  const { query } = app.db
  const items = await findItems(query, tenantId, [...keys.reader, ...keys.discussion, ...keys.comment])
  const known = new Map(items.map(({ key, itemId }) => [key, itemId]))
  for (const { key, itemId } of items) survey.setFate(key, itemId === null ? FATES.erased : FATES.there)
  const keysById = (kind: keyof typeof keys): Map<Id, Key[]> => {
    const there = items.flatMap(({ key, itemId }) => (itemId !== null && keys[kind].has(key) ? [{ key, itemId }] : []))
    return new Map([...grouped(there, ({ itemId }) => itemId)].map(([id, all]) => [id, all.map(({ key }) => key)]))
  }
  for (const kind of ['reader', 'discussion'] as const) {
    const byId = keysById(kind)
    const named = await findNamed(app, tenantId, kind, [], [...byId.keys()])
    for (const { id, externalIdNow } of named) {
      for (const key of byId.get(id) ?? []) survey.addName(key, kind, externalIdNow)
    }
  }
  const byId = keysById('comment')
  for (const standing of await findStanding(query, tenantId, [...byId.keys()])) {
    for (const key of byId.get(standing.id) ?? []) survey.addStanding(key, standing)
  }
  return known
}

function referencesOf(row: ImportedItem): ['reader' | 'discussion' | 'comment', Key | null][] {
  switch (row.kind) {
    case 'comment':
      return [
        ['discussion', row.discussionKey],
        ['comment', row.parentKey],
        ['reader', row.authorKey],
      ]
    case 'reaction':
    case 'report':
      return [
        ['comment', row.commentKey],
        ['reader', row.readerKey],
      ]
    default:
      return []
  }
}

async function surveyFormer(run: Rehearsing, rows: readonly ImportedReader[]): Promise<void> {
  const { app, tenantId, survey } = run
  const former = rows.flatMap(({ formerly }) => formerly)
  if (former.length === 0) return
  const [names, ids] = [former.map(({ externalId }) => externalId), former.map(({ id }) => id)]
  const there = await findNamed(app, tenantId, 'reader', names, ids)
  const known = await findItems(app.db.query, tenantId, keysOf(former))
  const taken = new Set([...there.flatMap(({ id, externalId }) => [id, externalId]), ...known.map(({ key }) => key)])
  for (const { place, externalId, formerly } of rows) {
    const left = formerly.filter(
      (each) =>
        [each.key, each.id, each.externalId].some((one) => taken.has(one)) || !survey.addFormer(each, externalId),
    )
    if (left.length > 0) note(run, 'changed', [{ place, reason: WITHOUT_FORMER }])
  }
}

/** Those that the tenant lacks, each external id once. */
async function surveyNamed<Row extends ImportedReader | ImportedDiscussion>(
  { app, tenantId, survey }: Rehearsing,
  kind: Row['kind'],
  rows: readonly Row[],
): Promise<Row[]> {
  const names = rows.map(({ externalId }) => externalId)
  const ids = rows.flatMap(({ keptId }) => keptId ?? [])
  const there = await findNamed(app, tenantId, kind, names, ids)
  const taken = new Set([...there.map(({ externalId }) => externalId), ...there.map(({ id }) => id)])
  const fresh = rows.filter(({ key, externalId, keptId }) => {
    survey.setFate(key, FATES.there)
    const { isNew } = survey.addName(key, kind, externalId)
    return isNew && !taken.has(externalId) && !taken.has(keptId ?? '')
  })
  for (const { externalId, externalIdNow } of there) survey.addLead(kind, externalId, externalIdNow)
  return fresh
}

async function surveyComments(run: Rehearsing, rows: readonly ImportedComment[], known: Known): Promise<void> {
  const { app, tenantId, survey } = run
  const kept = rows.flatMap(({ keptId }) => keptId ?? [])
  const standing = new Map((await findStanding(app.db.query, tenantId, kept)).map((each) => [each.id, each]))
  for (const row of rows) {
    const there = standing.get(row.id)
    if (there === undefined) survey.addComment(row)
    else {
      survey.addStanding(row.key, there)
      run.already++
    }
    if (row.authorKey !== null && known.get(row.authorKey) === null) survey.setFate(row.key, FATES.refused)
  }
}
