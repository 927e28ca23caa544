const DAY_MS = 86_400_000
const DAY = /^\d{4}-\d{2}-\d{2}$/

/**
 * The start of a day such as 2026-11-21 in UTC, or of the day `later` days after it; null for an
 * invalid day.
 */
export function utcMidnight(day: string | null, later: number): string | null {
  if (day === null || !DAY.test(day) || Number.isNaN(Date.parse(day))) return null
  return new Date(Date.parse(day) + later * DAY_MS).toISOString()
}

const SHOWN = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** The last day of a span ends when the span does. */
const lastDay = (to: string): Date => new Date(Date.parse(to) - 1)

/** "1–30 Nov 2026", as the viewer's language writes it. */
export const spanWords = ({ from, to }: { from: string; to: string }): string =>
  SHOWN.formatRange(new Date(from), lastDay(to))

/** The days of a span, for the name of a file. */
export const spanName = ({ from, to }: { from: string; to: string }): string =>
  `${from.slice(0, 10)}-to-${lastDay(to).toISOString().slice(0, 10)}`
