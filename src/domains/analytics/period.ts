import { invalid } from '../../core/errors.ts'

export const INTERVALS = ['hour', 'day'] as const

export type Interval = (typeof INTERVALS)[number]

const HOUR_MS = 3_600_000
/** Milliseconds of a bucket. UTC has no daylight saving, and so no day of another length. */
export const INTERVAL_MS: Readonly<Record<Interval, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS }

const LATEST = Date.UTC(9999, 11, 31)

/** A stretch of time in whole buckets: `from` belongs to it, `to` no more. */
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
  /** How many buckets it has by default. */
  usual: number
  most: number
}

/**
 * The period asked for, widened to whole buckets. Without `to` it ends with the bucket that `now`
 * is in, without `from` it has the usual length. Throws `validation_failed` where it is empty, too
 * long, or out of reach.
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

/** The bucket of a later instant would end in the year 10000, which has no RFC 3339 form. */
function checkReach(pointer: string, at: Date): void {
  if (at.getTime() > LATEST) throw invalid(pointer, 'too_large', 'must not be after 9999-12-31T00:00:00.000Z')
}
