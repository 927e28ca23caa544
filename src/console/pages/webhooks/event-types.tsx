import { Checkbox, SimpleGrid, Stack } from '@mantine/core'
import type { ReactNode } from 'react'

import type { EventType } from '../../../generated/console.ts'

/** Every event that webhooks can subscribe to, and when it happens. */
const WHEN: Readonly<Record<Exclude<EventType, 'notification_reply'>, string>> = {
  comment_created: 'A comment is posted',
  comment_edited: 'Its author changes it',
  comment_deleted: 'By its author, a moderator or an erasure',
  comment_approved: 'It is public now',
  comment_rejected: 'It is no longer public',
  comment_pinned: 'It is pinned',
  comment_unpinned: 'It is no longer pinned',
  reaction_toggled: 'Set, replaced or removed',
  discussion_locked: 'Readers can no longer write',
  discussion_unlocked: 'Readers can write again',
  discussion_archived: 'Archived, which is final',
}

export const EVENT_TYPES: readonly string[] = Object.keys(WHEN)

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
          {Object.entries(WHEN).map(([type, when]) => (
            <Checkbox key={type} value={type} label={type} description={when} />
          ))}
        </SimpleGrid>
      </Stack>
    </Checkbox.Group>
  )
}
