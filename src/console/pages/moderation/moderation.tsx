import { Box, Button, Group, Switch } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'

import { ModerationQueueDocument, QueueCountsDocument } from '../../../generated/console.ts'
import { useQueueChanges } from '../../api/live.ts'
import { PageFrame } from '../../ui/page.tsx'
import { GRACE_MS } from './actions.ts'
import { useHelp } from './help.tsx'
import { useSendAtOnce } from './shortcuts.ts'
import { useQueueCounts } from './view/counts.ts'
import { chosenIn, Filters } from './view/filters.tsx'
import { Queue } from './shown-queue.tsx'
import { Queues } from './view/queues.tsx'
import { useQueueView } from './view/view.ts'

const OF_QUEUES = [ModerationQueueDocument, QueueCountsDocument]

export function Page() {
  useQueueChanges(OF_QUEUES)
  const { view, change, isUsual } = useQueueView()
  const { hasShortcuts, onHelp, button, dialog } = useHelp()
  const [isAtOnce, setAtOnce] = useSendAtOnce()
  const counts = useQueueCounts()
  const count = counts[view.status === 'reported' ? 'reported' : 'pending'] ?? 0
  const chosen = chosenIn(view)
  // It opens on the first queue that has work. Later, an empty queue says so and stays.
  const isOpening = useRef(isUsual)
  useEffect(() => {
    if (!isOpening.current || counts.pending === undefined) return
    isOpening.current = false
    if (isUsual && counts.pending === 0 && (counts.reported ?? 0) > 0) change({ status: 'reported' }, { replace: true })
  }, [isUsual, counts.pending, counts.reported, change])
  // On a phone they would leave no room for the queue.
  const [isOpen = chosen > 0 && matchMedia('(min-width: 48em)').matches, setOpen] = useState<boolean>()
  return (
    <PageFrame
      title="Moderation"
      count={count}
      // On a phone the queue would begin below half of the screen.
      about={
        <Box component="span" visibleFrom="sm">
          Comments that wait for a moderator, were reported by readers, or were seen by no moderator yet.
        </Box>
      }
      actions={button}
    >
      <Group>
        <Queues status={view.status} onChange={(status) => change({ status })} />
        <Button variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Filter and sort{chosen > 0 && ` (${chosen})`}
        </Button>
        <Switch
          label="Send judgements at once"
          checked={isAtOnce}
          onChange={({ currentTarget }) => setAtOnce(currentTarget.checked)}
        />
      </Group>
      {isOpen && <Filters view={view} onChange={change} />}
      <Queue
        key={JSON.stringify(view)}
        view={view}
        hasShortcuts={hasShortcuts}
        graceMs={isAtOnce ? 0 : GRACE_MS}
        onHelp={onHelp}
      />
      {dialog}
    </PageFrame>
  )
}
