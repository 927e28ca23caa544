import type { App } from '../../core/context.ts'
import { type Id, newId } from '../../core/ids.ts'
import { Pace } from '../../core/queues/pace.ts'
import type { Db, TxSql } from '../../core/sql.ts'
import { loadTenant } from '../../domains/tenants/tenants.ts'
import { keysOf, WITHOUT_FORMER } from '../export/former.ts'
import { type ImportFile, rulesOf, saltOf, tableUsesOf } from '../import/import.ts'
import type { Key } from '../../domains/imports/keys.ts'
import { storeOwn } from '../import/own.ts'
import { type ReadBatch, readBatches } from '../import/read-batches.ts'
import { findNamed, findPairs, findStanding } from './rehearse-sql.ts'
import {
  addCounts,
  addFindings,
  type ImportFinding,
  type ImportFindings,
  NO_FINDINGS,
  type TableUses,
  type TransferCounts,
} from '../../domains/imports/report.ts'
import {
  type ImportedComment,
  type ImportedDiscussion,
  type ImportedItem,
  type ImportedReaction,
  type ImportedReader,
  type ImportedReport,
  type PairKind,
  pairKindOf,
} from '../import/imported.ts'
import { ImportStopped, type Watching } from '../import/run.ts'
import { OF_ERASED_READER, OF_MISSING_PAGE, OF_MISSING_READER, ON_MISSING_COMMENT } from '../import/sort-out.ts'
import { readSource } from '../sources.ts'
import type { Work } from '../store/store.ts'
import { findItems } from '../store/sql.ts'
import { FATES, Survey } from '../import/survey.ts'
import { maxDepthOf, moveReason, WITHOUT_AUTHOR } from '../import/threads.ts'

/** The expected result of an import. */
export interface Rehearsal {
  source: string
  counts: TransferCounts
  /** Items that an import has taken before. */
  already: number
  /** Pages whose external id would be made of their id, because they have no address. */
  pagesWithoutAddress: number
  /** Comments whose author is not in the file, or was erased. */
  commentsWithoutAuthor: number
  refused: ImportFindings
  changed: ImportFindings
  /** Null without tables. */
  tables: TableUses | null
}

interface Rehearsing extends Work {
  file: ImportFile
  watching: Watching
  pace: Pace
  survey: Survey
  report: Rehearsal
}

/**
 * Reads a file twice, and writes nothing: first to learn what it contains, then to find out what an
 * import would take and refuse.
 */
export async function rehearseImport(
  app: App,
  tenantId: Id,
  file: ImportFile,
  watching: Watching = {},
): Promise<Rehearsal> {
  const now = new Date()
  const { settings } = await loadTenant(app, tenantId)
  const { source } = rulesOf(file, settings, now)
  const report: Rehearsal = {
    source,
    counts: {},
    already: 0,
    pagesWithoutAddress: 0,
    commentsWithoutAuthor: 0,
    refused: NO_FINDINGS,
    changed: NO_FINDINGS,
    tables: null,
  }
  const run: Rehearsing = {
    app: undoing(app),
    tenantId,
    importId: newId(),
    source,
    startedAt: now,
    maxDepth: settings.maxDepth,
    signal: watching.signal,
    counts: {},
    changed: NO_FINDINGS,
    pages: new Map(),
    isRehearsal: true,
    file,
    watching,
    pace: new Pace(app.db, watching.signal),
    survey: new Survey(),
    report,
  }
  const looked = { bytes: 0, items: 0 }
  for await (const batch of readOnce(run, now)) {
    await look(run, batch)
    looked.bytes = batch.bytes
    looked.items += batch.items
  }
  run.survey.settle(run.maxDepth)
  await run.pace.keep(async () => {
    for await (const batch of readOnce(run, now, looked)) await run.pace.slice(() => tell(run, batch))
  })
  return { ...run.report, tables: tableUsesOf(file) }
}

const UNDONE = new Error('undone')

/** The app with transactions that are always rolled back. */
function undoing(app: App): App {
  const { db } = app
  async function transaction<T>(work: (tx: TxSql) => Promise<T>): Promise<T> {
    let undo: (() => T) | null = null
    try {
      return await db.transaction(async (tx) => {
        const result = await work(tx)
        undo = () => result
        throw UNDONE
      })
    } catch (error) {
      if (error !== UNDONE || undo === null) throw error
      return (undo as () => T)()
    }
  }
  return { ...app, db: Object.assign(Object.create(db) as Db, { transaction }) }
}

