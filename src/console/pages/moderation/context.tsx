import { Anchor, Badge, Group, Stack, Text } from '@mantine/core'
import { Link, useSearchParams } from 'react-router'

import type { ReportReason } from '../../../generated/console.ts'
import { CommentStatusBadge } from '../../ui/comment-status.tsx'
import { HOLD_REASONS } from '../../ui/hold-reasons.ts'
import { textOf } from '../../ui/mentions.ts'
import { Time } from '../../ui/time.tsx'
import { commentAddress } from '../../ui/web-link.tsx'
import { WRITTEN } from '../../ui/written.ts'
import type { QueueItem } from './entries.ts'
import { useNameOf, usePageNameOf } from './reader.tsx'

const REPORTED: Readonly<Record<ReportReason, string>> = {
  abuse: 'Abuse',
  off_topic: 'Off topic',
  other: 'Other',
  spam: 'Spam',
}

/** Why the comment is in the queue, in a few words. */
export function Reasons({
  item: { reason, openReportCount, reportCount, comment },
  inQueue,
}: {
  item: QueueItem
  /** Whether the list tells the state. */
  inQueue: boolean
}) {
  const isBare = inQueue && reason == null && reportCount === 0 && comment.editedAt == null
  // An empty group would leave a gap.
  if (isBare) return null
  return (
    <Group gap={4}>
      {!inQueue && <CommentStatusBadge status={comment.status} />}
      {comment.pinnedAt != null && !inQueue && <Badge>pinned</Badge>}
      {reason != null && <Badge>{HOLD_REASONS[reason]}</Badge>}
      {openReportCount > 0 && <Badge>{openReportCount === 1 ? 'one report' : `${openReportCount} reports`}</Badge>}
      {reportCount > openReportCount && <Badge>{`${reportCount - openReportCount} answered`}</Badge>}
      {comment.editedAt != null && <Badge>edited</Badge>}
    </Group>
  )
}

/** Where it was written: the discussion here, and the publisher's page. */
export function Where({ comment }: Pick<QueueItem, 'comment'>) {
  const { author, discussion } = comment
  const nameOf = useNameOf()
  const { id, externalId, url, state } = discussion
  const name = usePageNameOf()(discussion)
  const address = commentAddress(url, comment)
  return (
    <Text size="sm" c="dimmed" component="div">
      on{' '}
      <Anchor component={Link} to={`/discussions/${id}`} size="sm" title={externalId} {...WRITTEN}>
        {name}
      </Anchor>
      {state !== 'open' && ` (${state})`}
      {address !== null && (
        <>
          {' · '}
          <Anchor
            href={address}
            target="_blank"
            rel="noopener noreferrer"
            size="sm"
            aria-label={`The page of ${name}, in a new tab`}
          >
            the page
          </Anchor>
        </>
      )}
      <AllOfPage id={id} name={name} />
      {author != null && <AllOfReader id={author.id} name={nameOf(author)} />}
    </Text>
  )
}

/** The comment that it replies to. */
export function Parent({ parent }: { parent: NonNullable<QueueItem['comment']['parent']> }) {
  const nameOf = useNameOf()
  return (
    <Stack gap={0} ps="sm" style={{ borderInlineStart: '3px solid var(--mantine-color-default-border)' }}>
      <Text size="xs" c="dimmed" {...WRITTEN}>
        replies to <bdi>{nameOf(parent.author)}</bdi>
        {parent.status !== 'approved' && ` (${parent.status})`}
      </Text>
      <Text size="sm" c="dimmed" {...WRITTEN} lineClamp={3}>
        {textOf(parent) ?? 'A deleted comment'}
      </Text>
    </Stack>
  )
}

/** The readers' reports. */
export function Reports({ reports, count }: { reports: QueueItem['comment']['reports']; count: number }) {
  const nameOf = useNameOf()
  if (reports == null || reports.nodes.length === 0) return null
  const rest = count - reports.nodes.length
  return (
    <Stack gap={2} component="ul" ps="md" m={0} aria-label="Reports">
      {reports.nodes.map(({ reason, note, counted, createdAt, reader }) => (
        <Text key={reader.id} component="li" size="sm" {...WRITTEN}>
          <b>{REPORTED[reason]}</b>
          {note != null && (
            <>
              : <bdi>{note}</bdi>
            </>
          )}{' '}
          <Text span size="xs" c="dimmed">
            <bdi>{nameOf(reader)}</bdi>, <Time at={createdAt} size="xs" />
            {!counted && ', not counted: banned in shadow'}
          </Text>
        </Text>
      ))}
      {rest > 0 && (
        <Text component="li" size="xs" c="dimmed">
          and {rest} more
        </Text>
      )}
    </Stack>
  )
}

/** Links to what the list has of a reader, or of a page; none while it shows nothing else. */
const AllOfReader = (of: { id: string; name: string }) => <AllOf kind="reader" {...of} />

const AllOfPage = (of: { id: string; name: string }) => <AllOf kind="discussion" {...of} />

const WORDS = { reader: 'all of this reader', discussion: 'all of this page' } as const

function AllOf({ kind, id, name }: { kind: keyof typeof WORDS; id: string; name: string }) {
  const [params] = useSearchParams()
  if (params.get(kind) === id) return null
  const next = new URLSearchParams(params)
  next.set(kind, id)
  return (
    <>
      {' · '}
      <Anchor component={Link} to={`?${next.toString()}`} size="sm" aria-label={`${WORDS[kind]}: ${name}`}>
        {WORDS[kind]}
      </Anchor>
    </>
  )
}
