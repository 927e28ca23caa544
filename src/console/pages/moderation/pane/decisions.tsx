import { Anchor, Group, Stack, Text } from '@mantine/core'
import { Link } from 'react-router'

import type { CommentContextQuery } from '../../../../generated/console.ts'
import { textOf } from '../../../ui/mentions.ts'
import { Time } from '../../../ui/time.tsx'
import { WRITTEN } from '../../../ui/written.ts'
import { actorName, givenIn } from '../../../ui/acts.ts'

const SHOWN = 5

type Act = NonNullable<CommentContextQuery['decisions']>['nodes'][number]

const DONE: Readonly<Record<string, string>> = {
  'comment.approve': 'approved',
  'comment.reject': 'rejected',
  'comment.delete': 'deleted',
  'reader.ban': 'banned them',
  'reader.unban': 'ended the ban',
}

/** Who has decided what on a comment, on others of its author, and on the author, and why. */
export function Decisions({
  commentId,
  readerId,
  decisions,
  bans,
}: {
  commentId: string
  readerId: string
  decisions: readonly Act[]
  bans: readonly Omit<Act, 'comment'>[]
}) {
  const own = decisions.filter(({ comment }) => comment?.id === commentId).slice(0, SHOWN)
  const others = decisions.filter(({ comment }) => comment?.id !== commentId).slice(0, SHOWN)
  return (
    <>
      <Acts label="On this comment" acts={own} />
      <Acts label="On their other comments" acts={others} hasText />
      <Acts label="Bans" acts={bans} />
      {own.length + others.length + bans.length === 0 && (
        <Text size="sm" c="dimmed">
          No moderator has decided on them yet.
        </Text>
      )}
      <Anchor component={Link} to={`/readers/${readerId}?tab=timeline`} size="sm">
        All that happened around them
      </Anchor>
    </>
  )
}

function Acts({
  label,
  acts,
  hasText = false,
}: {
  label: string
  acts: readonly (Omit<Act, 'comment'> & Partial<Pick<Act, 'comment'>>)[]
  /** Whether the texts of the comments are shown. */
  hasText?: boolean
}) {
  if (acts.length === 0) return null
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Stack component="ul" gap={6} m={0} p={0} style={{ listStyle: 'none' }} aria-label={label}>
        {acts.map(({ at, comment, auditEntry }, n) => {
          const why = givenIn(auditEntry?.after)
          return (
            <li key={auditEntry?.id ?? n}>
              <Group gap={6}>
                <Text size="sm" {...WRITTEN}>
                  <bdi>{actorName(auditEntry?.actor)}</bdi> {DONE[auditEntry?.action ?? ''] ?? 'did something'}
                </Text>
                <Time at={at} size="xs" c="dimmed" />
              </Group>
              {why !== '' && (
                <Text size="sm" {...WRITTEN}>
                  {why}
                </Text>
              )}
              {hasText && (
                <Text size="sm" c="dimmed" {...WRITTEN} lineClamp={2}>
                  {(comment && textOf(comment)) ?? 'A deleted comment'}
                </Text>
              )}
            </li>
          )
        })}
      </Stack>
    </Stack>
  )
}
