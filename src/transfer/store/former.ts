import { type Id, newId } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { findErasedNames } from './imports-sql.ts'
import type { Key } from '../../domains/imports/keys.ts'
import type { ImportFinding } from '../../domains/imports/report.ts'
import type { ImportedFormerReader, ImportedReader } from './imported.ts'
import type { Work } from './store.ts'
import { insertFormer, removeInserted } from './named-sql.ts'
import { findItems, insertItems } from './sql.ts'

export const WITHOUT_FORMER = 'formerly: leaves out a reader whom the tenant or the file has otherwise'

/** A reader that this transaction has created. */
interface CreatedReader {
  row: ImportedReader
  id: Id
}

/**
 * Makes the external ids of former readers lead to the new readers into whom they were merged.
 * Leaves out those who exist, or were erased.
 */
export async function storeFormer(
  tx: TxSql,
  { tenantId, importId }: Pick<Work, 'tenantId' | 'importId'>,
  created: readonly CreatedReader[],
): Promise<ImportFinding[]> {
  const former = created.flatMap(({ row, id }) =>
    row.formerly.map((each) => ({ ...each, intoId: id, aliasId: newId(), place: row.place })),
  )
  if (former.length === 0) return []
  const inserted = await insertFormer(tx, tenantId, former)
  // After the insert, which waits for an erasure that has begun.
  const erased = await findErasedNames(
    tx,
    tenantId,
    importId,
    former.map(({ externalId }) => externalId),
  )
  const known = new Set((await findItems(tx, tenantId, keysOf(former))).map(({ key }) => key))
  const isFit = ({ key, externalId }: ImportedFormerReader): boolean => !known.has(key) && !erased.has(externalId)
  const fresh = former.filter(({ aliasId }) => inserted.has(aliasId))
  await removeInserted(
    tx,
    tenantId,
    fresh.filter((each) => !isFit(each)).map(({ aliasId }) => aliasId),
  )
  // A file from before the merge then brings them as the readers who they are now.
  const taken = new Set(fresh.filter(isFit))
  const items = [...taken].map(({ key, intoId }) => ({ key, itemId: intoId, kind: 'reader' as const }))
  await insertItems(
    tx,
    tenantId,
    importId,
    items.map((item) => ({ ...item, made: false, latestAt: null })),
  )
  const places = new Set(former.filter((each) => !taken.has(each)).map(({ place }) => place))
  return [...places].map((place) => ({ place, reason: WITHOUT_FORMER }))
}

export const keysOf = (former: readonly ImportedFormerReader[]): Key[] => former.map(({ key }) => key)
