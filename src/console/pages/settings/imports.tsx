import { Anchor, Badge, Button, Code, Stack, Table, Text, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'

import { ImportsDocument, type ImportsQuery, MeDocument } from '../../../generated/console.ts'
import { useApi, useList } from '../../api/queries.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { Section } from '../../ui/section.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

const POLL_MS = 10_000

const GUIDE = new URL('../docs/guides/moving', document.baseURI).href

type Import = ImportsQuery['imports']['nodes'][number]

/** The imports by the command line, with their reports. */
export function Imports() {
  const list = useList(ImportsDocument, { first: 20 }, ({ imports }) => imports, { everyMs: POLL_MS })
  const [shown, setShown] = useState<Import | null>(null)
  const { data } = useApi(MeDocument, {})
  const slug = data?.me?.tenant.slug ?? '…'
  return (
    <Section id="import" title="Import">
      <Text size="sm" maw={640}>
        Comments of another system are moved in by the command line, where the service runs. The{' '}
        <Anchor href={GUIDE} target="_blank" rel="noopener" underline="always">
          guide to moving in
        </Anchor>{' '}
        has the name of each system, and how to get its export. On the embedded database, stop the service first.
      </Text>
      <Code block {...WRITTEN} tabIndex={0} aria-label="The command" maw={640}>
        npm run cli -- import --tenant {slug} --from disqus export.xml.gz --dry-run
      </Code>
      <List list={list} of="imports" empty={<Empty title="Nothing was imported">Imports appear here.</Empty>}>
        {(imports) => (
          <DataTable
            label="Imports"
            head={[
              'File',
              'State',
              'Started',
              'Comments',
              'Not taken',
              <VisuallyHidden key="more">More</VisuallyHidden>,
            ]}
          >
            {imports.map((each) => (
              <ImportRow key={each.id} made={each} onShow={() => setShown(each)} />
            ))}
          </DataTable>
        )}
      </List>
      {shown !== null && <Report made={shown} onClose={() => setShown(null)} />}
    </Section>
  )
}

const COLORS = { unfinished: 'blue', finished: 'green', undone: 'gray' } as const

const ImportRow = ({ made, onShow }: { made: Import; onShow: () => void }) => (
  <Table.Tr>
    <Table.Td miw={120} {...WRITTEN}>
      {made.fileName}
      <Text size="xs" c="dimmed">
        {made.source}
      </Text>
    </Table.Td>
    <Table.Td>
      <Badge color={COLORS[made.state]}>{made.state}</Badge>
    </Table.Td>
    <Table.Td>
      <Time at={made.startedAt} />
    </Table.Td>
    <Table.Td>{formatNumber(made.counts.comments)}</Table.Td>
    <Table.Td>{formatNumber(made.refused.total)}</Table.Td>
    <Table.Td>
      <Button size="compact-sm" variant="default" aria-label={`Report of ${made.fileName}`} onClick={onShow}>
        Report
      </Button>
    </Table.Td>
  </Table.Tr>
)

const KINDS = {
  readers: 'Readers',
  discussions: 'Discussions',
  comments: 'Comments',
  revisions: 'Former bodies of comments',
  reactions: 'Reactions',
  reports: 'Reports',
  settings: 'Sets of settings',
  endpoints: 'Webhook endpoints',
  auditEntries: 'Entries of the audit log',
} as const satisfies Record<keyof Import['counts'], string>

function Report({ made, onClose }: { made: Import; onClose: () => void }) {
  const kinds = Object.entries(KINDS) as [keyof Import['counts'], string][]
  return (
    <Dialog title={`Report of ${made.fileName}`} onClose={onClose}>
      <Stack>
        {made.undoneAt == null ? (
          <Text size="sm">
            The items that it had imported when it ended. <Code>import undo</Code> takes its id: <Code>{made.id}</Code>
          </Text>
        ) : (
          <Text size="sm">
            It was undone: <Time at={made.undoneAt} />, with {formatNumber(made.removed.comments)} of its comments and{' '}
            {formatNumber(made.removed.readers)} of its readers. Items that were touched meanwhile have stayed, and so
            have pages. These are the items that it had imported before.
          </Text>
        )}
        <Table>
          <Table.Tbody>
            {kinds
              .filter(([name]) => made.counts[name] > 0)
              .map(([name, label]) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row">{label}</Table.Th>
                  <Table.Td>{formatNumber(made.counts[name])}</Table.Td>
                </Table.Tr>
              ))}
          </Table.Tbody>
        </Table>
        <TableUse option="--map" of={made.tables?.map} />
        <TableUse option="--authors" of={made.tables?.authors} />
        <Findings title="Not taken" of={made.refused} />
        <Findings title="Changed by the import" of={made.changed} />
      </Stack>
    </Dialog>
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
