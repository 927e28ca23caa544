const WITH_ZONE =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(\.\d+)?(?: ?(Z|[+-]\d\d:?\d\d))?(?: [A-Z]{3,5}| [+-]\d{2,4})?(?: m=.*)?$/

/**
 * A time as RFC 3339; null for none. Without a zone it is taken as UTC. Years 0 and 1 are what
 * programs write for unknown times.
 */
export function timeOf(text: string | null | undefined): string | null {
  const [, day = '', time = '', fraction = '', zone = 'Z'] = WITH_ZONE.exec(text?.trim() ?? '') ?? []
  if (day < '1970' || !isInCalendar(day)) return null
  return timeOfDate(new Date(`${day}T${time}${fraction.slice(0, 4)}${zone.replace(/(\d\d)(\d\d)$/, '$1:$2')}`))
}

/** A `Date` turns 30 February into 2 March. */
const isInCalendar = (day: string): boolean => timeOfDate(new Date(day))?.startsWith(day) ?? false

/** A time in seconds since 1970. */
export const timeOfSeconds = (seconds: number | null | undefined): string | null =>
  seconds == null || !(seconds > 0) ? null : timeOfDate(new Date(seconds * 1000))

function timeOfDate(date: Date): string | null {
  const isValid = !Number.isNaN(date.getTime()) && date.getUTCFullYear() < 10_000
  return isValid ? date.toISOString() : null
}
