import { Badge, Group, Stack, Text, Title } from '@mantine/core'

import { ReaderHistoryDocument, type ReaderQuery } from '../../../generated/console.ts'
import { Empty } from '../../ui/states.tsx'
import { GRACE_MS } from '../moderation/actions.ts'
import { useHelp } from '../moderation/help.tsx'
import { JudgedList } from '../moderation/queue-list.tsx'
import { useSendAtOnce } from '../moderation/shortcuts.ts'
import { useList } from '../../api/queries.ts'
import { type QueueItem, useEntries } from '../moderation/entries.ts'
import { orderByTime } from '../moderation/view/order.ts'

type Counts = NonNullable<NonNullable<ReaderQuery['reader']>['commentCounts']>

/** How many of the newest comments are counted. */
const COUNTED = 1_000

/** A reader's comments, in any state, with the actions and the keys of the queue. */
export function ReaderHistory({
  readerId,
  counts,
  isRejecting,
  onRejecting,
}: {
  readerId: string
  counts: Counts
  /** Whether their pending comments are to be rejected. */
  isRejecting: boolean
  onRejecting: () => void
}) {
  const queue = useHistory(readerId)
  const { hasShortcuts, onHelp, button, dialog } = useHelp()
  const [isAtOnce] = useSendAtOnce()
  return (
    <Stack component="section" gap="sm" aria-label="Comments">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Comments
        </Title>
        {button}
      </Group>
      <CountsLine {...counts} />
      <JudgedList
        queue={queue}
        of="the comments"
        isOfOneReader
        hasShortcuts={hasShortcuts}
        graceMs={isAtOnce ? 0 : GRACE_MS}
        onHelp={onHelp}
        toReject={isRejecting ? readerId : null}
        onRejecting={onRejecting}
      >
        <Empty title="No comments yet" />
      </JudgedList>
      {dialog}
    </Stack>
  )
}

function CountsLine({ total, approved, pending, rejected, deleted, reportsReceived }: Counts) {
  return (
    <Group gap="xs">
      <Badge>{approved} approved</Badge>
      <Badge>{pending} pending</Badge>
      <Badge>{rejected} rejected</Badge>
      <Badge>{deleted} deleted</Badge>
      <Badge>{reportsReceived === 1 ? '1 report' : `${reportsReceived} reports`} received</Badge>
      {total >= COUNTED && (
        <Text size="sm" c="dimmed">
          of their newest {COUNTED}
        </Text>
      )}
    </Group>
  )
}

/** A reader's comments, in any state, as they are worked on. */
function useHistory(id: string) {
  const list = useList(ReaderHistoryDocument, { id, first: 20 }, ({ reader }) => reader?.comments, { everyMs: 5_000 })
  const nodes = list.nodes?.map((comment): QueueItem => ({
    comment,
    reason: null,
    holdDetails: [],
    reportCount: comment.reports?.nodes.length ?? 0,
    openReportCount: 0,
    decision: null,
    claimedBy: null,
  }))
  return useEntries({ ...list, nodes }, { status: null, order: orderByTime('newest'), emptyPages: 0 })
}
