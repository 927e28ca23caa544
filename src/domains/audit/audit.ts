import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { encodeCursor, idInCursor } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { invalid } from '../../core/errors.ts'
import { inLowerCase, isId } from '../../core/ids.ts'
import { rowPerRequest } from '../../core/per-request.ts'
import { isCut } from '../../core/database/lists.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import type { AuditEntry } from '../../generated/prisma/client.ts'
import { findApiKey } from '../api-keys/keys.ts'
import { findMember } from '../staff/members.ts'
import { AUDIT_ACTOR_KINDS, type AuditFilter, type AuditRow, listAuditLog } from './sql.ts'

interface ListAuditEntries extends PageArgs {
  action?: string | null | undefined
  actor?: string | null | undefined
  from?: Date | null | undefined
  to?: Date | null | undefined
}

export const actionSchema = noNul(atMost(100, z.string().min(1)))
const listSchema = z.object({ action: actionSchema.nullish() })

/** The actions of the tenant's keys and admins, newest first. Throws `validation_failed`. */
export async function listAuditEntries(ctx: Ctx, args: ListAuditEntries): Promise<Page<AuditEntry>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const { action = null } = validate(listSchema, { action: args.action })
  const filter = { action, ...actorFilter(args.actor), from: args.from ?? null, to: args.to ?? null }
  const before = idInCursor('audit-log', args.after)
  const found = await listAuditLog(ctx.app.late.query, tenant.id, filter, before, size + 1)
  const rows = ctx.app.late.mayBeLate ? await withPresentStates(ctx, found) : found
  return pageOf(rows, size, args, ({ id }) => encodeCursor('audit-log', id), isCut(rows))
}

/** An entry, or null. One statement serves all entries of a request. */
export const findAuditEntry = rowPerRequest<AuditEntry>((ctx, where) => ctx.app.prisma.auditEntry.findMany({ where }))

/** A replica may still have states from before an erasure. */
async function withPresentStates(ctx: Ctx, rows: readonly AuditRow[]): Promise<AuditRow[]> {
  const ids = rows.filter(({ before, after }) => before !== null || after !== null).map(({ id }) => id)
  if (ids.length === 0) return [...rows]
  const where = { tenantId: requireCaller(ctx).tenant.id, id: { in: ids } }
  const present = await ctx.app.prisma.auditEntry.findMany({ where, select: { id: true, before: true, after: true } })
  const states = new Map(present.map((state) => [state.id, state]))
  return rows.map((row) => ({ ...row, ...(states.get(row.id) ?? { before: null, after: null }) }))
}

type Acted = Pick<AuditEntry, 'actorKind' | 'actorId'>

/** The present label of an entry's key; null if it was deleted, or another actor did it. */
export const labelOf = async (ctx: Ctx, { actorKind, actorId }: Acted): Promise<string | null> =>
  actorKind === 'key' && actorId !== null ? ((await findApiKey(ctx, actorId))?.label ?? null) : null

/** The present e-mail address of its member; null likewise. */
export const emailOf = async (ctx: Ctx, { actorKind, actorId }: Acted): Promise<string | null> =>
  actorKind === 'admin' && actorId !== null ? ((await findMember(ctx, actorId))?.email ?? null) : null

function actorFilter(actor: string | null | undefined): Pick<AuditFilter, 'actorId' | 'actorKind'> {
  if (actor == null) return { actorId: null, actorKind: null }
  const actorId = inLowerCase(actor)
  if (isId(actorId)) return { actorId, actorKind: null }
  const actorKind = AUDIT_ACTOR_KINDS.find((kind) => kind === actor)
  if (actorKind !== undefined) return { actorId: null, actorKind }
  throw invalid(
    '/actor',
    'not_allowed',
    `must be the id of a key or an admin, or one of ${AUDIT_ACTOR_KINDS.join(', ')}`,
  )
}
