import { z } from 'zod'

import { byService } from '../../core/audit.ts'
import type { App } from '../../core/app.ts'
import { changeCommentOf } from '../comments/change.ts'
import { toComment } from '../comments/comment.ts'
import { recordDecision } from '../comments/decided.ts'
import { VIEWERS_FIELDS } from '../comments/fields.ts'
import { applyVerb } from '../moderation/judge.ts'
import { type DueRequest, takeRequest } from './sql.ts'

const VERDICTS = ['approve', 'hold', 'reject'] as const

/** The possible verdicts; `hold` leaves the comment to a moderator. */
export type Verdict = (typeof VERDICTS)[number]

const answerSchema = z.object({ verdict: z.enum(VERDICTS) })

/** The request body for the classifier: always the same bytes for the same text. */
export function questionOf(request: DueRequest): string {
  const { externalId, title, url, ...row } = request
  const comment = { ...toComment(row), ...VIEWERS_FIELDS }
  return JSON.stringify({
    type: 'comment_classify',
    comment,
    discussion: { id: row.discussionId, externalId, title, url },
  })
}

/** The verdict in an answer's body; null if it has none. */
export function verdictOf(body: string): Verdict | null {
  try {
    return answerSchema.safeParse(JSON.parse(body)).data?.verdict ?? null
  } catch {
    return null
  }
}

/**
 * Applies the classifier's verdict to a comment, unless a moderator, the author or another worker
 * acted first, or the text has changed. A comment whose author was banned in shadow meanwhile does
 * not come into view.
 */
export async function applyVerdict(app: App, { tenantId, id, revision }: DueRequest, verdict: Verdict): Promise<void> {
  await changeCommentOf(app, tenantId, id, async (sql, comment, now) => {
    const unchanged = { comment, events: [] }
    if (!(await takeRequest(sql, tenantId, id, revision))) return unchanged
    if (comment.status !== 'pending' || comment.discussionState === 'archived' || verdict === 'hold') return unchanged
    if (verdict === 'approve' && comment.authorBan === 'shadow') return unchanged
    const actor = { kind: 'system' } as const
    const change = await applyVerb(sql, comment, { tenantId, verb: verdict, now, actor })
    if (change === null) return unchanged
    await recordDecision(sql, byService(tenantId), comment, { action: verdict, now })
    return change
  })
}
