import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { statement } from '../../core/sql.ts'
import { commentInShadow } from '../comments/shadow.ts'
import type { ReactionMode } from './sql.ts'

const WRITE = statement(
  'write_shadow_reaction',
  `INSERT INTO shadow_reactions (tenant_id, comment_id, reader_id, type, updated_at)
   SELECT $1, $2, $3, CASE WHEN $4::text = 'remove' OR ($4 = 'toggle' AND held.type = $5) THEN NULL ELSE $5 END, $6
   FROM (SELECT 1) one LEFT JOIN LATERAL (
     SELECT type FROM (
       SELECT type, updated_at FROM shadow_reactions WHERE tenant_id = $1 AND comment_id = $2 AND reader_id = $3
       UNION ALL
       SELECT type, updated_at FROM reactions WHERE tenant_id = $1 AND comment_id = $2 AND reader_id = $3
     ) both_kinds ORDER BY updated_at DESC LIMIT 1
   ) held ON true
   ON CONFLICT (tenant_id, comment_id, reader_id) DO UPDATE SET type = excluded.type, updated_at = excluded.updated_at
   RETURNING type`,
)

interface Chosen {
  mode: ReactionMode
  commentId: Id
  type: string | null
  readerId: Id
}

interface ReactedInShadow extends Pick<Chosen, 'commentId' | 'type'> {
  reactionCounts: Record<string, number>
}

/** Writes a reaction that only its reader sees. There is no event, and no count of others. */
export async function reactInShadow(ctx: Ctx, { mode, commentId, type, readerId }: Chosen): Promise<ReactedInShadow> {
  const { tenant } = requireCaller(ctx)
  const params = [tenant.id, commentId, readerId, mode, type, new Date()]
  const [held] = await ctx.app.db.query<{ type: string | null }>(WRITE, params)
  const { reactionCounts } = await commentInShadow(ctx, commentId)
  return { commentId, type: held?.type ?? null, reactionCounts }
}
