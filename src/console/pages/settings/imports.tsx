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
import { ImportItems } from './import-items.tsx'
import { Upload } from './upload.tsx'

const POLL_MS = 10_000

const GUIDE = new URL('../docs/guides/moving', document.baseURI).href

type Import = ImportsQuery['imports']['nodes'][number]

/** The upload of a file, and all imports with their reports. */
export function Imports() {
  const list = useList(ImportsDocument, { first: 20 }, ({ imports }) => imports, { everyMs: POLL_MS })
  const [shown, setShown] = useState<Import | null>(null)
  const { data } = useApi(MeDocument, {})
  const slug = data?.me?.tenant.slug ?? '…'
  return (
    <Section id="import" title="Import">
      <Text size="sm" maw={640}>
        Choose the export of another system, or of this service, of at most 1 GB. It is rehearsed first, which changes
        nothing. The{' '}
        <Anchor href={GUIDE} target="_blank" rel="noopener" underline="always">
          guide to moving in
        </Anchor>{' '}
        says how to get the export of each system. A larger file is moved in by the command line, where the service
        runs. On the embedded database, stop the service first.
      </Text>
      <Upload />
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

function Report({ made, onClose }: { made: Import; onClose: () => void }) {
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
        <ImportItems {...made} />
      </Stack>
    </Dialog>
  )
}
