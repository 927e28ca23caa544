import { type Doer, doerOf, recordAuditOf } from '../../core/audit.ts'
import { requireAccess } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import { isDuplicate } from '../../core/database/locks.ts'
import { validate } from '../../core/input/validate.ts'
import { moveAlias } from './aliases.ts'
import { announce, type AppendedEvents } from './append-events.ts'
import { closeDue } from './close.ts'
import {
  auditForm,
  changedRow,
  differs,
  type Discussion,
  type DiscussionChanges,
  discussionChanges,
  discussionInput,
  OVERRIDES,
  type DiscussionRow,
  toDiscussion,
} from './fields.ts'
import { lockDiscussionRow } from './locks.ts'
import { selectByExternalId, updateDiscussionRow } from './sql.ts'

type UpdateDiscussion = { id: Id } & {
  [Name in keyof DiscussionChanges]: DiscussionChanges[Name] | null
}

/**
 * Changes the external id, the title or the address of a discussion, and what stands in it over the
 * tenant's settings, each with its own capability. The former external id leads to it for a year.
 * Throws `missing_capability`, `not_found`, `discussion_archived`, `external_id_taken`.
 */
export async function updateDiscussion(ctx: Ctx, { id, ...input }: UpdateDiscussion): Promise<Discussion> {
  const given = Object.keys(input)
  const overrides = given.filter((name) => (OVERRIDES as readonly string[]).includes(name))
  if (overrides.length > 0) requireAccess(ctx, 'moderate_content')
  if (overrides.length === 0 || overrides.length < given.length) requireAccess(ctx, 'manage_settings')
  return changeDiscussion(ctx.app, doerOf(ctx), id, validate(discussionChanges, input))
}

/** Changes a discussion for an operator at the command line. */
export async function changeDiscussion(app: App, doer: Doer, id: Id, changes: DiscussionChanges): Promise<Discussion> {
  if (!isId(id)) throw noSuch('discussion')
  try {
    const { row, closed } = await app.db.transaction((tx) => changeRow(tx, doer, id, changes))
    if (closed !== null) announce(app, closed)
    return toDiscussion(row)
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const detail = 'Another discussion has this external id, or had it in the last year.'
    throw new ServiceError('external_id_taken', { detail })
  }
}

type Renamed = 'renamed' | 'unchanged' | 'renamed_since'

/**
 * Gives the discussion of an external id another one. A repetition changes nothing: neither where
 * it has the new one, nor where it has been given a third one since. Throws as `changeDiscussion`.
 */
export async function renameDiscussion(app: App, doer: Doer, from: string, to: string): Promise<Renamed> {
  const externalId = validate(discussionInput.pick({ externalId: true }), { externalId: to }).externalId
  const row = await selectByExternalId(app.db.query, doer.tenantId, from)
  if (row === undefined) throw noSuch('discussion')
  if (row.externalId === externalId) return 'unchanged'
  if (row.externalId !== from) return 'renamed_since'
  await changeDiscussion(app, doer, row.id, { externalId })
  return 'renamed'
}

interface ChangedRow {
  row: DiscussionRow
  /** The event of a discussion whose closing time is past already. */
  closed: AppendedEvents | null
}

async function changeRow(tx: TxSql, doer: Doer, id: Id, changes: DiscussionChanges): Promise<ChangedRow> {
  const { tenantId } = doer
  const before = await lockDiscussionRow(tx, tenantId, id)
  if (before === undefined) throw noSuch('discussion')
  const wanted = changedRow(before, changes)
  const [from, to] = [before.externalId, wanted.externalId]
  if (from === to && !differs(before, wanted)) return { row: before, closed: null }
  if (before.state === 'archived') throw new ServiceError('discussion_archived')
  const updated = await updateDiscussionRow(tx, tenantId, id, wanted)
  if (updated === undefined) throw noSuch('discussion')
  if (from !== to) await moveAlias(tx, tenantId, { id, from, to })
  const target = { action: 'discussion.update', targetId: id } as const
  await recordAuditOf(tx, doer, { ...target, before: auditForm(before), after: auditForm(updated) })
  const now = new Date()
  const { closesAt } = updated
  const isDue = closesAt !== null && closesAt <= now && closesAt.getTime() !== before.closesAt?.getTime()
  const closed = isDue ? await closeDue(tx, { tenantId, id }, { kind: 'moderator' }, now) : null
  if (closed === null) return { row: updated, closed }
  const row = await lockDiscussionRow(tx, tenantId, id)
  if (row === undefined) throw noSuch('discussion')
  const lock = { action: 'discussion.lock', targetId: id } as const
  await recordAuditOf(tx, doer, { ...lock, before: { state: before.state }, after: { state: row.state } })
  return { row, closed }
}
