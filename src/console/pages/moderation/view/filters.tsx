import { Button, Group, Select } from '@mantine/core'

import type { HoldReason } from '../../../../generated/console.ts'
import { HOLD_REASONS } from '../../../ui/hold-reasons.ts'
import { PickDiscussion, PickReader } from './pick.tsx'
import { type QueueView, sortOf, SORTS, sortsOf } from './view.ts'

const REASONS = Object.entries(HOLD_REASONS).map(([value, label]) => ({ value, label }))

const EVERYTHING = { reason: null, readerId: null, discussionId: null, sort: null } as const

export const isFiltered = ({ reason, readerId, discussionId }: QueueView): boolean =>
  reason !== null || readerId !== null || discussionId !== null

/** How many of the choices differ from what a queue shows by itself. */
export const chosenIn = ({ reason, readerId, discussionId, sort }: QueueView): number =>
  [reason, readerId, discussionId, sort].filter((each) => each !== null).length

/** Which comments of a queue are shown, and in which order. */
export function Filters({ view, onChange }: { view: QueueView; onChange: (news: Partial<QueueView>) => void }) {
  const { status, reason, readerId, discussionId } = view
  return (
    <Group component="section" aria-label="Filters" align="flex-end" gap="sm">
      <Select
        label="Reason"
        placeholder="Any"
        data={REASONS}
        value={reason}
        onChange={(value) => onChange({ reason: value as HoldReason | null })}
        clearable
        clearButtonProps={{ 'aria-label': 'Any reason' }}
        flex="1 1 170px"
      />
      <PickReader value={readerId} onChange={(id) => onChange({ readerId: id })} />
      <PickDiscussion value={discussionId} onChange={(id) => onChange({ discussionId: id })} />
      <Select
        label="Order"
        data={sortsOf(status).map((value) => ({ value, label: SORTS[value] }))}
        value={sortOf(view)}
        onChange={(value) => onChange({ sort: value })}
        allowDeselect={false}
        flex="1 1 170px"
      />
      {chosenIn(view) > 0 && (
        <Button variant="subtle" onClick={() => onChange(EVERYTHING)}>
          Clear the filters
        </Button>
      )}
    </Group>
  )
}
