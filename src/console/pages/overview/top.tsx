import { Anchor, Card, SimpleGrid, Table, Text, Title } from '@mantine/core'
import { Link } from 'react-router'

import { TopDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { Breakable } from '../../ui/breakable.tsx'
import { namesApart } from '../../ui/names-apart.ts'
import { pageName } from '../../ui/page-name.ts'
import { RowBoundary } from '../../ui/row-boundary.tsx'
import { Answered } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { formatNumber } from '../../ui/numbers.ts'

interface Row {
  id: string
  name: string
  to: string
  comments: number
}

/** The discussions and readers with the most comments since an instant, by whole days. */
export function Top({ from }: { from: string }) {
  const query = useApi(TopDocument, { from }, { everyMs: 60_000 })
  return (
    <Answered query={query} of="the top discussions and readers">
      {({ analyticsTop: { discussions, readers } }) => (
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          <TopTable
            title="Top discussions"
            rows={rowsOf(
              discussions.map(({ comments, discussion }) => ({ comments, ...discussion, name: pageName(discussion) })),
              '/discussions',
            )}
          />
          <TopTable
            title="Top readers"
            rows={rowsOf(
              readers.map(({ comments, reader }) => ({ comments, ...reader })),
              '/readers',
            )}
          />
        </SimpleGrid>
      )}
    </Answered>
  )
}

interface Counted {
  id: string
  externalId: string
  name: string | null
  comments: number
}

function rowsOf(list: readonly Counted[], path: string): Row[] {
  const names = namesApart(list, ({ name, externalId }) => name ?? externalId)
  return list.map(({ id, comments }, index) => ({ id, name: names[index] ?? id, to: `${path}/${id}`, comments }))
}

function TopTable({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <Card withBorder component="section" aria-label={title}>
      <Title order={3} size="h5">
        {title}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        By approved comments
      </Text>
      {rows.length === 0 && <Text size="sm">No comment was approved in this time.</Text>}
      <Table aria-label={title}>
        <Table.Tbody>
          {rows.map((row) => (
            <RowBoundary key={row.id} columns={2}>
              <TopRow {...row} />
            </RowBoundary>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  )
}

function TopRow({ name, to, comments }: Row) {
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} to={to} size="sm" {...WRITTEN} lineClamp={2}>
          <Breakable text={name} />
        </Anchor>
      </Table.Td>
      <Table.Td ta="end">{formatNumber(comments)}</Table.Td>
    </Table.Tr>
  )
}
