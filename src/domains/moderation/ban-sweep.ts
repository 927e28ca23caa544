import { setImmediate } from 'node:timers/promises'

import { byService, type Doer } from '../../core/audit.ts'
import type { App } from '../../core/app.ts'
import { ServiceError } from '../../core/errors.ts'
import { FIRST_ID, firstIdAt, type Id } from '../../core/ids.ts'
import { ofTenant } from '../../core/queues/patience.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { BanSweep } from '../../generated/prisma/client.ts'
import type { CommentStatus } from '../../generated/prisma/enums.ts'
import { changeCommentOf, type CommentChange, withholdComment } from '../comments/change.ts'
import type { LockedComment } from '../comments/locked.ts'
import { SWEEP_ACTIONS, type SweepAction } from '../readers/ban-sweeps.ts'
import { judgeLocked } from './comments.ts'

/** A turn is short, so that the work of several bans goes on side by side. */
const TURN = 100

/** A worker that has changed no comment for this long has died, or waits for a lock. */
const LEASE_MS = 30_000

/** A comment whose posting began before the ban may be stored this long after it. */
const SETTLE_MS = 10_000

/** The clocks of the processes that make ids differ by less. */
const CLOCKS_MS = 60_000

/**
 * The end of the time whose comments a ban's work may change. Nobody writes during the ban, so that
 * later ones were written after it.
 */
const writtenBefore = (startedAt: Date, bannedUntil: Date | null): Date =>
  new Date(Math.min(startedAt.getTime() + SETTLE_MS + CLOCKS_MS, bannedUntil?.getTime() ?? Infinity))

/** The ban was lifted or replaced, or the reader is gone. */
class SweepOver extends Error {}

const ACTIONS: Record<
  SweepAction,
  { of: CommentStatus[]; act: (sql: TxSql, comment: LockedComment, doer: Doer, now: Date) => Promise<CommentChange> }
> = {
  withhold: {
    of: ['approved'],
    act: (sql, comment, { tenantId }, now) => withholdComment(sql, tenantId, comment, 'author_banned', now),
  },
  reject: {
    of: ['approved', 'pending'],
    // Nobody has read the comment.
    act: (sql, comment, doer, now) =>
      judgeLocked(sql, doer, comment, { verb: 'reject', now, decider: byService(doer.tenantId) }),
  },
}

/**
 * Withholds or rejects some more of the comments of one banned reader, each in a transaction of its
 * own. Those in archived discussions stay, and those that a moderator has approved or rejected
 * since the ban began. Returns whether there was one. Any number of workers may call it at once.
 */
export async function continueBanSweep(root: App, signal: AbortSignal, now = new Date()): Promise<boolean> {
  const sweep = await takeUp(root, now)
  if (sweep === null) return false
  const app = ofTenant(root, sweep.tenantId)
  try {
    await takeTurn(app, sweep, signal, now)
  } catch (error) {
    if (!(error instanceof SweepOver)) throw error
  }
  return true
}

async function takeUp(app: App, now: Date): Promise<Sweep | null> {
  const { banSweep } = app.prisma
  // A newer release may know further actions, which its own workers take.
  const due = { completedAt: null, leasedUntil: { lte: now }, action: { in: SWEEP_ACTIONS } }
  const found = await banSweep.findFirst({ where: due, orderBy: { leasedUntil: 'asc' } })
  const action = SWEEP_ACTIONS.find((name) => name === found?.action)
  if (found === null || action === undefined) return null
  // Of several workers that have found it, one takes it.
  const { count } = await banSweep.updateMany({ where: { ...whereIs(found), ...due }, data: lease(now) })
  return count === 0 ? takeUp(app, now) : { ...found, action }
}

interface Sweep extends BanSweep {
  action: SweepAction
}

const whereIs = ({ tenantId, readerId, id }: BanSweep) => ({ tenantId, readerId, id })

const lease = (now: Date) => ({ leasedUntil: new Date(now.getTime() + LEASE_MS) })

