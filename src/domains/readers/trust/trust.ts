import { recordAudit } from '../../../core/audit.ts'
import { requireCaller } from '../../../core/access.ts'
import { hasCapability } from '../../../core/caller.ts'
import type { Ctx } from '../../../core/context.ts'
import type { Id } from '../../../core/ids.ts'
import type { Reader as ReaderRecord, ReaderTrust } from '../../../generated/prisma/client.ts'
import type { Reader } from '../fields.ts'
import { lockReaderIn, recordOf } from '../records.ts'

interface SetTrust {
  readerId: Id
  trust: ReaderTrust
}

/**
 * Says which rules hold a reader's comments from now on. Comments that exist stay as they are.
 * Throws `not_found`.
 */
export function setReaderTrust(ctx: Ctx, { readerId: id, trust }: SetTrust): Promise<ReaderRecord> {
  const { tenant } = requireCaller(ctx)
  return ctx.app.db.transaction(async (sql) => {
    const before = await lockReaderIn(sql, ctx, id)
    if (before.trust === trust) return before
    const where = { tenantId_id: { tenantId: tenant.id, id } }
    const after = await sql.prisma.reader.update({ where, data: { trust } })
    const change = { before: { trust: before.trust }, after: { trust } }
    await recordAudit(sql, ctx, { action: 'reader.set_trust', targetId: id, ...change })
    return after
  })
}

/** The trust in a reader, for callers who moderate. The reader must not learn of it. */
export async function trustFor(ctx: Ctx, reader: Reader): Promise<ReaderTrust | null> {
  // A publisher's backend may have a key that may moderate, and ask on behalf of its reader.
  if ('isViewer' in reader || !hasCapability(requireCaller(ctx).actor, 'moderate_content')) return null
  return (await recordOf(ctx, reader))?.trust ?? null
}
