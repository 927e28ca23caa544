import { MultiSelect, Text } from '@mantine/core'

import {
  BadgesDocument,
  ReaderDocument,
  type ReaderQuery,
  SetReaderBadgesDocument,
} from '../../../generated/console.ts'
import { useApi, useWrite } from '../../api/queries.ts'
import { Problem } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'

type Reader = Pick<NonNullable<ReaderQuery['reader']>, 'id' | 'assignedBadges' | 'claimedBadges'>

/** The badges of a reader. A choice counts at once. */
export function Badges({ id, assignedBadges, claimedBadges }: Reader) {
  const { data } = useApi(BadgesDocument, {})
  const write = useWrite(SetReaderBadgesDocument, [ReaderDocument])
  const known = data?.publicSettings?.badges ?? []
  // The settings may no longer have one, and then no page shows it.
  const namesOf = (ids: readonly string[]) => known.filter((badge) => ids.includes(badge.id))
  const claimed = namesOf(claimedBadges ?? [])
  if (known.length === 0) return null
  return (
    <>
      <MultiSelect
        label="Badges"
        description="They stand beside the name, and grant nothing"
        data={known.map((badge) => ({ value: badge.id, label: badge.label }))}
        value={
          write.isPending ? [...write.variables.input.badges] : namesOf(assignedBadges ?? []).map((badge) => badge.id)
        }
        onChange={(badges) => write.mutate({ input: { readerId: id, badges } })}
        disabled={write.isPending}
        maxValues={10}
        maw={340}
      />
      {claimed.length > 0 && (
        <Text size="sm" {...WRITTEN}>
          From the sign-in of your site: {claimed.map(({ label }) => label).join(', ')}
        </Text>
      )}
      {write.error !== null && <Problem error={write.error} />}
    </>
  )
}
