import { Text, type TextProps } from '@mantine/core'

import { wholeTime } from './clock.ts'

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
const UNITS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

export const isPast = (at: string): boolean => Date.parse(at) <= Date.now()

/** RFC 3339, the given number of days from now. */
export const daysFromNow = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString()

/** "3 hours ago", "in 2 days"; "now" for the last minute. */
function relativeTime(at: string): string {
  const seconds = (Date.parse(at) - Date.now()) / 1000
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? (['second', 1] as const)
  // Rounded for the future ("in 7 days" for a week that has just begun), truncated for the past.
  const whole = seconds > 0 ? Math.round : Math.trunc
  return unit === 'second' ? RELATIVE.format(0, 'second') : RELATIVE.format(whole(seconds / size), unit)
}

/** A moment: relative, and to the second on hover. */
export function Time({ at, ...props }: { at: string } & TextProps) {
  return (
    <Text span size="sm" {...props}>
      <time dateTime={at} title={wholeTime(at)}>
        {relativeTime(at)}
      </time>
    </Text>
  )
}

/** A moment: relative, and below that to the second, for lists that are compared with a log. */
export function ExactTime({ at }: { at: string }) {
  return (
    <>
      <Time at={at} />
      <Text size="xs" c="dimmed">
        {wholeTime(at)}
      </Text>
    </>
  )
}
