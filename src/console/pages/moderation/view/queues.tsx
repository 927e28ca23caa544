import { Badge, Group, SegmentedControl } from '@mantine/core'

import type { ModerationQueueStatus } from '../../../../generated/console.ts'
import { formatCount } from '../../../ui/numbers.ts'
import { BOUND, useQueueCounts } from './counts.ts'
import { QUEUES } from './view.ts'

/** The queues, with their lengths. */
export function Queues({
  status,
  onChange,
}: {
  status: ModerationQueueStatus
  onChange: (status: ModerationQueueStatus) => void
}) {
  const counts: Partial<Record<string, number>> = useQueueCounts()
  return (
    <SegmentedControl
      className="quarters"
      aria-label="Queue"
      value={status}
      onChange={(value) => onChange(value as ModerationQueueStatus)}
      data={Object.entries(QUEUES).map(([value, label]) => ({
        value,
        label: (
          <Group gap={6} wrap="nowrap" justify="center">
            {label}
            <Count of={counts[value]} />
          </Group>
        ),
      }))}
    />
  )
}

function Count({ of = 0 }: { of: number | undefined }) {
  return of === 0 ? null : <Badge size="sm">{formatCount(of, BOUND)}</Badge>
}
