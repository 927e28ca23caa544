import { recordAudit } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { type Discussion, toDiscussion } from '../discussions/fields.ts'
import { announce, appendEvents } from '../discussions/append-events.ts'
import { setDiscussionState } from '../discussions/close.ts'
import { lockDiscussionRow } from '../discussions/locks.ts'
import { type DiscussionVerb, nextDiscussionState } from './transitions.ts'

interface Target {
  discussionId: Id
}

/** Stops readers from writing until it is unlocked. Throws `not_found`, `invalid_transition`. */
export const lockDiscussion = (ctx: Ctx, { discussionId }: Target): Promise<Discussion> =>
  changeDiscussion(ctx, discussionId, 'lock')

/** Lets readers write again. Throws `not_found`, `invalid_transition`. */
export const unlockDiscussion = (ctx: Ctx, { discussionId }: Target): Promise<Discussion> =>
  changeDiscussion(ctx, discussionId, 'unlock')

/** Makes it read-only for good. Throws `not_found`. */
export const archiveDiscussion = (ctx: Ctx, { discussionId }: Target): Promise<Discussion> =>
  changeDiscussion(ctx, discussionId, 'archive')

const EVENTS = { lock: 'discussion_locked', unlock: 'discussion_unlocked', archive: 'discussion_archived' } as const

async function changeDiscussion(ctx: Ctx, id: Id, verb: DiscussionVerb): Promise<Discussion> {
  const { tenant } = requireCaller(ctx)
  const { discussion, written } = await ctx.app.db.transaction(async (sql) => {
    const row = isId(id) ? await lockDiscussionRow(sql, tenant.id, id) : undefined
    if (row === undefined) throw noSuch('discussion')
    const state = nextDiscussionState(verb, row.state)
    if (state === null) return { discussion: toDiscussion(row), written: null }
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
      written: await appendEvents(sql, [{ ...event, tenantId: tenant.id, discussionId: id, data }]),
    }
  })
  if (written !== null) announce(ctx.app, written)
  return discussion
}
