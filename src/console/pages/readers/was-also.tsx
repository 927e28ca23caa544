import { Text } from '@mantine/core'

import type { ReadersQuery } from '../../../generated/console.ts'
import { WRITTEN } from '../../ui/written.ts'

/** Why a search found a reader: one with that external id was merged into them. */
export function WasAlso({
  of: { formerReaders },
  search,
}: {
  of: ReadersQuery['readers']['nodes'][number]
  search: string | null
}) {
  const former = formerReaders?.find(({ externalId }) => externalId === search?.trim())
  if (former === undefined) return null
  return (
    <Text span size="xs" display="block">
      was also <span {...WRITTEN}>{former.externalId}</span>
    </Text>
  )
}
