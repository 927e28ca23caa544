import type { LockedComment } from './locked.ts'

export type QueueStatus = 'pending' | 'reported' | 'rejected'

/** SQL: which rows `comments c` are in each queue of the moderators. Each has a partial index. */
export const QUEUE_CONDITIONS: Readonly<Record<QueueStatus, string>> = {
  pending: "c.status = 'pending'",
  reported: "(c.report_count > c.reports_answered OR c.flagged) AND c.status IN ('approved', 'pending')",
  rejected: "c.status = 'rejected'",
}

/** Whether a comment is in any of them. */
export const isQueued = ({ status, flagged, reportCount, reportsAnswered }: LockedComment): boolean =>
  status === 'pending' || status === 'rejected' || (status === 'approved' && (flagged || reportCount > reportsAnswered))
