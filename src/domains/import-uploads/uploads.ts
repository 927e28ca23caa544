import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { validate } from '../../core/input/validate.ts'
import { requiredRow, rowPerRequest } from '../../core/per-request.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { ImportUpload } from '../../generated/prisma/client.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { type UploadInput, uploadInput, type UploadOptions } from './input.ts'
import { MAX_UPLOAD_BYTES, partsOf } from './sizes.ts'

/** How long an upload is kept that waits for somebody, and the report of one that has ended. */
const KEPT_HOURS = 24

export const expiryFrom = (now: Date): Date => new Date(now.getTime() + KEPT_HOURS * 3_600_000)

/** Those that a worker has to do something for, or that have not expired. */
const kept = (now: Date) => ({ OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] })

/** The most uploads of a tenant, with those that wait for their removal. */
const MAX_UPLOADS = 100
/** The most bytes of these: one upload, and one that is being removed. */
const MAX_STORED_BYTES = 2 * MAX_UPLOAD_BYTES

/**
 * Begins the upload of a file. One at a time: throws `invalid_transition` until the tenant's last
 * one has ended or is deleted.
 */
export async function createImportUpload(ctx: Ctx, input: UploadInput): Promise<ImportUpload> {
  const { source, fileName, bytes, ...given } = validate(uploadInput, input)
  const { tenant } = requireCaller(ctx)
  const now = new Date()
  return ctx.app.db.transaction(async (sql) => {
    // Concurrent requests begin one upload.
    await lockTenant(sql, tenant.id)
    await requireRoom(sql, tenant.id, bytes, now)
    const options: UploadOptions = Object.fromEntries(Object.entries(given).filter(([, value]) => value != null))
    const row = { tenantId: tenant.id, id: newId(), source, fileName, bytes, options }
    const created = await sql.prisma.importUpload.create({ data: { ...row, expiresAt: expiryFrom(now) } })
    const after = { source, fileName, bytes }
    await recordAudit(sql, ctx, { action: 'import_upload.create', targetId: created.id, after })
    return created
  })
}

async function requireRoom({ prisma }: TxSql, tenantId: Id, bytes: number, now: Date): Promise<void> {
  const open = await prisma.importUpload.findFirst({ where: { tenantId, endedAt: null, ...kept(now) } })
  if (open !== null) {
    const detail = `The upload of ${open.fileName} has not ended. Run or delete it first; its id is ${open.id}.`
    throw new ServiceError('invalid_transition', { detail })
  }
  const { _count, _sum } = await prisma.importUpload.aggregate({
    where: { tenantId },
    _count: true,
    _sum: { bytes: true },
  })
  if (_count < MAX_UPLOADS && (_sum.bytes ?? 0) + bytes <= MAX_STORED_BYTES) return
  throw new ServiceError('invalid_transition', { detail: 'Earlier uploads are still being removed: try again soon.' })
}

/** An upload by its id, or null. One statement serves all uploads of a request. */
export const findImportUpload = rowPerRequest<ImportUpload>((ctx, where) =>
  ctx.app.prisma.importUpload.findMany({ where: { ...where, ...kept(new Date()) } }),
)

/** Throws `not_found`. */
export const getImportUpload = requiredRow(findImportUpload, () => noSuch('upload'))

/** The tenant's uploads, newest first. */
export const listImportUploads = (ctx: Ctx, { where, ...query }: PageQuery): Promise<ImportUpload[]> =>
  ctx.app.prisma.importUpload.findMany({
    ...query,
    where: { AND: [where, { tenantId: requireCaller(ctx).tenant.id, ...kept(new Date()) }] },
  })

/**
 * Says that all parts are there, for a worker to rehearse the import. Repeating it changes nothing.
 * Throws `not_found`, and `invalid_transition` if a part is missing.
 */
export function completeImportUpload(ctx: Ctx, { id }: { id: string }): Promise<ImportUpload> {
  return changing(ctx, id, async (sql, where) => {
    const { count } = await sql.prisma.importUpload.updateMany({
      where: { ...where, completedAt: null },
      data: { completedAt: new Date(), expiresAt: null },
    })
    if (count === 0) return
    // The row is locked: no part is added or replaced any more.
    const { bytes } = await sql.prisma.importUpload.findUniqueOrThrow({ where: { tenantId_id: where } })
    const there = await sql.prisma.importUploadPart.count({ where: { tenantId: where.tenantId, uploadId: id } })
    const missing = partsOf(bytes) - there
    if (missing === 0) {
      return recordAudit(sql, ctx, { action: 'import_upload.complete', targetId: id })
    }
    throw new ServiceError('invalid_transition', { detail: `Parts are missing: ${missing}. missingParts says which.` })
  })
}

/**
 * Has a worker import a file that was rehearsed. Repeating it changes nothing. Throws `not_found`,
 * and `invalid_transition` before the rehearsal has ended.
 */
export function runImportUpload(ctx: Ctx, { id }: { id: string }): Promise<ImportUpload> {
  return changing(ctx, id, async (sql, where) => {
    const { count } = await sql.prisma.importUpload.updateMany({
      where: { ...where, rehearsedAt: { not: null }, startedAt: null, endedAt: null },
      data: { startedAt: new Date(), expiresAt: null, bytesRead: 0, attempts: 0 },
    })
    if (count === 1) await recordAudit(sql, ctx, { action: 'import_upload.run', targetId: id })
    const { startedAt } = await sql.prisma.importUpload.findUniqueOrThrow({ where: { tenantId_id: where } })
    if (startedAt !== null) return
    throw new ServiceError('invalid_transition', { detail: 'The rehearsal has not ended, or it has failed.' })
  })
}

/** Runs `change` on an upload that is there, and returns what it has become. Throws `not_found`. */
function changing(
  ctx: Ctx,
  id: string,
  change: (sql: TxSql, where: { tenantId: Id; id: Id }) => Promise<void>,
): Promise<ImportUpload> {
  const where = { tenantId: requireCaller(ctx).tenant.id, id }
  if (!isId(id)) throw noSuch('upload')
  return ctx.app.db.transaction(async (sql) => {
    // The row is locked by this: a deletion comes before or after the change.
    const there = { where: { ...where, ...kept(new Date()) }, data: { attempts: { increment: 0 } } }
    if ((await sql.prisma.importUpload.updateMany(there)).count === 0) throw noSuch('upload')
    await change(sql, where)
    return sql.prisma.importUpload.findUniqueOrThrow({ where: { tenantId_id: where } })
  })
}

/**
 * Deletes an upload, which stops a worker that reads it. What was imported stays. A worker removes
 * the parts soon after. Throws `not_found`.
 */
export async function deleteImportUpload(ctx: Ctx, { id }: { id: string }): Promise<Id> {
  const { tenant } = requireCaller(ctx)
  const now = new Date()
  await ctx.app.db.transaction(async (sql) => {
    const where = { tenantId: tenant.id, id, ...kept(now) }
    const { count } = isId(id)
      ? await sql.prisma.importUpload.updateMany({ where, data: { expiresAt: now } })
      : { count: 0 }
    if (count === 0) throw noSuch('upload')
    await recordAudit(sql, ctx, { action: 'import_upload.delete', targetId: id })
  })
  return id
}
