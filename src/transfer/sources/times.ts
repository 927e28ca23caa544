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

/** What follows a day: a time of 24 or 12 hours, and a zone, which may be only a name. */
const TIME =
  /(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?([AP])\.?M\b\.?)?(?: ?(?:GMT|UTC|Z)?([+-])(\d\d):?(\d\d)?\b)?/i
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH = `(${MONTHS.join('|')})[a-z]*\\.?`
const named = (pattern: string): RegExp => new RegExp(pattern, 'i')

/** Days as year, month and day, by the groups of each form. */
const DAYS: readonly [RegExp, (groups: readonly string[]) => (string | undefined)[]][] = [
  [/^(\d{4})[-/.:年] ?(\d{1,2})[-/.:月] ?(\d{1,2})/, ([y, m, d]) => [y, m, d]],
  [/^(\d{4})(\d\d)(\d\d)(?!\d)/, ([y, m, d]) => [y, m, d]],
  // Without names of months the month stands first, as in the United States.
  [/^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})/, ([m, d, y]) => [y, m, d]],
  [named(`\\b(\\d{1,2})(?:st|nd|rd|th)?[ -]${MONTH},?[ -](\\d{4})`), ([d, m, y]) => [y, monthOf(m), d]],
  [named(`\\b${MONTH} (\\d{1,2})(?:st|nd|rd|th)?,? (\\d{4})`), ([m, d, y]) => [y, monthOf(m), d]],
  [
    named(`\\b${MONTH} (\\d{1,2}) [\\d:.]+ (?:[+-]\\d{4} )?(?:[A-Z]{3,5} )?(\\d{4})`),
    ([m, d, y]) => [y, monthOf(m), d],
  ],
  [/^(\d{4})[-/.](\d{1,2})(?!\d)/, ([y, m]) => [y, m, '1']],
]

const monthOf = (name = ''): string => String(MONTHS.indexOf(name.toLowerCase()) + 1)

/**
 * A time in any of the forms that people and programs write, as Go's dateparse reads it: also in
 * seconds, milliseconds or finer units since 1970, or with names of months.
 */
export function anyTimeOf(written: string): string | null {
  const text = written.trim().replace(/\s+/g, ' ')
  const exact = timeOf(text)
  if (exact !== null) return exact
  if (/^\d+$/.test(text)) return timeOfDigits(text)
  for (const [form, order] of DAYS) {
    const found = form.exec(text)
    if (found === null) continue
    const [year = '', month = '', day = ''] = order(found.slice(1)).map((part) => part?.padStart(2, '0'))
    const rest = text.replace(/^\d{4}:\d\d:\d\d/, '')
    return timeOf(`${year}-${month}-${day}T${clockOf(rest)}`)
  }
  return null
}

/** The time of day in a text, with its zone; midnight without one. */
function clockOf(text: string): string {
  const found = TIME.exec(text)
  if (found === null) return '00:00:00Z'
  const [, hour = '', minute = '', second = '00', fraction = '0', half, sign, hours, minutes = '00'] = found
  const clock = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toUpperCase() === 'P' ? 12 : 0)
  const zone = sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`
  return `${String(clock).padStart(2, '0')}:${minute}:${second}.${fraction}${zone}`
}

/** How many digits times since 1970 have, and how many of their units are a second. */
const UNITS: Readonly<Record<number, number>> = { 10: 1, 13: 1e3, 16: 1e6, 19: 1e9 }

function timeOfDigits(text: string): string | null {
  const unit = UNITS[text.length]
  if (unit !== undefined) return timeOfSeconds(Number(text) / unit)
  const [, day, hour = '00', minute = '00', second = '00'] = /^(\d{8})(\d\d)?(\d\d)?(\d\d)?$/.exec(text) ?? []
  return day === undefined
    ? null
    : timeOf(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T${hour}:${minute}:${second}Z`)
}
