import { Badge } from '@mantine/core'

import { BadgesDocument, type BadgeTone, type ReaderKind } from '../../generated/console.ts'
import { useApi } from '../api/queries.ts'
import { WRITTEN } from './written.ts'

const COLORS: Readonly<Record<BadgeTone, string>> = {
  neutral: 'gray',
  info: 'blue',
  success: 'green',
  warning: 'yellow',
  danger: 'red',
}

interface Author {
  kind?: ReaderKind | null | undefined
  badges?: readonly string[]
}

/** Marks a guest, for whom no sign-in of the publisher vouches. */
export const GuestBadge = ({ kind }: Pick<Author, 'kind'>) => (kind === 'guest' ? <Badge>guest</Badge> : null)

/** Whether the author is a guest, and their badges, as the settings name them. */
export function AuthorBadges({ of: author }: { of: Author | null | undefined }) {
  const ids = author?.badges
  const { data } = useApi(BadgesDocument, {}, { enabled: ids !== undefined && ids.length > 0 })
  const known = data?.publicSettings?.badges ?? []
  return (
    <>
      <GuestBadge kind={author?.kind} />
      {known
        .filter(({ id }) => ids?.includes(id))
        .map(({ id, label, tone }) => (
          <Badge key={id} variant="outline" color={COLORS[tone]} c="var(--mantine-color-text)" maw="100%" {...WRITTEN}>
            {label}
          </Badge>
        ))}
    </>
  )
}
