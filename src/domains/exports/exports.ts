import { recordAudit } from '../../core/audit.ts'
import { requireAdmin, requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { requiredRow, rowPerRequest } from '../../core/per-request.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { TenantExport } from '../../generated/prisma/client.ts'
import { lockTenant } from '../tenants/tenants.ts'

export type ExportState = 'pending' | 'completed' | 'failed'

export const exportStateOf = ({ completedAt, error }: TenantExport): ExportState =>
  completedAt !== null ? 'completed' : error === null ? 'pending' : 'failed'

/**
 * Requests a copy of all data of the tenant, which a worker makes. If one is pending already,
 * returns that one.
 */
export async function createExport(ctx: Ctx): Promise<TenantExport> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.db.transaction(async (sql) => {
    // Concurrent requests make one export.
    await lockTenant(sql, tenant.id)
    const pending = await sql.prisma.tenantExport.findFirst({ where: { tenantId: tenant.id, expiresAt: null } })
    if (pending !== null) return pending
    const created = await sql.prisma.tenantExport.create({ data: { tenantId: tenant.id, id: newId() } })
    await recordAudit(sql, ctx, { action: 'export.create', targetId: created.id })
    return created
  })
}

/** An export by its id, or null. One statement serves all exports of a request. */
export const findExport = rowPerRequest<TenantExport>((ctx, where) => ctx.app.prisma.tenantExport.findMany({ where }))

/** Throws `not_found`. */
export const getExport = requiredRow(findExport, () => noSuch('export'))

/** The tenant's exports, newest first. */
export const listExports = (ctx: Ctx, { where, ...query }: PageQuery): Promise<TenantExport[]> =>
  ctx.app.prisma.tenantExport.findMany({ ...query, where: { ...where, tenantId: requireCaller(ctx).tenant.id } })

/** Deletes an export and its file. Throws `not_found`. */
export async function deleteExport(ctx: Ctx, { id }: { id: string }): Promise<Id> {
  const { tenant } = requireCaller(ctx)
  await ctx.app.db.transaction(async (sql) => {
    const { count } = isId(id)
      ? await sql.prisma.tenantExport.deleteMany({ where: { tenantId: tenant.id, id } })
      : { count: 0 }
    if (count === 0) throw noSuch('export')
    await recordAudit(sql, ctx, { action: 'export.delete', targetId: id })
  })
  return id
}

/**
 * At the end of a reader's erasure, removes the files that were made before it, and keeps files
 * that are being made from being given out. The second statement sees a file that was completed
 * while the first one waited for it.
 */
export async function withdrawExports({ prisma: { tenantExport } }: TxSql, tenantId: Id): Promise<void> {
  await tenantExport.updateMany({ where: { tenantId, expiresAt: null }, data: { erasures: { increment: 1 } } })
  await tenantExport.deleteMany({ where: { tenantId, completedAt: { not: null } } })
}

/** The file of a completed export: JSON Lines, compressed with gzip. */
export interface ExportFile {
  name: string
  bytes: number
  pieces(): AsyncIterable<Uint8Array>
}

/**
 * Opens the file of an export, for an admin. With `isRead` it writes an audit entry: then `pieces`
 * may be called. That throws if the export is deleted meanwhile. Throws `admin_only`, and
 * `not_found` also before it is completed.
 */
export async function openExportFile(ctx: Ctx, { id }: { id: string }, isRead: boolean): Promise<ExportFile> {
  requireAdmin(ctx)
  const { tenant } = requireCaller(ctx)
  const { completedAt, bytes } = await getExport(ctx, { id })
  if (completedAt === null || bytes === null) throw new ServiceError('not_found', { detail: 'There is no file yet.' })
  if (isRead) {
    await ctx.app.db.transaction((sql) => recordAudit(sql, ctx, { action: 'export.download', targetId: id }))
  }
  const total = Number(bytes)
  return {
    name: `${tenant.slug}-${completedAt.toISOString().slice(0, 10)}.jsonl.gz`,
    bytes: total,
    async *pieces() {
      for (let n = 0, given = 0; given < total; n++) {
        const where = { tenantId_exportId_n: { tenantId: tenant.id, exportId: id, n } }
        const piece = await ctx.app.prisma.tenantExportPiece.findUnique({ where })
        if (piece === null) throw new Error('the export has been deleted')
        given += piece.bytes.length
        yield piece.bytes
      }
    },
  }
}
