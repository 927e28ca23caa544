import type { AnalyticsInterval } from '../../../generated/console.ts'
import { hourLabels } from '../../ui/clock.ts'

interface Preset {
  label: string
  hours: number
  interval: AnalyticsInterval
  /** The span that it is compared with, in words. */
  before: string
}

/** The selectable spans, by their names in the URL. */
export const SPANS = {
  '24h': { label: '24 hours', hours: 24, interval: 'hour', before: 'the 24 hours before' },
  '7d': { label: '7 days', hours: 7 * 24, interval: 'day', before: 'the 7 days before' },
  '30d': { label: '30 days', hours: 30 * 24, interval: 'day', before: 'the 30 days before' },
  '90d': { label: '90 days', hours: 90 * 24, interval: 'day', before: 'the 90 days before' },
} as const satisfies Record<string, Preset>

export type SpanName = keyof typeof SPANS

export const spanNamed = (name: string | null): SpanName =>
  Object.keys(SPANS).find((each): each is SpanName => each === name) ?? '7d'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * The start of the span and of the one before. The current day or hour is incomplete, so the
 * earlier span ends at the same time of day; otherwise every morning would look like a fall.
 */
export function boundsOf(name: SpanName, now: number) {
  const { hours, interval } = SPANS[name]
  const lengthMs = hours * HOUR_MS
  const end = Math.ceil(now / HOUR_MS) * HOUR_MS
  const from = interval === 'hour' ? end - lengthMs : Math.ceil(end / DAY_MS) * DAY_MS - lengthMs
  const at = (ms: number): string => new Date(ms).toISOString()
  return { interval, from: at(from), beforeFrom: at(from - lengthMs), beforeTo: at(end - lengthMs) }
}

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** The labels of buckets, and their zone. Days are in UTC, hours in the viewer's time zone. */
export const bucketLabels = (
  buckets: readonly { at: string }[],
  interval: AnalyticsInterval,
): { labels: string[]; zone: string } =>
  interval === 'hour'
    ? hourLabels(buckets.map(({ at }) => at))
    : { labels: buckets.map(({ at }) => DAY.format(new Date(at))), zone: 'UTC' }

/** The zone of the labels from the start of a span until now. */
export const zoneOf = ({ interval, from }: { interval: AnalyticsInterval; from: string }, now: number): string =>
  bucketLabels([{ at: from }, { at: new Date(now).toISOString() }], interval).zone
