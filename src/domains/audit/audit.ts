import { z } from 'zod'

import { type Ctx, requireCaller } from '../../core/context.ts'
import { encodeCursor, idInCursor, type Page, type PageArgs, pageOf, pageSize } from '../../core/cursor.ts'
import { invalid } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { isCut, type Sql } from '../../core/sql.ts'
import { atMost, noNul } from '../../core/texts.ts'
import { validate } from '../../core/validate.ts'
import {
  AUDIT_ACTOR_KINDS,
  type AuditActorKind,
  type AuditFilter,
  type AuditRow,
  type StoredAuditRow,
  listAuditLog,
  readAuditStates,
  selectAuditEntries,
} from './sql.ts'

/**
 * The actor of an entry, with its present label or e-mail; null if it was deleted, or never had
 * one.
 */
export interface AuditActor {
  kind: AuditActorKind
  id: Id | null
  label: string | null
  email: string | null
}

/**
 * One audited action. `before` and `after` are the target's public form, or its changed fields,
 * without secrets.
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
  importId: Id | null
}

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
  const rows = ctx.app.late.mayBeLate ? await withPresentStates(ctx.app.db.query, tenant.id, found) : found
  return pageOf(rows.map(toEntry), size, args, ({ id }) => encodeCursor('audit-log', id), isCut(rows))
}

/** An entry; null if there is none. One statement serves all entries of a request. */
export const findAuditEntry = (ctx: Ctx, id: Id): Promise<AuditEntry | null> => loadEntry(ctx, id)

const loadEntry = perRequest<Id, AuditEntry | null>(async (ctx, ids) => {
  const rows = await selectAuditEntries(ctx.app.db.query, requireCaller(ctx).tenant.id, [...new Set(ids)])
  const byId = new Map(rows.map((row) => [row.id, toEntry(row)]))
  return ids.map((id) => byId.get(id) ?? null)
})

/** A replica may still have states from before an erasure. */
async function withPresentStates(sql: Sql, tenantId: Id, rows: readonly AuditRow[]): Promise<AuditRow[]> {
  const stateful = rows.filter(({ before, after }) => before !== null || after !== null)
  if (stateful.length === 0) return [...rows]
  const ids = stateful.map(({ id }) => id)
  const states = new Map((await readAuditStates(sql, tenantId, ids)).map((state) => [state.id, state]))
  return rows.map((row) => ({ ...row, ...(states.get(row.id) ?? { before: null, after: null }) }))
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

function toEntry(row: StoredAuditRow & Partial<AuditRow>): AuditEntry {
  const { actorKind, actorId, actorLabel, actorEmail, bytesRead: _, ...entry } = row
  return { ...entry, actor: { kind: actorKind, id: actorId, label: actorLabel, email: actorEmail } }
}
