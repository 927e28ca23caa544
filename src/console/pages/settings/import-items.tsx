import { Code, Stack, Table, Text } from '@mantine/core'

import type { ImportsQuery } from '../../../generated/console.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { WRITTEN } from '../../ui/written.ts'

type Import = ImportsQuery['imports']['nodes'][number]

const KINDS = {
  readers: 'Readers',
  discussions: 'Discussions',
  comments: 'Comments',
  revisions: 'Former bodies of comments',
  reactions: 'Reactions',
  reports: 'Reports',
  settings: 'Sets of settings',
  endpoints: 'Webhook endpoints',
  sites: 'Sites',
  notices: 'Notice channels',
  mutes: 'Mutes among readers',
  auditEntries: 'Entries of the audit log',
} as const satisfies Record<keyof Import['counts'], string>

/** What an import has done, or will do. */
export function ImportItems({
  counts,
  tables,
  refused,
  changed,
}: Pick<Import, 'counts' | 'tables' | 'refused' | 'changed'>) {
  const kinds = Object.entries(KINDS) as [keyof Import['counts'], string][]
  return (
    <>
      <Table>
        <Table.Tbody>
          {kinds
            .filter(([name]) => counts[name] > 0)
            .map(([name, label]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row">{label}</Table.Th>
                <Table.Td>{formatNumber(counts[name])}</Table.Td>
              </Table.Tr>
            ))}
        </Table.Tbody>
      </Table>
      <TableUse option="--map" of={tables?.map} />
      <TableUse option="--authors" of={tables?.authors} />
      <Findings title="Not taken" of={refused} />
      <Findings title="Changed by the import" of={changed} />
    </>
  )
}

type Tables = NonNullable<Import['tables']>

/** How many rows of a table were used, which shows at once if it belongs to another site. */
function TableUse({ option, of }: { option: string; of: Tables[keyof Tables] | undefined }) {
  if (of == null) return null
  const { rows, used, firstUnused } = of
  const isMore = rows - used > firstUnused.length
  return (
    <Text size="sm">
      <Code>{option}</Code>: {formatNumber(used)} of {formatNumber(rows)} rows were used
      {firstUnused.length > 0 && `, but not ${firstUnused.join(', ')}${isMore ? ' and others' : ''}`}.
    </Text>
  )
}

function Findings({ title, of: { total, first } }: { title: string; of: Import['refused'] }) {
  if (total === 0) return null
  const more = total - first.length
  return (
    <Stack gap={4}>
      <Text fw={600}>
        {title}: {formatNumber(total)}
      </Text>
      <ul>
        {first.map(({ place, reason }) => (
          <li key={`${place} ${reason}`}>
            <Text size="sm" {...WRITTEN}>
              {place} {reason}
            </Text>
          </li>
        ))}
        {more > 0 && (
          <li>
            <Text size="sm">and {formatNumber(more)} more</Text>
          </li>
        )}
      </ul>
    </Stack>
  )
}
