import { Badge, Button, Group, SegmentedControl } from '@mantine/core'
import { IconKeyboard } from '../../ui/icons.tsx'
import { useState } from 'react'

import { ModerationQueueDocument, type ModerationQueueStatus, QueueCountsDocument } from '../../../generated/console.ts'
import { useQueueChanges } from '../../api/live.ts'
import { useApi } from '../../api/queries.ts'
import { useFilter } from '../../ui/inputs/filters.ts'
import { formatCount } from '../../ui/numbers.ts'
import { PageFrame } from '../../ui/page.tsx'
import { ShortcutsHelp } from './help.tsx'
import { Queue } from './queue-list.tsx'
import { useShortcutsSetting } from './shortcuts.ts'

const QUEUES: Readonly<Record<ModerationQueueStatus, string>> = {
  pending: 'Pending',
  reported: 'Reported',
  rejected: 'Rejected',
}

const isQueue = (name: string | null): name is ModerationQueueStatus => name !== null && Object.hasOwn(QUEUES, name)

const OF_QUEUES = [ModerationQueueDocument, QueueCountsDocument]

export function Page() {
  useQueueChanges(OF_QUEUES)
  const [wanted, setWanted] = useFilter('status')
  const status = isQueue(wanted) ? wanted : 'pending'
  const [isOn, setOn] = useShortcutsSetting()
  const [isHelping, setHelping] = useState(false)
  return (
    <PageFrame
      title="Moderation"
      about="Comments that wait for a moderator or were reported by readers."
      actions={
        <Button
          variant="default"
          leftSection={<IconKeyboard size={16} aria-hidden />}
          aria-keyshortcuts="?"
          onClick={() => setHelping(true)}
        >
          {isOn ? 'Shortcuts' : 'Shortcuts are off'}
        </Button>
      }
    >
      <Group>
        <Queues status={status} onChange={setWanted} />
      </Group>
      <Queue key={status} status={status} hasShortcuts={isOn} onHelp={() => setHelping(true)} />
      {isHelping && <ShortcutsHelp isOn={isOn} onSwitch={setOn} onClose={() => setHelping(false)} />}
    </PageFrame>
  )
}

/** The queues, with their lengths. */
function Queues({ status, onChange }: { status: ModerationQueueStatus; onChange: (status: string) => void }) {
  const { data } = useApi(QueueCountsDocument, {}, { everyMs: 30_000 })
  const counts: Partial<Record<ModerationQueueStatus, number | null>> = { ...data?.overview }
  return (
    <SegmentedControl
      aria-label="Queue"
      value={status}
      onChange={onChange}
      data={Object.entries(QUEUES).map(([value, label]) => ({
        value,
        label: (
          <Group gap={6} wrap="nowrap" justify="center">
            {label}
            <Count of={isQueue(value) ? counts[value] : null} />
          </Group>
        ),
      }))}
    />
  )
}

function Count({ of }: { of: number | null | undefined }) {
  if (of == null || of === 0) return null
  // Counted up to 1 000.
  return <Badge size="sm">{formatCount(of, 1000)}</Badge>
}
