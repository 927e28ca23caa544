import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { storeFormer } from './former.ts'
import type { ImportedDiscussion, ImportedReader } from './imported.ts'
import { findErasedNames } from './imports-sql.ts'
import { idAt, keyOf } from '../../domains/imports/keys.ts'
import { OF_ERASED_READER } from './sort-out.ts'
import { advance, findKnown, freshOf, type ItemBatch, latestOf, type Stored, type Work } from './store.ts'
import * as sql from './named-sql.ts'
import { insertItems, insertNotes, type NewItem } from './sql.ts'

type NamedItem = ImportedReader | ImportedDiscussion

/** Stores the readers and discussions of a batch. Existing ones are found by external id. */
export async function storeNamed(work: Work, batch: ItemBatch): Promise<Stored> {
  const rows = batch.rows.filter((row): row is NamedItem => row.kind === 'reader' || row.kind === 'discussion')
  let stored: Stored = { already: 0, refused: [] }
  if (rows.length === 0) return stored
  await advance(work, async (tx) => {
    const known = await findKnown(tx, work, rows)
    const fresh = freshOf(rows, known)
    // An earlier run has reported those who were erased.
    const gone = rows.filter(({ key }) => known.get(key) === null)
    const chosen = fresh.map((row) => choose(row, work.startedAt))
    const refused = gone.map(({ place }) => ({ place, reason: OF_ERASED_READER }))
    stored = { already: rows.length - fresh.length - gone.length, refused }
    if (fresh.length === 0) return null
    const readers = await storeReaders(tx, work, chosen.filter(isOfReader))
    const discussions = await storeDiscussions(tx, work, chosen.filter(isOfDiscussion))
    await insertItems(tx, work.tenantId, work.importId, [...readers, ...discussions])
    const created = new Set(readers.flatMap(({ key, made }) => (made ? [key] : [])))
    const createdReaders = chosen.filter(isOfReader).filter(({ row }) => created.has(row.key))
    const notes = await storeFormer(tx, work, createdReaders)
    await insertNotes(
      tx,
      work.tenantId,
      createdReaders.flatMap(({ row, id }) => row.notes.map((note) => ({ ...note, readerId: id, commentId: null }))),
    )
    const erased = new Set(readers.filter(({ itemId }) => itemId === null).map(({ key }) => key))
    for (const { key, place } of fresh) if (erased.has(key)) stored.refused.push({ place, reason: OF_ERASED_READER })
    const keys = new Set(fresh.map(({ key }) => key))
    return {
      counts: { readers: countCreated(readers), discussions: countCreated(discussions) },
      changes: [...batch.changes.filter(({ key }) => keys.has(key) && !erased.has(key)), ...notes],
    }
  })
  return stored
}

const countCreated = (items: readonly NewItem[]): number => items.filter(({ made }) => made).length

interface Chosen<Row> {
  row: Row
  id: Id
  createdAt: Date
}

function choose<Row extends NamedItem>(row: Row, otherwiseAt: Date): Chosen<Row> {
  const createdAt = row.createdAt ?? otherwiseAt
  // With another `--map` or `--page` an item becomes another page, even beside one that an undo
  // has left.
  return { row, createdAt, id: row.keptId ?? idAt(keyOf(row.key, row.kind, row.externalId), createdAt) }
}

const isOfReader = (chosen: Chosen<NamedItem>): chosen is Chosen<ImportedReader> => chosen.row.kind === 'reader'
const isOfDiscussion = (chosen: Chosen<NamedItem>): chosen is Chosen<ImportedDiscussion> =>
  chosen.row.kind === 'discussion'

/** Two of the source may be one at the tenant: the first counts. */
const byName = <Row extends NamedItem>(chosen: readonly Chosen<Row>[]): Chosen<Row>[] => [
  ...new Map(chosen.toReversed().map((each) => [each.row.externalId, each])).values(),
]

