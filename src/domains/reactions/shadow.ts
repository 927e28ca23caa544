import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { statement } from '../../core/database/statements.ts'
import { countsInShadow } from '../comments/shadow.ts'
import { announce, appendEvent } from '../discussions/append-events.ts'
import { lockDiscussionRow } from '../discussions/locks.ts'
import type { Reader } from '../readers/fields.ts'
import type { Reaction } from './reaction.ts'
import type { ReactionMode } from './sql.ts'

const WRITE = statement(
  'write_shadow_reaction',
  `WITH held AS (
     SELECT type FROM (
       SELECT type, updated_at FROM shadow_reactions WHERE tenant_id = $1 AND comment_id = $2 AND reader_id = $3
       UNION ALL
       SELECT type, updated_at FROM reactions WHERE tenant_id = $1 AND comment_id = $2 AND reader_id = $3
     ) both_kinds ORDER BY updated_at DESC LIMIT 1
   )
   INSERT INTO shadow_reactions (tenant_id, comment_id, reader_id, type, updated_at)
   SELECT $1, $2, $3, CASE
     WHEN $4::text <> 'set' AND ($5::text IS NULL OR held.type = $5) THEN NULL
     WHEN $4 = 'remove' THEN held.type
     ELSE $5
   END, $6
   FROM (SELECT 1) one LEFT JOIN held ON true
   ON CONFLICT (tenant_id, comment_id, reader_id) DO UPDATE SET type = excluded.type, updated_at = excluded.updated_at
   RETURNING type, (SELECT type FROM held) AS "previousType"`,
)

interface Chosen {
  mode: ReactionMode
  discussionId: Id
  commentId: Id
  type: string | null
}

/**
 * Writes a reaction that only its reader sees, and the event for their own streams. Others get no
 * event, and their counts stay. It locks the discussion, as every write with an event does.
 */
export async function reactInShadow(ctx: Ctx, reader: Reader, chosen: Chosen): Promise<Reaction> {
  const { tenant } = requireCaller(ctx)
  const { mode, discussionId, commentId } = chosen
  const { reaction, written } = await ctx.app.db.transaction(async (sql) => {
    await lockDiscussionRow(sql, tenant.id, discussionId)
    const occurredAt = new Date()
    const params = [tenant.id, commentId, reader.id, mode, chosen.type, occurredAt]
    const [held] = await sql<{ type: string | null; previousType: string | null }>(WRITE, params)
    const { type = null, previousType = null } = held ?? {}
    const reactionCounts = await countsInShadow(sql, tenant.id, commentId, reader.id)
    const after = { commentId, type, reactionCounts }
    if (type === previousType) return { reaction: after, written: null }
    const data = JSON.stringify({ commentId, type, previousType, reactionCounts, reader })
    const actor = { kind: 'reader', readerId: reader.id, externalId: reader.externalId } as const
    const event = { type: 'reaction_toggled', audience: 'own', recipientId: reader.id } as const
    const place = { tenantId: tenant.id, discussionId }
    return { reaction: after, written: await appendEvent(sql, { ...event, ...place, actor, occurredAt, data }) }
  })
  if (written !== null) announce(ctx.app, written)
  return reaction
}
