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

/** A moment to the second, with its day and its zone. */
export const wholeTime = (at: string): string => WHOLE.format(new Date(at))

/** The hour and minute, with the day before it unless that is today. Lists name the zone. */
export function hourTime(at: string, now = Date.now()): string {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date(now).toDateString()
  return (isToday ? HOUR : DAY_AND_HOUR).format(date)
}

/** The name of the viewer's time zone today, such as "GMT+1". */
export const zoneName = (): string =>
  ZONE.formatToParts().find(({ type }) => type === 'timeZoneName')?.value ?? 'your time zone'
