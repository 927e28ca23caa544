import type { z } from 'zod'

import { type Doer, doerOf, recordAuditOf } from '../../core/audit.ts'
import type { App, Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import type { TxSql } from '../../core/sql.ts'
import { validate } from '../../core/input/validate.ts'
import { isTaken, moveAlias } from './aliases.ts'
import { type Discussion, discussionInput, toDiscussion } from './discussions.ts'
import { lockDiscussionRow } from './locks.ts'
import { auditForm, changedRow, type DiscussionRow } from './row.ts'
import { selectByExternalId, updateDiscussionRow } from './sql.ts'

export const discussionChanges = discussionInput.partial()

/** Absent fields stay as they are. */
type DiscussionChanges = z.output<typeof discussionChanges>

interface UpdateDiscussion {
  id: Id
  externalId?: string | null | undefined
  title?: string | null | undefined
  url?: string | null | undefined
}

/**
 * Changes the external id, the title or the address of a discussion. The former external id leads
 * to it for a year. Throws `not_found`, `discussion_archived`, `external_id_taken`.
 */
export async function updateDiscussion(ctx: Ctx, { id, ...input }: UpdateDiscussion): Promise<Discussion> {
  return changeDiscussion(ctx.app, doerOf(ctx), id, validate(discussionChanges, input))
}

/** The same for an operator at the command line. */
export async function changeDiscussion(app: App, doer: Doer, id: Id, changes: DiscussionChanges): Promise<Discussion> {
  if (!isId(id)) throw noDiscussion()
  try {
    return toDiscussion(await app.db.transaction((tx) => changeRow(tx, doer, id, changes)))
  } catch (error) {
    if (!isTaken(error)) throw error
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
  if (row === undefined) throw noDiscussion()
  if (row.externalId === externalId) return 'unchanged'
  if (row.externalId !== from) return 'renamed_since'
  await changeDiscussion(app, doer, row.id, { externalId })
  return 'renamed'
}

async function changeRow(tx: TxSql, doer: Doer, id: Id, changes: DiscussionChanges): Promise<DiscussionRow> {
  const { tenantId } = doer
  const before = await lockDiscussionRow(tx, tenantId, id)
  if (before === undefined) throw noDiscussion()
  const wanted = changedRow(before, changes)
  const [from, to] = [before.externalId, wanted.externalId]
  if (from === to && before.title === wanted.title && before.url === wanted.url) return before
  if (before.state === 'archived') throw new ServiceError('discussion_archived')
  const after = await updateDiscussionRow(tx, tenantId, id, wanted)
  if (after === undefined) throw noDiscussion()
  if (from !== to) await moveAlias(tx, tenantId, { id, from, to })
  const target = { action: 'discussion.update', targetType: 'discussion', targetId: id } as const
  await recordAuditOf(tx, doer, { ...target, before: auditForm(before), after: auditForm(after) })
  return after
}

const noDiscussion = (): ServiceError => new ServiceError('not_found', { detail: 'There is no such discussion.' })