async function* readOnce(run: Rehearsing, now: Date, before = { bytes: 0, items: 0 }): AsyncGenerator<ReadBatch> {
  const { app, tenantId, importId, file, watching, pace, report } = run
  const { settings } = await loadTenant(app, tenantId)
  const salt = await saltOf(app, tenantId, importId)
  const read = { bytes: 0 }
  let items = 0
  const found = readSource(file.source, file.path, (bytes) => void (read.bytes = bytes), salt)
  for await (const batch of readBatches(found, rulesOf(file, settings, now), file.source, pace, read)) {
    if (watching.signal?.aborted === true) throw new ImportStopped()
    yield batch
    items += batch.items
    // Each pass is half of the work.
    const bytes = Math.round((before.bytes + batch.bytes) / 2)
    const done = Math.round((before.items + items) / 2)
    watching.onProgress?.({ bytes, items: done, counts: report.counts, refused: report.refused.total })
  }
}

// The first pass: what the file contains.

async function look(run: Rehearsing, { rows, own }: ReadBatch): Promise<void> {
  if (own.length > 0) await lookAtOwn(run, own)
  const known = await findKnown(run, rows)
  const fresh = rows.filter(({ key }) => !known.has(key))
  run.report.already += rows.filter(({ key, kind }) => known.get(key) != null && isItem(kind)).length
  await lookAtReaders(
    run,
    fresh.filter((row) => row.kind === 'reader'),
  )
  await lookAtPages(
    run,
    fresh.filter((row) => row.kind === 'discussion'),
  )
  await lookAtComments(
    run,
    fresh.filter((row) => row.kind === 'comment'),
    known,
  )
}

/** Imports store keys of these kinds. */
const isItem = (kind: ImportedItem['kind']): boolean => kind !== 'reaction' && kind !== 'report'

