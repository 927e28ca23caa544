import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/sql.ts'
import { dissolve, type FormerReader, type MergedReader, selectMerged } from './sql.ts'

export type { FormerReader } from './sql.ts'

/**
 * Forgets who was merged into a reader whose erasure begins, and frees their external ids. Merges
 * into it that are under way stop: what still hangs on those readers is to be erased with it. The
 * reader's row is locked.
 */
export const dissolveMerges = (sql: Sql, tenantId: Id, readerId: Id): Promise<MergedReader[]> =>
  dissolve(sql, tenantId, readerId)

/** The readers who were merged into a reader, first ones first. */
export const listFormerReaders = (sql: Sql, tenantId: Id, readerId: Id): Promise<FormerReader[]> =>
  selectMerged(sql, tenantId, readerId)
