/**
 * Stands between the thousands, as in the descriptions of the API ("1 to 1 000"). A line does not
 * break at it.
 */
export const THOUSANDS = '\u00A0'

const ENGLISH = new Intl.NumberFormat('en')
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' })

/** Every number of the console looks like this: "1 234.5". */
export const formatNumber = (n: number): string => ENGLISH.format(n).replaceAll(',', THOUSANDS)

/** A change of so much: "+12%". */
export const formatChange = (ratio: number): string => PERCENT.format(ratio).replaceAll(',', THOUSANDS)

/** A count that the service stops at `bound`: "1 000+" means as many or more. */
export const formatCount = (count: number, bound: number): string =>
  count >= bound ? `${formatNumber(bound)}+` : formatNumber(count)

const BYTES = ['B', 'KB', 'MB', 'GB'] as const

/** A size: "1.5 MB". */
export function formatBytes(bytes: number): string {
  const power = Math.min(BYTES.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${formatNumber(Math.round((bytes / 1000 ** power) * 10) / 10)} ${BYTES[power] ?? 'B'}`
}
