import { Text, type TextProps } from '@mantine/core'
import { useInterval } from '@mantine/hooks'
import { useState } from 'react'

import { wholeTime } from './clock.ts'

type Lead = 'in' | 'for'

/** "in 23 h 59 min", "for 4 min 10 s", "in 9 s"; "now" or "until now" once it has come. */
export function timeLeft(until: string, now: number, lead: Lead = 'in'): string {
  const seconds = Math.ceil((Date.parse(until) - now) / 1000)
  if (seconds <= 0) return lead === 'in' ? 'now' : 'until now'
  if (seconds < 60) return `${lead} ${seconds} s`
  if (seconds < 3_600) return `${lead} ${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${lead} ${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}

/** The time left, counted down each second. */
export function Countdown({ until, lead, ...props }: { until: string; lead?: Lead } & TextProps) {
  const [now, setNow] = useState(Date.now)
  useInterval(() => setNow(Date.now()), 1_000, { autoInvoke: true })
  return (
    <Text span size="sm" {...props}>
      <time dateTime={until} title={wholeTime(until)}>
        {timeLeft(until, now, lead)}
      </time>
    </Text>
  )
}
