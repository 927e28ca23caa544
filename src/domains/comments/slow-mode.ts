import type { App } from '../../core/app.ts'
import { ServiceError } from '../../core/errors.ts'
import { firstIdAt } from '../../core/ids.ts'
import type { Prisma } from '../../core/database/database.ts'
import { lockDiscussionRow } from '../discussions/locks.ts'
import type { CreateResult } from './create-sql.ts'
import { type CommentDraft, takingTurns, writeAlone, writeComment } from './writer.ts'

type Draft = Omit<CommentDraft, 'pace'>

/** The longest slow mode, and a minute for processes whose clocks differ. */
const LONGEST_MS = 3_660_000

/**
 * Writes a comment unless its author has commented in the discussion within its slow mode, or else
 * the tenant's, of which `tenantSeconds` are known: then throws `slow_mode`, if nothing else
 * refuses the comment.
 *
 * A discussion without slow mode costs nothing here. In one with it, the author's last comment is
 * read by a second statement after the discussion is locked: one statement that waited for the lock
 * would not see what was committed meanwhile.
 */
export async function writeInSlowMode(app: App, draft: Draft, tenantSeconds: number): Promise<CreateResult> {
  if (tenantSeconds === 0) {
    const result = await writeComment(app, { ...draft, pace: 'ask' })
    if (result.outcome !== 'slow_mode') return result
  }
  // Without a lock at first, so that a reader who tries again and again locks nothing for long.
  const wait = await waitOf(app.prisma, draft, tenantSeconds)
  if (wait === 'none') return writeComment(app, { ...draft, pace: 'pass' })
  if (wait > 0) return refused(await writeComment(app, { ...draft, pace: 'refuse' }), wait)
  return takingTurns(app, () => writeLocked(app, draft, tenantSeconds))
}

async function writeLocked(app: App, draft: Draft, tenantSeconds: number): Promise<CreateResult> {
  let wait = 0
  const result = await writeAlone(app, async (sql) => {
    await lockDiscussionRow(sql, draft.tenantId, draft.discussionId)
    const seconds = await waitOf(sql.prisma, draft, tenantSeconds)
    wait = seconds === 'none' ? 0 : seconds
    return { ...draft, pace: wait > 0 ? 'refuse' : 'pass' }
  })
  return refused(result, wait)
}

function refused(result: CreateResult, retryAfterSeconds: number): CreateResult {
  if (result.outcome === 'slow_mode') throw new ServiceError('slow_mode', { retryAfterSeconds })
  return result
}

/** The seconds until the author may comment again, 0 for now; `none` without a slow mode. */
async function waitOf(
  { discussion, comment }: Prisma,
  { tenantId, discussionId, authorId }: Draft,
  tenantSeconds: number,
): Promise<number | 'none'> {
  const now = Date.now()
  const found = await discussion.findUnique({
    where: { tenantId_id: { tenantId, id: discussionId } },
    select: { slowModeSeconds: true },
  })
  const seconds = found?.slowModeSeconds ?? tenantSeconds
  if (seconds === 0) return 'none'
  const last = await comment.findFirst({
    where: { tenantId, authorId, discussionId, id: { gt: firstIdAt(new Date(now - LONGEST_MS)) } },
    orderBy: { id: 'desc' },
    select: { createdAt: true },
  })
  if (last === null) return 0
  return Math.max(0, Math.ceil((last.createdAt.getTime() + seconds * 1000 - now) / 1000))
}
