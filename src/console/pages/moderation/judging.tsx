import { Badge, Button, Group, Text } from '@mantine/core'

import { WRITTEN } from '../../ui/written.ts'
import { ApproveIcon, RejectIcon } from './icons.tsx'
import type { Entry } from './queue.ts'
import { nameOf } from './reader.tsx'
import type { Verb } from './undo.ts'

export interface JudgeProps {
  entry: Entry
  onJudge: (verb: Verb) => void
  onBan: () => void
}

/** The actions on a waiting comment. */
export function Actions({ entry, onJudge, onBan }: JudgeProps) {
  const { status, pinnedAt, isBusy, item } = entry
  // One in view is kept: that answers its reports.
  const approve = status === 'approved' ? 'Keep' : 'Approve'
  return (
    <Group gap="xs">
      {(status !== 'approved' || item.openReportCount > 0 || item.reason != null) && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<ApproveIcon />}
          loading={isBusy}
          aria-keyshortcuts="a"
          onClick={() => onJudge('approve')}
        >
          {approve}
        </Button>
      )}
      {status !== 'rejected' && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<RejectIcon />}
          loading={isBusy}
          aria-keyshortcuts="r"
          onClick={() => onJudge('reject')}
        >
          Reject
        </Button>
      )}
      {status === 'approved' && (
        <Button
          size="compact-sm"
          variant="default"
          loading={isBusy}
          aria-keyshortcuts="p"
          onClick={() => onJudge(pinnedAt === null ? 'pin' : 'unpin')}
        >
          {pinnedAt === null ? 'Pin' : 'Unpin'}
        </Button>
      )}
      {item.comment.author != null && (
        <Button size="compact-sm" variant="default" aria-keyshortcuts="b" onClick={onBan}>
          Ban
        </Button>
      )}
    </Group>
  )
}

const WORDS = {
  approved: 'Approved',
  rejected: 'Rejected',
  pending: 'Waits',
  deleted: 'Deleted',
  withheld: 'Withheld',
} as const

/** The actions on a comment that was judged. */
function actionsAfter({ status, pinnedAt }: Entry): readonly [verb: Verb, label: string][] {
  if (status === 'rejected') return [['approve', 'Approve instead']]
  if (status !== 'approved') return []
  return [pinnedAt === null ? ['pin', 'Pin'] : ['unpin', 'Unpin'], ['reject', 'Reject instead']]
}

/** A judged comment in one line, with the actions that change the judgement. */
export function Dealt({ entry, onJudge }: JudgeProps) {
  const { item, status, pinnedAt, dealtBy, isBusy } = entry
  const again = actionsAfter(entry)
  const { author, body } = item.comment
  return (
    <Group gap="xs" wrap="nowrap" justify="space-between">
      <Group gap="xs" wrap="nowrap" miw={0}>
        <Badge>
          {WORDS[status]}
          {dealtBy === 'another' && ' meanwhile'}
          {pinnedAt !== null && ', pinned'}
        </Badge>
        <Text size="sm" c="dimmed" truncate {...WRITTEN} style={{ whiteSpace: 'nowrap' }}>
          <bdi>{nameOf(author)}</bdi>: <bdi>{body}</bdi>
        </Text>
      </Group>
      <Group gap={4} wrap="nowrap">
        {again.map(([verb, label]) => (
          <Button
            key={verb}
            size="compact-sm"
            variant="subtle"
            miw="fit-content"
            loading={isBusy}
            onClick={() => onJudge(verb)}
          >
            {label}
          </Button>
        ))}
      </Group>
    </Group>
  )
}
