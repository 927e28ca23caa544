import { z } from 'zod'

import { type Ctx, requireCaller } from '../../core/context.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { invalid } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { isCut } from '../../core/sql.ts'
import { atMost, noNul } from '../../core/texts.ts'
import { validate } from '../../core/validate.ts'
import { AUDIT_ACTOR_KINDS, type AuditActorKind, type AuditFilter, type AuditRow, listAuditLog } from './sql.ts'

/**
 * Who did something, as they are called now; the label or e-mail is null where it is gone, or was
 * never one.
 */
export interface AuditActor {
  kind: AuditActorKind
  id: Id | null
  label: string | null
  email: string | null
}

/**
 * Who did what to what. `before` and `after` are the target's public form, or what of it has
 * changed, without secrets.
 */
export interface AuditEntry {
  id: Id
  action: string
  actor: AuditActor
  targetType: string
  targetId: string | null
  before: unknown
  after: unknown
  at: Date
}

interface ListAuditEntries extends PageArgs {
  action?: string | null | undefined
  actor?: string | null | undefined
  from?: Date | null | undefined
  to?: Date | null | undefined
}

export const actionSchema = noNul(atMost(100, z.string().min(1)))

/** What keys and admins of the tenant have done, newest first. Throws `validation_failed`. */
export async function listAuditEntries(ctx: Ctx, args: ListAuditEntries): Promise<Page<AuditEntry>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const { action = null } = validate(z.object({ action: actionSchema.nullish() }), { action: args.action })
  const filter = { action, ...actorFilter(args.actor), from: args.from ?? null, to: args.to ?? null }
  const before = idInCursor('audit-log', args.after)
  const rows = await listAuditLog(ctx.app.db.query, tenant.id, filter, before, size + 1)
  return pageOf(rows.map(toEntry), size, args, ({ id }) => encodeCursor('audit-log', id), isCut(rows))
}

function actorFilter(actor: string | null | undefined): Pick<AuditFilter, 'actorId' | 'actorKind'> {
  if (actor == null) return { actorId: null, actorKind: null }
  if (isId(actor)) return { actorId: actor, actorKind: null }
  const actorKind = AUDIT_ACTOR_KINDS.find((kind) => kind === actor)
  if (actorKind !== undefined) return { actorId: null, actorKind }
  throw invalid(
    '/actor',
    'not_allowed',
    `must be the id of a key or an admin, or one of ${AUDIT_ACTOR_KINDS.join(', ')}`,
  )
}

function toEntry(row: AuditRow): AuditEntry {
  const { actorKind, actorId, actorLabel, actorEmail, bytesRead: _, ...entry } = row
  return { ...entry, actor: { kind: actorKind, id: actorId, label: actorLabel, email: actorEmail } }
}
