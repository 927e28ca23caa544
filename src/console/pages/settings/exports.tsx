import { Badge, Button, Group, Stack, Table, Text, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'

import {
  CreateExportDocument,
  DeleteExportDocument,
  ExportsDocument,
  type ExportsQuery,
} from '../../../generated/console.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { requestFile } from '../../api/request.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { formatBytes } from '../../ui/numbers.ts'
import { saveFile } from '../../ui/inputs/save.ts'
import { Section } from '../../ui/section.tsx'
import { Empty, Problem } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'

const POLL_MS = 2_000

type Export = ExportsQuery['exports']['nodes'][number]

/** The exports of all of the tenant's data: requested here, made by a worker, downloaded here. */
export function Exports() {
  const list = useList(ExportsDocument, { first: 20 }, ({ exports }) => exports, { everyMs: POLL_MS })
  const create = useWrite(CreateExportDocument, [ExportsDocument])
  const remove = useWrite(DeleteExportDocument, [ExportsDocument])
  const [toDelete, setToDelete] = useState<Export | null>(null)
  const isPending = list.nodes?.some(({ state }) => state === 'pending') === true
  return (
    <Section id="export" title="Export">
      <Text size="sm" maw={640}>
        An export is one file of all that is here but secrets: discussions, comments, readers, settings. It is kept for
        a day. The next one replaces it.
      </Text>
      {create.error !== null && <Problem error={create.error} />}
      <Group>
        <Button variant="default" loading={create.isPending} disabled={isPending} onClick={() => create.mutate({})}>
          Create an export
        </Button>
      </Group>
      <List list={list} of="exports" empty={<Empty title="There is no export">Create one to download it.</Empty>}>
        {(exports) => (
          <DataTable
            label="Exports"
            head={['Created', 'State', 'Size', 'Expires', <VisuallyHidden key="actions">Actions</VisuallyHidden>]}
          >
            {exports.map((each) => (
              <ExportRow key={each.id} made={each} onDelete={() => setToDelete(each)} />
            ))}
          </DataTable>
        )}
      </List>
      {toDelete !== null && (
        <Confirm
          title="Delete this export?"
          action="Delete"
          onConfirm={() => remove.mutateAsync({ input: { id: toDelete.id } })}
          onClose={() => setToDelete(null)}
        >
          Its file is deleted as well. The data themselves stay.
        </Confirm>
      )}
    </Section>
  )
}

const COLORS = { pending: 'blue', completed: 'green', failed: 'red' } as const

function ExportRow({ made, onDelete }: { made: Export; onDelete: () => void }) {
  const [error, setError] = useState<unknown>(null)
  const [isLoading, setLoading] = useState(false)
  const download = async (): Promise<void> => {
    setLoading(true)
    setError(null)
    try {
      const { name, content } = await requestFile(`exports/${made.id}/file`)
      saveFile(name, content)
    } catch (refusal) {
      setError(refusal)
    }
    setLoading(false)
  }
  return (
    <Table.Tr>
      <Table.Td>
        <Time at={made.createdAt} />
      </Table.Td>
      <Table.Td>
        <Stack gap={4} align="flex-start">
          <Badge color={COLORS[made.state]}>{made.state}</Badge>
          {made.error !== null && <Text size="sm">{made.error}</Text>}
          {error !== null && <Problem error={error} />}
        </Stack>
      </Table.Td>
      <Table.Td>{made.bytes === null ? '' : formatBytes(made.bytes)}</Table.Td>
      <Table.Td>{made.expiresAt !== null && <Time at={made.expiresAt} />}</Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          {made.state === 'completed' && (
            <Button size="compact-sm" variant="default" loading={isLoading} onClick={() => void download()}>
              Download
            </Button>
          )}
          <Button size="compact-sm" variant="default" onClick={onDelete}>
            Delete
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
