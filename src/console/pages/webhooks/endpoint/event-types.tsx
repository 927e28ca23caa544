import { Checkbox, SimpleGrid, Stack } from '@mantine/core'
import type { ReactNode } from 'react'

import LABELS from '../../../../generated/event-labels.json' with { type: 'json' }

/** Every event that webhooks can subscribe to. */
export const EVENT_TYPES: readonly string[] = Object.keys(LABELS)

export const ALL = '*'

/** Chooses events: all of them, including future ones, or some by name. */
export function EventTypes({
  value = [],
  onChange,
  ...props
}: {
  label: string
  description?: string
  error?: ReactNode
  /** In the form library's type. */
  value?: string[]
  onChange: (value: string[]) => void
}) {
  const choose = (next: string[]): void => {
    const hasChosenAll = next.includes(ALL) && !value.includes(ALL)
    onChange(hasChosenAll ? [ALL] : next.filter((type) => type !== ALL || next.length === 1))
  }
  return (
    <Checkbox.Group value={value} onChange={choose} {...props}>
      <Stack gap="xs" mt="xs">
        <Checkbox value={ALL} label="* (all events)" description="Including types that later releases add" />
        <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="xs">
          {Object.entries(LABELS).map(([type, label]) => (
            <Checkbox key={type} value={type} label={type} description={label} />
          ))}
        </SimpleGrid>
      </Stack>
    </Checkbox.Group>
  )
}
