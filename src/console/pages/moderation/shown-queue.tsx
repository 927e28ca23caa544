import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { Empty } from '../../ui/states.tsx'
import { JudgedList, type Work } from './queue-list.tsx'
import { useQueue } from './queue.ts'
import { isFiltered } from './view/filters.tsx'
import type { QueueView } from './view/view.ts'

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
export function Queue({ view, ...work }: Work & { view: QueueView }) {
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
