import { Anchor, Group, Text } from '@mantine/core'
import { Link } from 'react-router'

import { QueuedReaderDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { BanBadge } from '../bans/ban.tsx'

/**
 * A reader's name, if the publisher gave one, else the external id. Comments that were deleted, and
 * those of erased readers, have no author.
 */
export const nameOf = (reader: { name?: string | null; externalId: string } | null | undefined): string =>
  reader == null ? 'An unknown author' : (reader.name ?? reader.externalId)

/** A reader, linked to their page. */
export function ReaderLink({
  reader,
}: {
  reader: { id: string; name?: string | null; externalId: string } | null | undefined
}) {
  if (reader == null) return <Text size="sm">{nameOf(reader)}</Text>
  return (
    <Anchor component={Link} to={`/readers/${reader.id}`} size="sm" fw={600} {...WRITTEN}>
      {nameOf(reader)}
    </Anchor>
  )
}

/** The author's other comments, and their ban. Queried if `isWanted`: once it comes into view. */
export function ReaderSummary({ id, isWanted }: { id: string; isWanted: boolean }) {
  const { data, error } = useApi(QueuedReaderDocument, { id }, { enabled: isWanted })
  const reader = data?.reader
  // Not worth an alert at each comment: the reader's page shows the error.
  if (error != null) return null
  // All of it is there for a moderator.
  if (reader?.commentCounts == null || reader.createdAt == null) return <Text size="xs">…</Text>
  const { total, approved, rejected, pending, reportsReceived } = reader.commentCounts
  const parts = [
    `${total >= 1000 ? '1 000 or more' : total} ${total === 1 ? 'comment' : 'comments'}`,
    `${approved} approved`,
    ...(pending > 0 ? [`${pending} pending`] : []),
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
    ...(reportsReceived > 0 ? [`reported ${reportsReceived} ${reportsReceived === 1 ? 'time' : 'times'}`] : []),
  ]
  return (
    <Group gap="xs">
      <Text size="xs" c="dimmed">
        First seen <Time at={reader.createdAt} size="xs" />: {parts.join(', ')}
      </Text>
      {reader.ban != null && <BanBadge shadow={reader.ban.shadow} />}
    </Group>
  )
}
