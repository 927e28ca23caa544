import { Badge, Table, Text } from '@mantine/core'

import { AuditLogDocument, type AuditLogQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { Actor } from './actor.tsx'
import { Difference } from './difference.tsx'
import { AuditFilters, useAuditFilters } from './filters.tsx'
import { Target } from './target.tsx'

type AuditEntry = AuditLogQuery['auditLog']['nodes'][number]

const TO_THE_SECOND = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })

export function Page() {
  const { filters, variables, isFiltered } = useAuditFilters()
  const list = useList(AuditLogDocument, { first: 50, ...variables }, ({ auditLog }) => auditLog)
  return (
    <PageFrame
      title="Audit log"
      about="Actions of admins, API keys and the service itself, newest first. Actions of readers are not logged here."
    >
      <AuditFilters filters={filters} />
      <List
        list={list}
        of="the audit log"
        empty={
          isFiltered ? (
            <Empty title="No matching entry">Remove a filter, or choose a longer time.</Empty>
          ) : (
            <Empty title="No entries yet">Create a key or change a setting, and it appears here.</Empty>
          )
        }
      >
        {(entries) => (
          <DataTable label="Audit log" head={['When', 'Who', 'What', 'To', 'Change']} minWidth={860}>
            {entries.map((entry) => (
              <Entry key={entry.id} entry={entry} onActor={filters.actor.set} />
            ))}
          </DataTable>
        )}
      </List>
    </PageFrame>
  )
}

function Entry({ entry, onActor }: { entry: AuditEntry; onActor: (actor: string) => void }) {
  return (
    <Table.Tr style={{ verticalAlign: 'top' }}>
      <Table.Td miw={120}>
        <Time at={entry.at} />
        <Text size="xs" c="dimmed">
          {TO_THE_SECOND.format(new Date(entry.at))}
        </Text>
      </Table.Td>
      <Table.Td maw={200}>
        <Actor actor={entry.actor} onOnly={onActor} />
      </Table.Td>
      <Table.Td>
        <Text size="sm" ff="monospace">
          {entry.action}
        </Text>
        {entry.importId !== null && entry.targetType !== 'import' && (
          <Badge variant="default" title={`By the import ${entry.importId}`}>
            imported
          </Badge>
        )}
      </Table.Td>
      <Table.Td maw={240}>
        <Target type={entry.targetType} id={entry.targetId} />
      </Table.Td>
      <Table.Td miw={260}>
        <Difference before={entry.before} after={entry.after} />
      </Table.Td>
    </Table.Tr>
  )
}
