import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'

export interface WaitingExport {
  tenantId: Id
  id: Id
}

/** Of the unfinished exports with an id after `after`, the one that has waited longest. */
export const selectWaiting = statement(
  'select_waiting_export',
  `SELECT tenant_id AS "tenantId", id FROM tenant_exports
   WHERE expires_at IS NULL AND id > $1 ORDER BY id LIMIT 1`,
).first<[after: Id], WaitingExport>()

const SNAPSHOT = statement('make_export_snapshot', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')

const TAKE = statement(
  'take_export',
  `SELECT pg_try_advisory_xact_lock(hashtextextended(id::text, 0)) AND expires_at IS NULL AS "isTaken"
   FROM tenant_exports WHERE tenant_id = $1 AND id = $2`,
)

/**
 * Must be first in a transaction, whose reads are then of one instant: returns whether this process
 * may make the export. The right ends with the transaction. No row is locked: an erasure may change
 * the row meanwhile, and what was read before is then refused at the end.
 */
export async function takeExport(sql: Sql, { tenantId, id }: WaitingExport): Promise<boolean> {
  await sql(SNAPSHOT)
  const [taken] = await sql<{ isTaken: boolean }>(TAKE, [tenantId, id])
  return taken?.isTaken === true
}

const ADD_PIECE = statement(
  'insert_export_piece',
  'INSERT INTO tenant_export_pieces (tenant_id, export_id, n, bytes) VALUES ($1, $2, $3, $4)',
)

export const addPiece = async (sql: Sql, { tenantId, id }: WaitingExport, n: number, bytes: Buffer): Promise<void> =>
  void (await sql(ADD_PIECE, [tenantId, id, n, bytes]))

const COMPLETE = statement(
  'complete_export',
  `WITH earlier AS (
     DELETE FROM tenant_exports WHERE tenant_id = $1 AND id < $2 AND expires_at IS NOT NULL
   )
   UPDATE tenant_exports SET bytes = $3, completed_at = now(), expires_at = now() + make_interval(hours => $4)
   WHERE tenant_id = $1 AND id = $2`,
)

/**
 * Completes an export, and deletes the tenant's earlier ones. Fails with 40001 if an erasure has
 * ended since `takeExport`.
 */
export const completeExport = async (
  sql: Sql,
  { tenantId, id }: WaitingExport,
  bytes: number,
  keptHours: number,
): Promise<void> => void (await sql(COMPLETE, [tenantId, id, bytes, keptHours]))

/** Deletes expired exports. Returns how many. */
export const deleteExpiredExports = async ({ prisma }: App): Promise<number> =>
  (await prisma.tenantExport.deleteMany({ where: { expiresAt: { lt: new Date() } } })).count
