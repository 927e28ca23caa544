import type { NewEvent } from '../discussions/events.ts'
import { lockComments, selectTheirReactions, selectTheirReports, takeReactions, takeReports } from './marks-sql.ts'
import { BATCH, eraseAt, type Erasure } from './erasure.ts'

/** Takes a batch of the reader's reactions back. False where none was left. */
export async function eraseReactions(erasure: Erasure): Promise<boolean> {
  const { app, tenantId, readerId } = erasure
  const theirs = await selectTheirReactions(app.db.query, tenantId, readerId, BATCH)
  if (theirs.length === 0) return false
  await eraseAt(erasure, theirs, async (sql, commentIds) => {
    await lockComments(sql, tenantId, commentIds)
    const taken = await takeReactions(sql, tenantId, readerId, commentIds)
    return taken.map(
      ({ discussionId, status, replyCount, commentId, type: previousType, reactionCounts }): NewEvent => {
        const isPublic = status === 'approved' || (status === 'deleted' && replyCount > 0)
        const data = JSON.stringify({ commentId, type: null, previousType, reactionCounts, reader: null })
        const audience = isPublic ? 'public' : 'tenant'
        return { tenantId, discussionId, type: 'reaction_toggled', audience, actor: { kind: 'system' }, data }
      },
    )
  })
  return true
}

/**
 * Takes a batch of the reader's reports back. False where none was left. No event tells of reports.
 */
export async function eraseReports(erasure: Erasure): Promise<boolean> {
  const { app, tenantId, readerId } = erasure
  const theirs = await selectTheirReports(app.db.query, tenantId, readerId, BATCH)
  if (theirs.length === 0) return false
  await eraseAt(erasure, theirs, async (sql, commentIds) => {
    await lockComments(sql, tenantId, commentIds)
    await takeReports(sql, tenantId, readerId, commentIds)
    return []
  })
  return true
}