async function lookAtOwn(run: Rehearsing, own: ReadBatch['own']): Promise<void> {
  const { already, refused } = await storeOwn(run, own)
  run.report.already += already
  run.report.counts = addCounts(run.report.counts, run.counts)
  run.counts = {}
  for (const finding of refused) note(run, 'refused', finding)
  const { first, total } = run.changed
  for (const finding of first) note(run, 'changed', finding)
  run.report.changed = { ...run.report.changed, total: run.report.changed.total + total - first.length }
  run.changed = NO_FINDINGS
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
  const keysById = (kind: keyof typeof keys): Map<Id, Key[]> => {
    const byId = new Map<Id, Key[]>()
    for (const key of keys[kind]) {
      const id = known.get(key)
      if (id === undefined) continue
      survey.setFate(key, id === null ? FATES.erased : FATES.there)
      if (id !== null) byId.set(id, [...(byId.get(id) ?? []), key])
    }
    return byId
  }
  for (const kind of ['reader', 'discussion'] as const) {
    const byId = keysById(kind)
    const named = await findNamed(query, tenantId, kind, [], [...byId.keys()])
    for (const { id, externalId } of named) for (const key of byId.get(id) ?? []) survey.addName(key, kind, externalId)
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

async function lookAtReaders(run: Rehearsing, rows: readonly ImportedReader[]): Promise<void> {
  const made = await lookAtNamed(run, 'reader', rows)
  run.report.counts = addCounts(run.report.counts, { readers: made.length })
  await lookAtFormer(run, made)
}

async function lookAtFormer(run: Rehearsing, rows: readonly ImportedReader[]): Promise<void> {
  const { app, tenantId, survey } = run
  const former = rows.flatMap(({ formerly }) => formerly)
  if (former.length === 0) return
  const [names, ids] = [former.map(({ externalId }) => externalId), former.map(({ id }) => id)]
  const there = await findNamed(app.db.query, tenantId, 'reader', names, ids)
  const known = await findItems(app.db.query, tenantId, keysOf(former))
  const taken = new Set([...there.flatMap(({ id, externalId }) => [id, externalId]), ...known.map(({ key }) => key)])
  for (const { place, formerly } of rows) {
    const left = formerly.filter(({ key, id, externalId }) => {
      const { isNew } = survey.addName(key, 'reader', externalId)
      const isTaken = !isNew || [key, id, externalId].some((each) => taken.has(each))
      if (!isTaken) survey.setFate(key, FATES.there)
      return isTaken
    })
    if (left.length > 0) note(run, 'changed', { place, reason: WITHOUT_FORMER })
  }
}

async function lookAtPages(run: Rehearsing, rows: readonly ImportedDiscussion[]): Promise<void> {
  const made = await lookAtNamed(run, 'discussion', rows)
  run.report.counts = addCounts(run.report.counts, { discussions: made.length })
  run.report.pagesWithoutAddress += made.filter(({ lacksAddress }) => lacksAddress).length
}

/** Those that the tenant lacks, each external id once. */
async function lookAtNamed<Row extends ImportedReader | ImportedDiscussion>(
  { app, tenantId, survey }: Rehearsing,
  kind: Row['kind'],
  rows: readonly Row[],
): Promise<Row[]> {
  const names = rows.map(({ externalId }) => externalId)
  const ids = rows.flatMap(({ keptId }) => keptId ?? [])
  const there = await findNamed(app.db.query, tenantId, kind, names, ids)
  const taken = new Set([...there.map(({ externalId }) => externalId), ...there.map(({ id }) => id)])
  return rows.filter(({ key, externalId, keptId }) => {
    survey.setFate(key, FATES.there)
    const { isNew } = survey.addName(key, kind, externalId)
    return isNew && !taken.has(externalId) && !taken.has(keptId ?? '')
  })
}

async function lookAtComments(
  { app, tenantId, survey, report }: Rehearsing,
  rows: readonly ImportedComment[],
  known: ReadonlyMap<Key, Id | null>,
): Promise<void> {
  const kept = rows.flatMap(({ keptId }) => keptId ?? [])
  const standing = new Map((await findStanding(app.db.query, tenantId, kept)).map((each) => [each.id, each]))
  for (const row of rows) {
    const there = standing.get(row.id)
    if (there === undefined) survey.addComment(row)
    else {
      survey.addStanding(row.key, there)
      report.already++
    }
    if (row.authorKey !== null && known.get(row.authorKey) === null) survey.setFate(row.key, FATES.refused)
  }
}

// The second pass: what happens to each item.

async function tell(run: Rehearsing, { rows, changes, refused, already }: ReadBatch): Promise<void> {
  const { app, tenantId, survey, report } = run
  report.already += already
  for (const finding of refused) note(run, 'refused', finding)
  const keys = new Set(rows.flatMap((row) => (isItem(row.kind) ? [row.key] : [row.key, ...hangingOn(row)])))
  const known = new Map((await findItems(app.db.query, tenantId, [...keys])).map(({ key, itemId }) => [key, itemId]))
  const changesOf = new Map<Key, string[]>()
  for (const { key, reason } of changes) changesOf.set(key, [...(changesOf.get(key) ?? []), reason])
  const pairs = await pairsIn(run, rows, known)
  const counts = { comments: 0, revisions: 0, reactions: 0, reports: 0 }
  for (const row of rows) {
    const { key, place } = row
    if (known.get(key) === null) note(run, 'refused', { place, reason: OF_ERASED_READER })
    if (known.has(key)) continue
    if (!isItem(row.kind) && !survey.isFirst(key)) {
      report.already++
      continue
    }
    const reason = refusalOf(survey, row)
    if (reason !== null) {
      note(run, 'refused', { place, reason })
      continue
    }
    if (row.kind === 'comment') {
      if (survey.fateOf(key) === FATES.there) continue
      counts.comments++
      counts.revisions += row.revisions.length
      tellMoves(run, row)
    } else if (row.kind === 'reaction' || row.kind === 'report') {
      const isThere = pairs[pairKindOf(row)].has(`${known.get(row.commentKey)} ${known.get(row.readerKey)}`)
      if (isThere || !survey.addPair(row)) report.already++
      else counts[row.kind === 'reaction' ? 'reactions' : 'reports']++
    }
    for (const change of changesOf.get(key) ?? []) note(run, 'changed', { place, reason: change })
  }
  report.counts = addCounts(report.counts, counts)
}

const hangingOn = (row: ImportedItem): Key[] =>
  row.kind === 'reaction' || row.kind === 'report' ? [row.commentKey, row.readerKey] : []

/** The reactions and reports of a batch that exist already. */
async function pairsIn(
  { app, tenantId }: Rehearsing,
  rows: readonly ImportedItem[],
  known: ReadonlyMap<Key, Id | null>,
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
function tellMoves(run: Rehearsing, row: ImportedComment): void {
  const { key, place, authorKey } = row
  const { survey, report, maxDepth } = run
  const lacksAuthor = authorKey !== null && survey.fateOf(authorKey) !== FATES.there
  if (lacksAuthor) note(run, 'changed', { place, reason: WITHOUT_AUTHOR })
  if (lacksAuthor || authorKey === null) report.commentsWithoutAuthor++
  const move = survey.moveOf(key)
  if (move !== null) note(run, 'changed', { place, reason: moveReason(move, maxDepthOf(row, maxDepth)) })
}

function note({ report, watching }: Rehearsing, kind: 'refused' | 'changed', finding: ImportFinding): void {
  report[kind] = addFindings(report[kind], [finding])
  watching.onFinding?.(kind, finding)
}
