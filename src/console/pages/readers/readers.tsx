import { Anchor, Group, Table } from '@mantine/core'
import { Link } from 'react-router'

import { ReadersDocument, type ReadersQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { useFilter } from '../../ui/inputs/filters.ts'
import { GuestBadge } from '../../ui/author-badges.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Search } from '../../ui/inputs/search.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { BanBadge } from '../bans/ban.tsx'
import { WasAlso } from './was-also.tsx'

export function Page() {
  const [search, setSearch] = useFilter('search')
  const list = useList(ReadersDocument, { search, first: 25 }, ({ readers }) => readers, { everyMs: 5_000 })
  return (
    <PageFrame
      title="Readers"
      about="Everybody who was signed in on your pages, has confirmed an address as a guest, or came with an import."
    >
      <Search label="External id or name" value={search} onChange={setSearch} />
      <List
        list={list}
        of="readers"
        empty={
          search === null ? (
            <Empty title="There is no reader yet">
              A reader appears here when your site signs them in for the first time, a guest when they have confirmed
              their address.
            </Empty>
          ) : (
            <Empty title="No reader was found">
              An external id is found by how it begins, a name by its words. Try fewer of them.
            </Empty>
          )
        }
      >
        {(readers) => (
          <DataTable label="Readers" head={['Reader', 'External id', 'First seen']}>
            {readers.map((reader) => (
              <Row key={reader.id} reader={reader} search={search} />
            ))}
          </DataTable>
        )}
      </List>
    </PageFrame>
  )
}

type Reader = ReadersQuery['readers']['nodes'][number]

function Row({ reader, search }: { reader: Reader; search: string | null }) {
  const { id, externalId, name, kind, ban, createdAt } = reader
  return (
    <Table.Tr>
      <Table.Td maw={280}>
        <Anchor component={Link} to={`/readers/${id}`} size="sm" {...WRITTEN} lineClamp={2}>
          {name ?? externalId}
        </Anchor>
        <Group gap={4}>
          <GuestBadge kind={kind} />
          {ban != null && <BanBadge shadow={ban.shadow} />}
        </Group>
      </Table.Td>
      <Table.Td maw={280} {...WRITTEN}>
        <Breakable text={externalId} />
        <WasAlso of={reader} search={search} />
      </Table.Td>
      <Table.Td>{createdAt != null && <Time at={createdAt} />}</Table.Td>
    </Table.Tr>
  )
}
