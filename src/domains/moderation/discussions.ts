import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { type Discussion, toDiscussion } from '../discussions/fields.ts'
import { announce, appendEvent } from '../discussions/append-events.ts'
import { closeDue, setDiscussionState } from '../discussions/close.ts'
import { lockDiscussionRow } from '../discussions/locks.ts'
import { type DiscussionVerb, nextDiscussionState } from './transitions.ts'

interface Target {
  discussionId: Id
}

/** Stops readers from writing until it is unlocked. Throws `not_found`, `invalid_transition`. */
export const lockDiscussion = (ctx: Ctx, { discussionId }: Target): Promise<Discussion> =>
  changeDiscussion(ctx, discussionId, 'lock')

/**
 * Lets readers write again. One that is due is locked by the service first, so that no worker locks
 * it afterwards. Throws `not_found`, `invalid_transition`.
 */
export const unlockDiscussion = (ctx: Ctx, { discussionId }: Target): Promise<Discussion> =>
  changeDiscussion(ctx, discussionId, 'unlock')

/** Makes it read-only for good. Throws `not_found`. */
export const archiveDiscussion = (ctx: Ctx, { discussionId }: Target): Promise<Discussion> =>
  changeDiscussion(ctx, discussionId, 'archive')

const EVENTS = { lock: 'discussion_locked', unlock: 'discussion_unlocked', archive: 'discussion_archived' } as const

async function changeDiscussion(ctx: Ctx, id: Id, verb: DiscussionVerb): Promise<Discussion> {
  const { tenant } = requireCaller(ctx)
  const { discussion, written } = await ctx.app.db.transaction(async (sql) => {
    if (!isId(id)) throw noSuch('discussion')
    const closed =
      verb === 'unlock' ? await closeDue(sql, { tenantId: tenant.id, id }, { kind: 'system' }, new Date()) : null
    const before = closed === null ? [] : [closed]
    const row = await lockDiscussionRow(sql, tenant.id, id)
    if (row === undefined) throw noSuch('discussion')
    const state = nextDiscussionState(verb, row.state)
    if (state === null) return { discussion: toDiscussion(row), written: before }
    await setDiscussionState(sql, tenant.id, id, state)
    // The state after its own event, whose number is the next one because the row is locked.
    const occurredAt = new Date()
    const after = toDiscussion({ ...row, state, seq: row.seq + 1, updatedAt: occurredAt })
    const target = { action: `discussion.${verb}`, targetId: id } as const
    await recordAudit(sql, ctx, { ...target, before: { state: row.state }, after: { state } })
    const event = { type: EVENTS[verb], audience: 'public', actor: { kind: 'moderator' }, occurredAt } as const
    const data = JSON.stringify({ discussion: after })
    return {
      discussion: after,
      written: [...before, await appendEvent(sql, { ...event, tenantId: tenant.id, discussionId: id, data })],
    }
  })
  for (const events of written) announce(ctx.app, events)
  return discussion
}
