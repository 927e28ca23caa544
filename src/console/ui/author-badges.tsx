import { Badge } from '@mantine/core'

import { BadgesDocument, type BadgeTone } from '../../generated/console.ts'
import { useApi } from '../api/queries.ts'
import { WRITTEN } from './written.ts'

const COLORS: Readonly<Record<BadgeTone, string>> = {
  neutral: 'gray',
  info: 'blue',
  success: 'green',
  warning: 'yellow',
  danger: 'red',
}

/** The badges of an author, as the settings name them. */
export function AuthorBadges({ ids }: { ids: readonly string[] | undefined }) {
  const { data } = useApi(BadgesDocument, {}, { enabled: ids !== undefined && ids.length > 0 })
  const known = data?.publicSettings?.badges ?? []
  return known
    .filter(({ id }) => ids?.includes(id))
    .map(({ id, label, tone }) => (
      <Badge key={id} variant="outline" color={COLORS[tone]} c="var(--mantine-color-text)" maw="100%" {...WRITTEN}>
        {label}
      </Badge>
    ))
}
