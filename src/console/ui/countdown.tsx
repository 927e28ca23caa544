import { Text, type TextProps } from '@mantine/core'
import { useInterval } from '@mantine/hooks'
import { useState } from 'react'

/** "in 23 h 59 min", "in 4 min 10 s", "in 9 s"; "now" once it has come. */
export function timeLeft(until: string, now: number): string {
  const seconds = Math.ceil((Date.parse(until) - now) / 1000)
  if (seconds <= 0) return 'now'
  if (seconds < 60) return `in ${seconds} s`
  if (seconds < 3_600) return `in ${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `in ${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}

/** The time left, counted down each second. */
export function Countdown({ until, ...props }: { until: string } & TextProps) {
  const [now, setNow] = useState(Date.now)
  useInterval(() => setNow(Date.now()), 1_000, { autoInvoke: true })
  return (
    <Text span size="sm" {...props}>
      <time dateTime={until} title={new Date(until).toLocaleString()}>
        {timeLeft(until, now)}
      </time>
    </Text>
  )
}
