import type { Id } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { nameKey } from './keys.ts'

/**
 * Removes a reader from what imports remember. Their item stays, without an id, so that no import
 * brings them again. Their waiting items lose their text and keep only the place: they are refused.
 */
export const forgetReaderItems = statement(
  'forget_reader_in_imports',
  `WITH gone AS (
     UPDATE import_items SET item_id = NULL, made = false
     WHERE tenant_id = $1 AND item_id = $2 AND kind = 'reader' RETURNING key
   )
   UPDATE import_waiting SET item = 'null' WHERE tenant_id = $1 AND reader_key IN (SELECT key FROM gone)`,
).run<[tenantId: Id, readerId: Id]>()

/** Makes the items of one reader those of another. */
export const moveReaderItems = async ({ prisma }: TxSql, tenantId: Id, readerId: Id, intoId: Id): Promise<void> => {
  const where = { tenantId, itemId: readerId, kind: 'reader' }
  await prisma.importItem.updateMany({ where, data: { itemId: intoId, made: false } })
}

/**
 * Makes unfinished imports refuse a reader whom their files may bring later. The tenant's row is
 * locked, so that no import begins meanwhile.
 */
export async function refuseReaderName({ prisma }: TxSql, tenantId: Id, externalId: string): Promise<void> {
  const where = { tenantId, finishedAt: null, undoneAt: null }
  const underWay = await prisma.import.findMany({ where, select: { id: true } })
  const data = underWay.map(({ id }) => ({
    tenantId,
    importId: id,
    key: nameKey(id, externalId),
    kind: 'name',
    made: false,
  }))
  if (data.length > 0) await prisma.importItem.createMany({ data, skipDuplicates: true })
}
