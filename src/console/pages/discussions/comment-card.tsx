import { Alert, Anchor, Badge, Card, Group, Text } from '@mantine/core'
import { IconFlag, IconPinned } from '../../ui/icons.tsx'
import { Link } from 'react-router'

import type { HoldReason, ThreadCommentFragment } from '../../../generated/console.ts'
import { AuthorBadges } from '../../ui/author-badges.tsx'
import type { Decision } from '../../ui/decision.ts'
import { CommentStatusBadge } from '../../ui/comment-status.tsx'
import { HOLD_REASONS } from '../../ui/hold-reasons.ts'
import { textOf } from '../../ui/mentions.ts'
import { Told } from '../../ui/told.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { CommentMenu } from './comment-menu.tsx'
import type { Desk } from './desk.ts'

interface About {
  reason?: HoldReason | null
  openReportCount: number
  decision?: Decision | null
}

/** A comment as written, its state, and the actions on it. */
export function CommentCard({
  comment: given,
  about: known,
  isFinal,
  desk,
}: {
  comment: ThreadCommentFragment
  about: About | undefined
  isFinal: boolean
  desk: Desk
}) {
  const { comment, isChanged, refusal } = desk.see(given)
  // A judgement answers them.
  const about = isChanged ? undefined : known
  const { author, body, status, createdAt, editedAt, pinnedAt, reactionCounts } = comment
  const name = author == null ? null : (author.name ?? author.externalId)
  return (
    <Card withBorder padding="sm" component="article" aria-label={`Comment of ${name ?? 'an unknown author'}`}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Group gap="xs">
          {author == null ? (
            <Text size="sm" c="dimmed">
              without an author
            </Text>
          ) : (
            <Anchor component={Link} to={`/readers/${author.id}`} size="sm" fw={600} {...WRITTEN}>
              {name}
            </Anchor>
          )}
          <AuthorBadges of={author} />
          <Time at={createdAt} c="dimmed" />
          {editedAt != null && (
            <Text size="sm" c="dimmed">
              edited
            </Text>
          )}
          {pinnedAt != null && <Badge leftSection={<IconPinned size={12} aria-hidden />}>pinned</Badge>}
          {(status !== 'approved' || isChanged) && <CommentStatusBadge status={status} />}
          {about?.reason != null && <Badge>{HOLD_REASONS[about.reason]}</Badge>}
          {about !== undefined && about.openReportCount > 0 && (
            <Badge leftSection={<IconFlag size={12} aria-hidden />}>
              {about.openReportCount === 1 ? '1 report' : `${about.openReportCount} reports`}
            </Badge>
          )}
        </Group>
        {given.status !== 'deleted' && (
          <CommentMenu
            comment={comment}
            name={name}
            isReported={about !== undefined && status === 'approved'}
            isFinal={isFinal || status === 'deleted'}
            desk={desk}
          />
        )}
      </Group>
      <Text size="sm" {...WRITTEN} mt={4} {...(body == null ? { c: 'dimmed' } : {})}>
        {textOf(comment) ?? status}
      </Text>
      <Told decision={about?.decision} />
      <Reactions counts={reactionCounts} />
      {refusal !== null && (
        <Alert color="red" mt="xs" p="xs">
          {refusal}
        </Alert>
      )}
    </Card>
  )
}

function Reactions({ counts }: { counts: unknown }) {
  const held = Object.entries((counts ?? {}) as Readonly<Record<string, number>>)
  if (held.length === 0) return null
  return (
    <Text size="xs" c="dimmed" mt={4} {...WRITTEN}>
      {held.map(([type, n]) => `${type} ${n}`).join(' · ')}
    </Text>
  )
}
