import { Badge, Button, Group, Text } from '@mantine/core'

import { textOf } from '../../ui/mentions.ts'
import { Told } from '../../ui/told.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { ApproveIcon, RejectIcon } from './icons.tsx'
import type { Entry } from './entries.ts'
import { useNameOf } from './reader.tsx'
import type { Verb } from './undo.ts'

/**
 * What can be done with a comment of a list. The functions stay the same, so that only items are
 * drawn again that have changed.
 */
export interface Acts {
  judge: (entry: Entry, verb: Verb) => void
  ban: (entry: Entry) => void
  /** Asks for a reason first. */
  explain: (entry: Entry, verb: 'reject' | 'delete') => void
  context: (entry: Entry) => void
  select: (entry: Entry, isSelected: boolean) => void
  decideAnyway: (entry: Entry) => void
}

export interface JudgeProps {
  entry: Entry
  /** What says that the comment is fine. */
  good: 'approve' | 'review'
  /** Whether the list is a queue, not any comments. */
  inQueue: boolean
  /** Whether all of the list is of one reader, of whom the page itself tells. */
  isOfOneReader: boolean
  acts: Acts
}

/** The actions on a waiting comment. */
export function Actions({ entry, good, inQueue, isOfOneReader, acts }: JudgeProps) {
  const { status, pinnedAt, item } = entry
  const onJudge = (verb: Verb): void => acts.judge(entry, verb)
  if (status === 'deleted') return null
  const isReview = good === 'review' && status === 'approved'
  // One in view is kept: that answers its reports.
  const approve = isReview ? 'Mark as reviewed' : status === 'approved' ? 'Keep' : 'Approve'
  return (
    <Group gap="xs">
      {(isReview || status !== 'approved' || item.openReportCount > 0 || item.reason != null) && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<ApproveIcon />}
          aria-keyshortcuts="a"
          onClick={() => onJudge(isReview ? 'review' : 'approve')}
        >
          {approve}
        </Button>
      )}
      {status !== 'rejected' && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<RejectIcon />}
          aria-keyshortcuts="r"
          onClick={() => onJudge('reject')}
        >
          Reject
        </Button>
      )}
      {status !== 'rejected' && (
        <Button size="compact-sm" variant="default" aria-keyshortcuts="m" onClick={() => acts.explain(entry, 'reject')}>
          Reject, and say why
        </Button>
      )}
      {status === 'approved' && (
        <Button
          size="compact-sm"
          variant="default"
          aria-keyshortcuts="p"
          onClick={() => onJudge(pinnedAt === null ? 'pin' : 'unpin')}
        >
          {pinnedAt === null ? 'Pin' : 'Unpin'}
        </Button>
      )}
      {!inQueue && (
        <Button size="compact-sm" variant="default" onClick={() => acts.explain(entry, 'delete')}>
          Delete
        </Button>
      )}
      {item.comment.author != null && !isOfOneReader && (
        <Button size="compact-sm" variant="default" aria-keyshortcuts="b" onClick={() => acts.ban(entry)}>
          Ban
        </Button>
      )}
      <Button size="compact-sm" variant="default" aria-keyshortcuts="c" onClick={() => acts.context(entry)}>
        Context
      </Button>
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
export function Dealt({ entry, acts }: Pick<JudgeProps, 'entry' | 'acts'>) {
  const { item, status, pinnedAt, dealtBy, decision } = entry
  const again = actionsAfter(entry)
  const nameOf = useNameOf()
  const { author } = item.comment
  return (
    <>
      <Group gap="xs" wrap="nowrap" justify="space-between">
        <Group gap="xs" wrap="nowrap" miw={0}>
          <Badge>
            {WORDS[status]}
            {dealtBy === 'another' && ' meanwhile'}
            {pinnedAt !== null && ', pinned'}
          </Badge>
          <Text size="sm" c="dimmed" truncate {...WRITTEN} style={{ whiteSpace: 'nowrap' }}>
            <bdi>{nameOf(author)}</bdi>: <bdi>{textOf(item.comment)}</bdi>
          </Text>
        </Group>
        <Group gap={4} wrap="nowrap">
          {again.map(([verb, label]) => (
            <Button
              key={verb}
              size="compact-sm"
              variant="subtle"
              miw="fit-content"
              onClick={() => acts.judge(entry, verb)}
            >
              {label}
            </Button>
          ))}
        </Group>
      </Group>
      <Told decision={decision} />
    </>
  )
}
