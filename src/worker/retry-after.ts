import type { OutboundAnswer } from '../outbound/exchange.ts'

const MIN_PAUSE_MS = 1000
const MAX_PAUSE_MS = 24 * 3_600_000

/**
 * Milliseconds for which a receiver asks for no deliveries, from 1 s to 24 h: it answers 429 or 503
 * with `Retry-After`. Null if it does not ask.
 */
export function pauseOf({ statusCode, retryAfter }: OutboundAnswer, now: Date): number | null {
  if (statusCode !== 429 && statusCode !== 503) return null
  const ms = retryAfter === null ? null : waitMs(retryAfter.trim(), now)
  // Without a least pause, all waiting deliveries would use up their attempts at once.
  return ms === null ? null : Math.min(Math.max(ms, MIN_PAUSE_MS), MAX_PAUSE_MS)
}

// The three forms of a date in HTTP (RFC 9110, 5.6.7), all of them in GMT; only asctime does not
// say so. `Date.parse` alone takes much more, such as `1` for a month.
const DATES = [
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/,
]
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/** Milliseconds from `now` that a `Retry-After` names, in seconds or as a date; null if neither. */
function waitMs(text: string, now: Date): number | null {
  // HTTP has whole seconds; some servers send fractions.
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = ASCTIME.test(text) ? `${text} GMT` : DATES.some((form) => form.test(text)) ? text : null
  const at = date === null ? NaN : Date.parse(date)
  return Number.isNaN(at) ? null : at - now.getTime()
}
