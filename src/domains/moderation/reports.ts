import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { noSuch, ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { changeComment, withholdComment } from '../comments/change.ts'
import { isNewGuest } from '../comments/history/new-guest.ts'
import { findBan } from '../readers/bans.ts'
import type { Reader } from '../readers/fields.ts'
import { asReader } from '../readers/readers.ts'
import { insertReport } from './report-sql.ts'

export const REPORT_REASONS = ['spam', 'abuse', 'off_topic', 'other'] as const

export type ReportReason = (typeof REPORT_REASONS)[number]

/** A reader's report of a comment. */
export interface Report {
  commentId: Id
  reason: ReportReason
  note: string | null
  createdAt: string
}

interface ReportComment {
  commentId: Id
  reason: ReportReason
  note?: string | null | undefined
}

export const reportInput = z.object({ note: noNul(atMost(1000, z.string().trim())).nullish() })

/**
 * Reports a comment in view for the asserted reader, once. If the number of reports since the last
 * moderator's judgement reaches the tenant's `reportThreshold`, the comment is held: it leaves the
 * view with a `comment_edited` of the system. A report of a reader banned in shadow does not count,
 * nor one of a guest whose comments all wait.
 * Throws `not_found`, `invalid_transition` for the reader's own comment, `already_reported`,
 * `reader_banned`, `discussion_archived`.
 */
export async function reportComment(ctx: Ctx, { commentId, reason, note: text }: ReportComment): Promise<Report> {
  const note = validate(reportInput, { note: text }).note || null
  return asReader(ctx, (reader) => reportAs(ctx, { commentId, reason, note }, reader))
}

async function reportAs(
  ctx: Ctx,
  { commentId, reason, note }: Omit<Report, 'createdAt'>,
  reader: Reader,
): Promise<Report> {
  const { tenant } = requireCaller(ctx)
  const isOnHold = await isNewGuest(ctx.app, tenant, reader)
  let createdAt = new Date()
  await changeComment(ctx, commentId, async (sql, comment, now) => {
    createdAt = now
    const ban = await findBan(sql, tenant.id, reader.id, now)
    if (ban === 'open') throw comment.status === 'approved' ? new ServiceError('reader_banned') : noSuch('comment')
    if (comment.authorId === reader.id && comment.status !== 'deleted') {
      throw new ServiceError('invalid_transition', { detail: 'An author cannot report their own comment.' })
    }
    const counts = ban === null && !isOnHold
    const report = { tenantId: tenant.id, commentId: comment.id, readerId: reader.id, reason, note, now, counts }
    // First, because the caller may know of their own report even if it has taken the comment out
    // of view.
    if (!(await insertReport(sql, report))) throw new ServiceError('already_reported')
    if (comment.status !== 'approved') throw noSuch('comment')
    if (comment.discussionState === 'archived') throw new ServiceError('discussion_archived')
    const after = { ...comment, reportCount: comment.reportCount + Number(counts) }
    const isTolerated = after.reportCount - after.reportsAnswered < tenant.settings.reportThreshold
    return isTolerated ? { comment: after, events: [] } : withholdComment(sql, tenant.id, after, 'reports', now)
  })
  return { commentId, reason, note, createdAt: createdAt.toISOString() }
}
