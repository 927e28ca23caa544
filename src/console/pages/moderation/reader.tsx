import { Anchor, Group, Text } from '@mantine/core'
import { replaceEqualDeep } from '@tanstack/react-query'
import { createContext, use, useState } from 'react'
import { Link } from 'react-router'

import { QueuedReaderDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { sharedNames, withId } from '../../ui/names-apart.ts'
import { type Page, pageName, pageNameApart } from '../../ui/page-name.ts'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { BanBadge } from '../bans/ban.tsx'

export interface Reader {
  id: string
  name?: string | null
  externalId: string
}

/**
 * A reader's name, if the publisher gave one, else the external id. Comments that were deleted, and
 * those of erased readers, have no author. A name of `shared` has the external id behind it.
 */
export const nameOf = (reader: Reader | null | undefined, shared: readonly string[] = []): string => {
  if (reader == null) return 'An unknown author'
  const name = reader.name ?? reader.externalId
  return shared.includes(name) ? withId(name, reader) : name
}

/** The names that several readers, or several pages, in view have. */
export const SharedNames = createContext<readonly string[]>([])

/**
 * The value of `SharedNames` with these readers and pages in view. It stays the same array while
 * its names do, so that nothing is drawn again.
 */
export function useSharedNames(
  readers: readonly (Reader | null | undefined)[],
  pages: readonly (Page & { id: string })[],
): readonly string[] {
  const outer = use(SharedNames)
  const [known, setKnown] = useState(outer)
  const ofReaders = sharedNames(
    readers.filter((reader) => reader != null),
    (reader) => nameOf(reader),
  )
  const shared = [...ofReaders, ...sharedNames(pages, pageName)]
  const next = replaceEqualDeep(known, [...outer, ...shared])
  if (next !== known) setKnown(next)
  return next
}

/** `nameOf`, which tells readers apart who have the same name here. */
export function useNameOf(): (reader: Reader | null | undefined) => string {
  const shared = use(SharedNames)
  return (reader) => nameOf(reader, shared)
}

/** `pageName`, which tells pages apart that have the same name here. */
export function usePageNameOf(): (page: Page) => string {
  const shared = use(SharedNames)
  return (page) => (shared.includes(pageName(page)) ? pageNameApart(page) : pageName(page))
}

/** A reader, linked to their page. */
export function ReaderLink({ reader }: { reader: Reader | null | undefined }) {
  const name = useNameOf()(reader)
  if (reader == null) return <Text size="sm">{name}</Text>
  return (
    <Anchor component={Link} to={`/readers/${reader.id}`} size="sm" fw={600} {...WRITTEN}>
      {name}
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
