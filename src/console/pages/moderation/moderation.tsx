import { Anchor, Badge, Box, Button, Group, SegmentedControl, Switch } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link } from 'react-router'

import { ModerationQueueDocument, type ModerationQueueStatus, QueueCountsDocument } from '../../../generated/console.ts'
import { useQueueChanges } from '../../api/live.ts'
import { PageFrame } from '../../ui/page.tsx'
import { GRACE_MS } from './actions.ts'
import { useHelp } from './help.tsx'
import { useSendAtOnce } from './shortcuts.ts'
import { BOUND, useQueueCounts } from './view/counts.ts'
import { chosenIn, Filters, isFiltered } from './view/filters.tsx'
import { QUEUES, type QueueView, useQueueView } from './view/view.ts'
import { Empty } from '../../ui/states.tsx'
import { JudgedList, type Work } from './queue-list.tsx'
import { useList } from '../../api/queries.ts'
import { useEntries } from './entries.ts'
import { hasLeft, orderOf } from './view/order.ts'
import { formatCount } from '../../ui/numbers.ts'

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

const IS_EMPTY: Readonly<Record<QueueView['status'], [title: string, words: ReactNode]>> = {
  pending: [
    'Nothing is waiting',
    <>
      Comments that a rule holds appear here. The rules are in the{' '}
      <Anchor component={Link} to="/settings" inherit underline="always">
        settings
      </Anchor>
      . What no moderator has seen is under{' '}
      <Anchor component={Link} to="/moderation?status=unreviewed" inherit underline="always">
        Unreviewed
      </Anchor>
      .
    </>,
  ],
  reported: ['Nothing is reported', 'Comments that readers report appear here.'],
  unreviewed: [
    'Everything has been looked at',
    'Comments that the rules let through appear here, until a moderator has looked at them.',
  ],
  rejected: ['Nothing is rejected', 'Rejected comments stay here. You can still approve them.'],
}

/** One queue, or what fits the filters. The service may have looked at a part of it only. */
function Queue({ view, ...work }: Work & { view: QueueView }) {
  const queue = useQueue(view)
  const [title, words] = IS_EMPTY[view.status]
  return (
    <JudgedList queue={queue} of="the queue" {...work}>
      {queue.list.hasNextPage ? (
        <Empty title="Nothing was found so far">The queue is long. The button below looks further.</Empty>
      ) : isFiltered(view) ? (
        <Empty title="Nothing fits these filters">Clear them to see the whole queue.</Empty>
      ) : (
        <Empty title={title}>{words}</Empty>
      )}
    </JudgedList>
  )
}

// Changes are pushed; polling covers changes without a message, such as an author's new name.
const POLL_MS = 30_000

/** A queue as it is worked on. */
function useQueue(view: QueueView) {
  const { status, reason, readerId: authorId, discussionId, sort } = view
  const variables = { status, reason, authorId, discussionId, sort, first: 25 }
  const list = useList(ModerationQueueDocument, variables, (result) => result.moderationQueue, { everyMs: POLL_MS })
  const emptyPages = list.data?.pages.filter(({ moderationQueue }) => moderationQueue.nodes.length === 0).length ?? 0
  const order = {
    compare: (places: ReadonlyMap<string, number>) => orderOf(view, places),
    hasLeft: (ids: readonly string[], hasNextPage: boolean) => hasLeft(view, ids, hasNextPage),
  }
  return useEntries(list, { status, order, emptyPages })
}

/** The queues, with their lengths. */
function Queues({
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
