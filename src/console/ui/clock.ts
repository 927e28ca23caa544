// Moments as text, in the viewer's language and time zone.

const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const HOUR = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const DAY_AND_HOUR = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const ZONE = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' })

/** A moment to the second, with its day and its zone. A text that is no moment stays as it is. */
export const wholeTime = (at: string): string => (Number.isNaN(Date.parse(at)) ? at : WHOLE.format(new Date(at)))

/** The hour and minute, with the day before it unless that is today. */
export function hourTime(at: string, now = Date.now()): string {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date(now).toDateString()
  return (isToday ? HOUR : DAY_AND_HOUR).format(date)
}

/** The name of the viewer's time zone at a moment, such as "GMT+1". */
export const zoneName = (at: string): string =>
  ZONE.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? 'your time zone'

/**
 * The labels of a list of hours, in order, and the name of their zone. On the day of a clock change
 * an hour may come twice, so that each label has its zone.
 */
export function hourLabels(hours: readonly string[], now = Date.now()): { labels: string[]; zone: string } {
  const zones = [...new Set([hours[0], hours.at(-1)].flatMap((at) => (at === undefined ? [] : [zoneName(at)])))]
  const labelOf = (at: string): string =>
    zones.length > 1 ? `${hourTime(at, now)} ${zoneName(at)}` : hourTime(at, now)
  return { labels: hours.map(labelOf), zone: zones.join(', then ') }
}
