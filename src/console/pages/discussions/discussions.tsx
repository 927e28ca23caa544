import { Anchor, Group, Select, Table, Text } from '@mantine/core'
import { Link } from 'react-router'

import {
  DiscussionsDocument,
  type DiscussionsQuery,
  type DiscussionSort,
  type DiscussionState,
} from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { useFilter } from '../../ui/inputs/filters.ts'
import { DataTable, List } from '../../ui/list.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { pageName } from '../../ui/page-name.ts'
import { PageFrame } from '../../ui/page.tsx'
import { Search } from '../../ui/inputs/search.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { DiscussionStateBadge } from './state-badge.tsx'

const STATES: { value: DiscussionState; label: string }[] = [
  { value: 'open', label: 'Open' },
  { value: 'locked', label: 'Locked' },
  { value: 'archived', label: 'Archived' },
]

const SORTS: { value: DiscussionSort; label: string }[] = [
  { value: 'active', label: 'Last commented first' },
  { value: 'recent', label: 'Newest first' },
]

const known = <Value extends string>(choices: readonly { value: Value }[], value: string | null): Value | null =>
  choices.find((choice) => choice.value === value)?.value ?? null

export function Page() {
  const [search, setSearch] = useFilter('search')
  const [chosenState, setState] = useFilter('state')
  const [chosenSort, setSort] = useFilter('sort')
  const state = known(STATES, chosenState)
  const sort = known(SORTS, chosenSort) ?? 'active'
  const list = useList(DiscussionsDocument, { search, state, sort, first: 25 }, ({ discussions }) => discussions, {
    everyMs: 5_000,
  })
  const isFiltered = search !== null || state !== null
  return (
    <PageFrame title="Discussions" about="The comment threads of your pages.">
      <Group align="flex-end" gap="sm">
        <Search label="External id or title" value={search} onChange={setSearch} flex="4 1 240px" />
        <Select
          label="State"
          placeholder="Any"
          data={STATES}
          value={state}
          onChange={setState}
          clearable
          flex="1 1 130px"
        />
        <Select label="Order" data={SORTS} value={sort} onChange={setSort} allowDeselect={false} flex="1 1 180px" />
      </Group>
      <List
        list={list}
        of="discussions"
        empty={
          isFiltered ? (
            <Empty title="No discussion was found">
              An external id is found by how it begins, a title by its words. Try fewer of them, or another state.
            </Empty>
          ) : (
            <Empty title="There is no discussion yet">The first comment on a page creates one.</Empty>
          )
        }
      >
        {(discussions) => (
          <DataTable label="Discussions" head={['Page', 'State', 'Comments', 'Last comment', 'Created']}>
            {discussions.map((discussion) => (
              <Row key={discussion.id} {...discussion} />
            ))}
          </DataTable>
        )}
      </List>
    </PageFrame>
  )
}

type Discussion = DiscussionsQuery['discussions']['nodes'][number]

function Row(discussion: Discussion) {
  const { id, externalId, state, commentCount, lastCommentedAt, createdAt } = discussion
  const name = pageName(discussion)
  return (
    <Table.Tr>
      <Table.Td maw={360}>
        <Anchor component={Link} to={`/discussions/${id}`} size="sm" {...WRITTEN} lineClamp={2}>
          <Breakable text={name} />
        </Anchor>
        {name !== externalId && (
          <Text size="xs" c="dimmed" {...WRITTEN} lineClamp={1}>
            <Breakable text={externalId} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <DiscussionStateBadge state={state} />
      </Table.Td>
      <Table.Td>{formatNumber(commentCount)}</Table.Td>
      <Table.Td>{lastCommentedAt == null ? 'none' : <Time at={lastCommentedAt} />}</Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
    </Table.Tr>
  )
}
