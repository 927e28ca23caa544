/** Separates thousands, as in the API's descriptions ("1 to 1 000"), without a line break. */
export const THOUSANDS = '\u00A0'

const ENGLISH = new Intl.NumberFormat('en')
const SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 })
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' })

/** The format of every number in the console: "1 234.5". */
export const formatNumber = (n: number): string => ENGLISH.format(n).replaceAll(',', THOUSANDS)

/** A relative change: "+12%". */
export const formatChange = (ratio: number): string => PERCENT.format(ratio).replaceAll(',', THOUSANDS)

/** A count that the service stops at `bound`: "1 000+" means as many or more. */
export const formatCount = (count: number, bound: number): string =>
  count >= bound ? `${formatNumber(bound)}+` : formatNumber(count)

/** A part of a whole: "67%". */
export const formatShare = (share: number): string => SHARE.format(share)

const DURATIONS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** A length of time to two digits: "45 sec", "2.8 hr"; a dash for none. */
export function formatDuration(seconds: number | null): string {
  if (seconds === null) return '–'
  const [unit, size] = DURATIONS.find(([, each]) => seconds >= each) ?? (['second', 1] as const)
  const digits = { style: 'unit', unit, maximumSignificantDigits: 2 } as const
  return new Intl.NumberFormat('en', digits).format(seconds / size).replaceAll(',', THOUSANDS)
}

const BYTES = ['B', 'KB', 'MB', 'GB'] as const

/** A size: "1.5 MB". */
export function formatBytes(bytes: number): string {
  const power = Math.min(BYTES.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${formatNumber(Math.round((bytes / 1000 ** power) * 10) / 10)} ${BYTES[power] ?? 'B'}`
}
