import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import type { PageQuery } from '../../core/input/page.ts'
import { noSuch } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { requiredRow, rowPerRequest } from '../../core/per-request.ts'
import type { Import } from '../../generated/prisma/client.ts'
import { forgetReaderItems, moveReaderItems, refuseReaderName } from './sql.ts'

/** The imports of a tenant, newest first, with their findings. */
export async function listImports({ prisma }: App, tenantId: Id): Promise<Omit<Import, 'tenantId'>[]> {
  const rows = await prisma.import.findMany({ where: { tenantId }, omit: { tenantId: true }, orderBy: { id: 'desc' } })
  return rows.map(withFindings)
}

/** Some of them, for an admin. */
export async function findImports(ctx: Ctx, { where, ...query }: PageQuery): Promise<Import[]> {
  const { tenant } = requireCaller(ctx)
  const rows = await ctx.app.prisma.import.findMany({ ...query, where: { ...where, tenantId: tenant.id } })
  return rows.map(withFindings)
}

/** An import by its id, or null. One statement serves all imports of a request. */
export const findImport = rowPerRequest<Import>(async (ctx, where) =>
  (await ctx.app.prisma.import.findMany({ where })).map(withFindings),
)

/** Throws `not_found`. */
export const getImport = requiredRow(findImport, () => noSuch('import'))

const withFindings = <Row extends Pick<Import, 'refused' | 'changed'>>(row: Row): Row => ({
  ...row,
  refused: findingsOf(row.refused),
  changed: findingsOf(row.changed),
})

/** None before they are stored. */
const findingsOf = (stored: unknown): Import['refused'] => ({ total: 0, first: [], ...(stored as object) })

/** Takes a reader out of what imports remember, so that none of them brings the reader again. */
export const forgetInImports = forgetReaderItems

/**
 * From now on, imports take the items of one reader for those of another. That reader counts as
 * present before the imports: undoing one does not delete it.
 */
export const moveReader = moveReaderItems

/** Has imports that are under way refuse a reader by their external id. */
export const refuseInImports = refuseReaderName
