import { Anchor, Table } from '@mantine/core'
import { Link } from 'react-router'

import { ReadersDocument, type ReadersQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { useFilter } from '../../ui/inputs/filters.ts'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Search } from '../../ui/inputs/search.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { BanBadge } from './ban.tsx'
import { WasAlso } from './was-also.tsx'

export function Page() {
  const [search, setSearch] = useFilter('search')
  const list = useList(ReadersDocument, { search, first: 25 }, ({ readers }) => readers, { everyMs: 5_000 })
  return (
    <PageFrame
      title="Readers"
      about="The people for whom your backend has signed an assertion, or whom an import has brought."
    >
      <Search label="External id or name" value={search} onChange={setSearch} />
      <List
        list={list}
        of="readers"
        empty={
          search === null ? (
            <Empty title="There is no reader yet">
              A reader appears here with the first assertion that you sign for them.
            </Empty>
          ) : (
            <Empty title="No reader was found">
              An external id is found by how it begins, a name by its words. Try fewer of them.
            </Empty>
          )
        }
      >
        {(readers) => (
          <DataTable label="Readers" head={['Reader', 'External id', 'Ban', 'First seen']}>
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
  const { id, externalId, name, ban, createdAt } = reader
  return (
    <Table.Tr>
      <Table.Td maw={280}>
        <Anchor component={Link} to={`/readers/${id}`} size="sm" {...WRITTEN} lineClamp={2}>
          {name ?? externalId}
        </Anchor>
      </Table.Td>
      <Table.Td maw={280} {...WRITTEN}>
        {externalId}
        <WasAlso of={reader} search={search} />
      </Table.Td>
      <Table.Td>{ban != null && <BanBadge shadow={ban.shadow} />}</Table.Td>
      <Table.Td>{createdAt != null && <Time at={createdAt} />}</Table.Td>
    </Table.Tr>
  )
}
