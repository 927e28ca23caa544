import { invalid } from '../../core/errors.ts'

export const INTERVALS = ['hour', 'day'] as const

export type Interval = (typeof INTERVALS)[number]

const HOUR_MS = 3_600_000
/** Milliseconds of a bucket. UTC has no daylight saving time, so all days have one length. */
export const INTERVAL_MS: Readonly<Record<Interval, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS }

const LATEST = Date.UTC(9999, 11, 31)

/** A period of whole buckets, from `from` (inclusive) to `to` (exclusive). */
export interface Period {
  from: Date
  to: Date
}

export interface PeriodArgs {
  from?: Date | null | undefined
  to?: Date | null | undefined
}

interface PeriodRule {
  interval: Interval
  /** The default number of buckets. */
  usual: number
  most: number
}

/**
 * The requested period, widened to whole buckets. By default it ends with the bucket of `now`, and
 * has the usual length. Throws `validation_failed` if it is empty, too long, or out of range.
 */
export function periodOf({ from, to }: PeriodArgs, { interval, usual, most }: PeriodRule, now: Date): Period {
  const step = INTERVAL_MS[interval]
  if (from != null) checkReach('/from', from)
  if (to != null) checkReach('/to', to)
  const end = to == null ? (Math.floor(now.getTime() / step) + 1) * step : Math.ceil(to.getTime() / step) * step
  const begin = from == null ? Math.max(end - usual * step, 0) : Math.floor(from.getTime() / step) * step
  if ((from?.getTime() ?? begin) >= (to?.getTime() ?? end)) throw invalid('/from', 'too_large', 'must be before to')
  if (end - begin > most * step) {
    throw invalid('/from', 'too_small', `must be at most ${most} ${interval}s before to`)
  }
  return { from: new Date(begin), to: new Date(end) }
}

/** A later bucket would end in the year 10000, which RFC 3339 cannot write. */
function checkReach(pointer: string, at: Date): void {
  if (at.getTime() > LATEST) throw invalid(pointer, 'too_large', 'must not be after 9999-12-31T00:00:00.000Z')
}

/** Earlier days may be deleted in part: what is left of them would look like few comments. */
export function checkKept({ from }: Period, days: number, now: Date): void {
  const today = Math.floor(now.getTime() / INTERVAL_MS.day) * INTERVAL_MS.day
  if (from.getTime() >= today - days * INTERVAL_MS.day) return
  throw invalid('/from', 'too_small', `must be at most ${days} days ago (analyticsRetentionDays)`)
}