/** Inserts those with new external ids, and finds the others. */
async function storeReaders(tx: TxSql, work: Work, chosen: readonly Chosen<ImportedReader>[]): Promise<NewItem[]> {
  if (chosen.length === 0) return []
  const { tenantId, importId } = work
  const rows = byName(chosen).map(({ row, id, createdAt }) => newReader(row, id, createdAt))
  const inserted = new Set((await sql.insertReaders(tx, tenantId, rows)).map(({ id }) => id))
  const newOnes = rows.filter(({ id }) => inserted.has(id))
  // Locks against erasures that have not begun; erasures that have begun are visible after it.
  const find = await finder(sql.findReaders, tx, tenantId, chosen, newOnes)
  const erased = await findErasedNames(
    tx,
    tenantId,
    importId,
    chosen.map(({ row }) => row.externalId),
  )
  await sql.removeInserted(
    tx,
    tenantId,
    newOnes.filter(({ externalId }) => erased.has(externalId)).map(({ id }) => id),
  )
  return chosen.map((each) => {
    const { row, id, createdAt } = each
    const itemId = erased.has(row.externalId) ? null : find(each)
    const times = [row.profileIssuedAt, createdAt, ...row.formerly.map(({ mergedAt }) => mergedAt)]
    const latestAt = itemId === null ? null : latestOf(work, times)
    return { key: row.key, kind: row.kind, itemId, made: itemId === id && inserted.has(id), latestAt }
  })
}

async function storeDiscussions(
  tx: TxSql,
  { tenantId }: Work,
  chosen: readonly Chosen<ImportedDiscussion>[],
): Promise<NewItem[]> {
  if (chosen.length === 0) return []
  const rows = byName(chosen).map(({ row, id, createdAt }) => newDiscussion(row, id, createdAt))
  const inserted = new Set((await sql.insertDiscussions(tx, tenantId, rows)).map(({ id }) => id))
  const others = rows.filter(({ id }) => !inserted.has(id))
  if (others.length > 0) for (const id of await sql.reviveDiscussions(tx, tenantId, others)) inserted.add(id)
  const newOnes = rows.filter(({ id }) => inserted.has(id))
  const find = await finder(sql.findDiscussions, tx, tenantId, chosen, newOnes)
  return chosen.flatMap((each) => {
    const { row, id } = each
    const itemId = find(each)
    // It was deleted, and is still being removed: a later import may bring it back.
    if (itemId === null) return []
    return [{ key: row.key, kind: row.kind, itemId, made: itemId === id && inserted.has(id), latestAt: null }]
  })
}

/**
 * Finds rows by external id, or by the id that they keep; null if a row was deleted. Rows that this
 * transaction has inserted are not looked up again.
 */
async function finder<Row extends NamedItem>(
  select: typeof sql.findReaders,
  tx: TxSql,
  tenantId: Id,
  chosen: readonly Chosen<Row>[],
  inserted: readonly sql.FoundByName[],
): Promise<(chosen: Chosen<Row>) => Id | null> {
  const idByName = new Map(inserted.map(({ externalId, id }) => [externalId, id]))
  const ids = new Set(inserted.map(({ id }) => id))
  const find = ({ row, id }: Chosen<Row>): Id | null => idByName.get(row.externalId) ?? (ids.has(id) ? id : null)
  // Twice: while the first look-up waited for a lock, the reader may have been merged.
  for (let n = 0; n < 2; n++) {
    const left = chosen.filter((each) => find(each) === null)
    if (left.length === 0) break
    const names = left.map(({ row }) => row.externalId)
    const found = await select(
      tx,
      tenantId,
      names,
      left.map(({ id }) => id),
    )
    for (const { id, externalId } of found) {
      idByName.set(externalId, id)
      ids.add(id)
    }
  }
  return find
}

// The source's profile counts as older than any assertion of the tenant.
function newReader(row: ImportedReader, id: Id, createdAt: Date): sql.NewReader {
  return { ...row, id, createdAt, profileIssuedAt: row.profileIssuedAt ?? createdAt }
}

function newDiscussion(row: ImportedDiscussion, id: Id, createdAt: Date): sql.NewDiscussion {
  return { ...row, id, createdAt, updatedAt: row.updatedAt ?? createdAt, activeAt: row.activeAt ?? createdAt }
}
