import { z } from 'zod'

import type { App } from '../../core/context.ts'
import { changeCommentOf } from '../comments/change.ts'
import { toComment } from '../comments/comment.ts'
import { applyVerb } from '../moderation/judge.ts'
import { type DueRequest, takeRequest } from './sql.ts'

const VERDICTS = ['approve', 'hold', 'reject'] as const

/** What a classifier can say of a comment; `hold` leaves it to a moderator. */
export type Verdict = (typeof VERDICTS)[number]

const answerSchema = z.object({ verdict: z.enum(VERDICTS) })

/** What the classifier is asked, the same bytes whenever it is asked about this text. */
export function questionOf(request: DueRequest): string {
  const { externalId, title, url, ...row } = request
  const comment = { ...toComment(row), viewerReaction: null }
  return JSON.stringify({
    type: 'comment_classify',
    comment,
    discussion: { id: row.discussionId, externalId, title, url },
  })
}

/** The verdict in an answer's body; null where there is none. */
export function verdictOf(body: string): Verdict | null {
  try {
    return answerSchema.safeParse(JSON.parse(body)).data?.verdict ?? null
  } catch {
    return null
  }
}

/**
 * Does what the classifier says of a comment, unless a moderator, the author or another worker was
 * first, or the text is another one by now. Whoever is banned in shadow meanwhile does not come
 * into view by it.
 */
export async function applyVerdict(app: App, { tenantId, id, revision }: DueRequest, verdict: Verdict): Promise<void> {
  await changeCommentOf(app, tenantId, id, async (sql, comment, now) => {
    const unchanged = { comment, events: [] }
    if (!(await takeRequest(sql, tenantId, id, revision))) return unchanged
    if (comment.status !== 'pending' || comment.discussionState === 'archived' || verdict === 'hold') return unchanged
    if (verdict === 'approve' && comment.authorBan === 'shadow') return unchanged
    const actor = { kind: 'system' } as const
    return (await applyVerb(sql, comment, { tenantId, verb: verdict, now, actor })) ?? unchanged
  })
}
