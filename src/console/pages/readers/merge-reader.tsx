import { Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import { MergeReaderDocument, ReadersDocument, type ReadersQuery } from '../../../generated/console.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { List } from '../../ui/list.tsx'
import { Search } from '../../ui/inputs/search.tsx'
import { Empty } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { WasAlso } from './was-also.tsx'

/** Merges a reader into another one, who is chosen here and stays. */
export function MergeReader({
  readerId,
  externalId,
  onMerged,
  onClose,
}: {
  readerId: string
  externalId: string
  onMerged: (into: string) => void
  onClose: () => void
}) {
  const [search, setSearch] = useState<string | null>(null)
  const [into, setInto] = useState<string | null>(null)
  const found = useList(ReadersDocument, { search: search === '' ? null : search, first: 6 }, ({ readers }) => readers)
  const merge = useWrite(MergeReaderDocument, [ReadersDocument])
  const confirmed = async (): Promise<void> => {
    if (into === null) return
    const { mergeReader } = await merge.mutateAsync({ input: { readerId, into } })
    onMerged(mergeReader.reader.id)
  }
  return (
    <Confirm
      title={`Merge ${externalId} into another reader?`}
      action="Merge for good"
      typed={externalId}
      // A choice that is not in view does not count.
      isReady={found.nodes?.some(({ id }) => id === into) === true}
      onConfirm={confirmed}
      onClose={onClose}
    >
      <Stack gap="sm">
        <Text size="sm">
          Their comments, reactions, reports and bans move to the reader who stays, whose name and profile are kept.
          Signing in as {externalId} then signs in as that reader. It cannot be undone.
        </Text>
        <Search label="Who stays: external id or name" value={search} onChange={setSearch} hasFocus />
        <List list={found} of="readers" empty={<Empty title="No reader was found" />}>
          {(readers) => (
            <Others
              readers={readers.filter(({ id }) => id !== readerId)}
              search={search}
              value={into}
              onChange={setInto}
            />
          )}
        </List>
      </Stack>
    </Confirm>
  )
}

function Others({
  readers,
  search,
  value,
  onChange,
}: {
  readers: readonly ReadersQuery['readers']['nodes'][number][]
  search: string | null
  value: string | null
  onChange: (id: string) => void
}) {
  if (readers.length === 0) return <Empty title="No other reader was found" />
  return (
    <Radio.Group label="Who stays" value={value} onChange={onChange}>
      <Stack gap={6} mt={6}>
        {readers.map((reader) => (
          <Radio
            key={reader.id}
            value={reader.id}
            label={reader.name ?? reader.externalId}
            description={
              <>
                {reader.externalId}
                <WasAlso of={reader} search={search} />
              </>
            }
            {...WRITTEN}
          />
        ))}
      </Stack>
    </Radio.Group>
  )
}
