import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { hasCapability } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { decodeCursor, encodeCursor, idOf, instantOf } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { type Id, LAST_ID } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import type { Sql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { reactionType } from '../../core/settings/tenant.ts'
import { validate } from '../../core/input/validate.ts'
import { type Comment, inView } from '../comments/comment.ts'
import { shadowIn } from '../comments/shadow.ts'
import { profileIn, type Reader } from '../readers/fields.ts'
import { viewerInShadow } from '../readers/readers.ts'

/** One reader's reaction on a comment. */
export interface HeldReaction {
  type: string
  reader: Reader
  createdAt: string
}

interface ListReactions extends PageArgs {
  type?: string | null | undefined
}

/**
 * The reactions to a comment, newest first; with `type` only those of that type, even if the tenant
 * no longer offers it. One statement serves all comments of a request with the same arguments. For
 * a comment out of view only moderators get reactions: its author, who gets it in the answer to a
 * write, sees none, and neither does a client that has it from an earlier event. A reader banned in
 * shadow also gets their own, as they count it, and those on comments that only they see.
 */
export async function listReactions(ctx: Ctx, comment: Comment, args: ListReactions): Promise<Page<HeldReaction>> {
  const size = pageSize(args)
  const { type } = validate(z.object({ type: reactionType.nullable() }), { type: args.type ?? null })
  const key = decodeCursor('reactions', 2, args.after)
  const before = key === null ? null : { createdAt: instantOf(key[0]), readerId: idOf(key[1]) }
  const shadow = await shadowIn(ctx, comment.discussionId)
  const isShown = shadow?.shown.has(comment.id) === true
  const seesAll = isShown || hasCapability(requireCaller(ctx).actor, 'moderate_content')
  const inShadow = shadow === null ? null : await viewerInShadow(ctx)
  const held = await loadHeld(ctx, comment.id, { type, before, limit: size + 1, seesAll, inShadow })
  return pageOf(held, size, args, ({ createdAt, reader }) => encodeCursor('reactions', createdAt, reader.id))
}

type HeldPage = Parameters<typeof listHeld>[3]

const loadHeld = perRequest<Id, HeldReaction[], [HeldPage]>(async (ctx, commentIds, at) => {
  const rows = await listHeld(ctx.app.db.query, requireCaller(ctx).tenant.id, [...new Set(commentIds)], at)
  const byComment = new Map<Id, HeldReaction[]>(commentIds.map((id) => [id, []]))
  for (const { commentId, type, createdAt, ...reader } of rows) {
    byComment.get(commentId)?.push({ type, reader, createdAt: createdAt.toISOString() })
  }
  return commentIds.map((id) => byComment.get(id) ?? [])
})

export interface HeldRow extends Reader {
  commentId: Id
  type: string
  createdAt: Date
}

const FIELDS = 'comment_id, type, reader_id, updated_at'
const BEFORE = '(updated_at, reader_id) < ($4::timestamptz, $5::uuid)'

// For the reader $8: what they have chosen in shadow stands for what counts for all of them, unless
// that is newer.
const OWN = `FROM shadow_reactions WHERE tenant_id = $1 AND comment_id = c.id AND reader_id = $8::uuid`
const WITHOUT_PUBLIC = `AND (reader_id = $8::uuid AND updated_at <= (SELECT updated_at ${OWN})) IS NOT TRUE`
const WITH_OWN = `UNION ALL
       SELECT ${FIELDS} ${OWN} AND type IS NOT NULL AND ($3::text IS NULL OR type = $3) AND ${BEFORE}
         AND NOT EXISTS (
           SELECT 1 FROM reactions r WHERE r.tenant_id = $1 AND r.comment_id = c.id AND r.reader_id = $8::uuid
             AND r.updated_at > shadow_reactions.updated_at)`

// The index is by type, so that one type costs only what it shows. A list of all types merges
// those that the comment has.
const heldReactions = <Name extends string>(name: Name, withoutPublic: string, withOwn: string) =>
  statement(
    name,
    `SELECT h.* FROM unnest($2::uuid[]) WITH ORDINALITY AS a (id, n)
   JOIN comments c ON c.tenant_id = $1 AND c.id = a.id
     AND ($7 OR ${inView('c')})
   CROSS JOIN LATERAL (
     SELECT x.comment_id AS "commentId", x.type, x.updated_at AS "createdAt", ${profileIn('r')}
     FROM (
       SELECT each_type.* FROM jsonb_object_keys(c.reaction_counts) AS t (type)
       CROSS JOIN LATERAL (
         SELECT ${FIELDS} FROM reactions
         WHERE tenant_id = $1 AND comment_id = c.id AND type = t.type AND type IS NOT NULL AND ${BEFORE} ${withoutPublic}
         ORDER BY updated_at DESC, reader_id DESC LIMIT $6
       ) each_type
       WHERE $3::text IS NULL OR t.type = $3
       ${withOwn}
       ORDER BY updated_at DESC, reader_id DESC LIMIT $6
     ) x
     CROSS JOIN LATERAL (
       SELECT * FROM readers WHERE tenant_id = $1 AND id = x.reader_id LIMIT 1
     ) r
   ) h
   ORDER BY a.n, h."createdAt" DESC, h.id DESC`,
  )

const HELD = heldReactions('held_reactions', '', '')
const HELD_IN_SHADOW = heldReactions('held_reactions_in_shadow', WITHOUT_PUBLIC, WITH_OWN)

/**
 * The reactions on each of several comments, `limit` of each, newest first; with `type` only those
 * of that type. `seesAll`: also those on comments out of view. `inShadow`: the viewer, if they are
 * banned in shadow.
 */
const listHeld = (
  sql: Sql,
  tenantId: Id,
  commentIds: readonly Id[],
  at: {
    type: string | null
    before: { createdAt: string; readerId: Id } | null
    limit: number
    seesAll: boolean
    inShadow: Id | null
  },
): Promise<HeldRow[]> => {
  const { createdAt, readerId } = at.before ?? { createdAt: 'infinity', readerId: LAST_ID }
  const params = [tenantId, commentIds, at.type, createdAt, readerId, at.limit, at.seesAll]
  return at.inShadow === null ? sql(HELD, params) : sql(HELD_IN_SHADOW, [...params, at.inShadow])
}