async function takeTurn(app: App, sweep: Sweep, signal: AbortSignal, now: Date): Promise<void> {
  const { tenantId, readerId: authorId, startedAt } = sweep
  const { of } = ACTIONS[sweep.action]
  // One that began before the ban still brings comments of any age. Those that have come are
  // changed at once, and all are counted and gone through when it is over.
  const merge = { tenantId, intoId: authorId, mergingAt: { not: null } }
  const isMerging = (await app.prisma.readerMerge.findFirst({ where: merge })) !== null
  const reader = { tenantId_id: { tenantId, id: authorId } }
  const ban = await app.prisma.reader.findUnique({ where: reader, select: { bannedUntil: true } })
  const before = writtenBefore(startedAt, ban?.bannedUntil ?? null)
  const ofAuthor = { tenantId, authorId, status: { in: of }, createdAt: { lt: before } }
  const begins = sweep.total === null && !isMerging
  if (begins) {
    const left = await app.prisma.comment.count({ where: ofAuthor })
    await note(app, sweep, { total: sweep.done + left, position: null })
  }
  const comments = await app.prisma.comment.findMany({
    where: { ...ofAuthor, id: { gt: (begins ? null : sweep.position) ?? FIRST_ID } },
    select: { id: true },
    orderBy: { id: 'asc' },
    take: TURN,
  })
  for (const { id } of comments) {
    if (signal.aborted) break
    await change(app, sweep, id)
    // The embedded database answers within this turn of the event loop: sockets and timers would
    // wait for all of the work.
    await setImmediate()
  }
  if (comments.length === TURN || signal.aborted) return note(app, sweep, { leasedUntil: new Date() })
  if (isMerging) return note(app, sweep, { position: null, leasedUntil: new Date(now.getTime() + SETTLE_MS) })
  const settledAt = new Date(startedAt.getTime() + SETTLE_MS)
  if (now >= settledAt) return complete(app, sweep)
  // Once more, for comments that were on their way when the ban began.
  await note(app, sweep, { position: firstIdAt(new Date(startedAt.getTime() - CLOCKS_MS)), leasedUntil: settledAt })
}

/** The progress is stored with the change: whatever dies, each comment counts once. */
async function change(app: App, sweep: Sweep, commentId: Id): Promise<void> {
  const { tenantId, readerId, action, actorKind, actorId, startedAt } = sweep
  const doer = { tenantId, actor: { kind: actorKind, id: actorId } } as Doer
  const { of, act } = ACTIONS[action]
  const changing = changeCommentOf(app, tenantId, commentId, async (sql, comment, now) => {
    const isDue =
      comment.authorId === readerId &&
      of.includes(comment.status) &&
      comment.discussionState !== 'archived' &&
      !(await isJudged(sql, tenantId, comment, startedAt))
    const data = { position: commentId, ...lease(now), ...(isDue && { done: { increment: 1 } }) }
    const { count } = await sql.prisma.banSweep.updateMany({ where: whereIs(sweep), data })
    if (count === 0) throw new SweepOver()
    return isDue ? act(sql, comment, doer, now) : { comment, events: [] }
  })
  await changing.catch((error: unknown) => {
    // It was removed meanwhile.
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
  })
}

/**
 * Whether a moderator has approved or rejected the present text of a comment since then. To pin it,
 * or to mark it as seen, decides nothing, but sets `reviewedAt` as well.
 */
async function isJudged(sql: TxSql, tenantId: Id, { id, reviewedAt }: LockedComment, since: Date): Promise<boolean> {
  if (reviewedAt === null || reviewedAt <= since) return false
  const byModerator = { actorKind: { not: 'system' }, action: { in: ['approve', 'reject'] }, at: { gt: since } }
  return (await sql.prisma.commentDecision.findFirst({ where: { tenantId, commentId: id, ...byModerator } })) !== null
}

/** The comments that stay are no part of the total any more. */
async function complete(app: App, sweep: Sweep): Promise<void> {
  const last = await app.prisma.banSweep.findFirst({ where: whereIs(sweep), select: { done: true } })
  await note(app, sweep, { total: last?.done ?? null, completedAt: new Date() })
}

async function note({ prisma: { banSweep } }: App, sweep: Sweep, data: Partial<BanSweep>): Promise<void> {
  if ((await banSweep.updateMany({ where: whereIs(sweep), data })).count === 0) throw new SweepOver()
}
