import { Anchor, Badge, Table, Text } from '@mantine/core'

import { AuditLogDocument, type AuditLogQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { RowBoundary } from '../../ui/row-boundary.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { ExactTime } from '../../ui/time.tsx'
import { Difference } from './difference.tsx'
import { AuditFilters, useAuditFilters } from './filters.tsx'
import { Target } from './target.tsx'
import { type NamedTarget, useTargets } from './targets.ts'
import { actionWords } from './words.ts'
import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'

type AuditEntry = AuditLogQuery['auditLog']['nodes'][number]

const PAGE = 50

const HEAD = ['What', 'To', 'Who', 'When', 'Change']

/** Names of targets are asked for page by page: a further page asks only for its own. */
const stretchesOf = (entries: readonly AuditEntry[]): (readonly AuditEntry[])[] =>
  Array.from({ length: Math.ceil(entries.length / PAGE) }, (_, n) => entries.slice(n * PAGE, (n + 1) * PAGE))

export function Page() {
  const { filters, variables, isFiltered } = useAuditFilters()
  const list = useList(AuditLogDocument, { first: PAGE, ...variables }, ({ auditLog }) => auditLog)
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
          <DataTable label="Audit log" head={HEAD} minWidth={900}>
            {stretchesOf(entries).map((stretch) => (
              <Entries key={stretch[0]?.id} entries={stretch} onActor={filters.actor.set} />
            ))}
          </DataTable>
        )}
      </List>
    </PageFrame>
  )
}

interface OnActor {
  onActor: (actor: string) => void
}

function Entries({ entries, onActor }: OnActor & { entries: readonly AuditEntry[] }) {
  const targets = useTargets(entries.map(({ targetId }) => targetId))
  return entries.map((entry) => (
    <RowBoundary key={entry.id} columns={HEAD.length}>
      <Entry entry={entry} target={targets.get(entry.targetId ?? '')} onActor={onActor} />
    </RowBoundary>
  ))
}

function Entry({ entry, target, onActor }: OnActor & { entry: AuditEntry; target: NamedTarget | undefined }) {
  return (
    <Table.Tr style={{ verticalAlign: 'top' }}>
      <Table.Td miw={140}>
        <Text size="sm" title={entry.action}>
          {actionWords(entry.action)}
        </Text>
        {entry.importId !== null && entry.targetType !== 'import' && (
          <Badge variant="default" title={`By the import ${entry.importId}`}>
            imported
          </Badge>
        )}
      </Table.Td>
      <Table.Td miw={180} maw={240}>
        <Target type={entry.targetType} id={entry.targetId} target={target} />
      </Table.Td>
      {/* Their texts may break anywhere, so that the columns need a width. */}
      <Table.Td miw={180} maw={220}>
        <Actor actor={entry.actor} onOnly={onActor} />
      </Table.Td>
      <Table.Td miw={120}>
        <ExactTime at={entry.at} />
      </Table.Td>
      <Table.Td miw={260}>
        <Difference type={entry.targetType} before={entry.before} after={entry.after} />
      </Table.Td>
    </Table.Tr>
  )
}

type AuditActor = AuditLogQuery['auditLog']['nodes'][number]['actor']

const KINDS = { admin: 'Admin', key: 'API key', system: 'The service' } as const

/** The actor of an entry; a click filters the list by that actor. */
function Actor({ actor, onOnly }: { actor: AuditActor; onOnly: (actor: string) => void }) {
  // A deleted key or admin has no name.
  const name = actor.email ?? actor.label ?? actor.actorId?.slice(-8) ?? KINDS[actor.kind]
  return (
    <>
      <Anchor
        component="button"
        type="button"
        size="sm"
        ta="start"
        {...WRITTEN}
        aria-label={`Only what ${name} did`}
        onClick={() => onOnly(actor.actorId ?? actor.kind)}
      >
        <Breakable text={name} />
      </Anchor>
      {actor.kind !== 'system' && (
        <Text size="xs" c="dimmed">
          {KINDS[actor.kind]}
        </Text>
      )}
    </>
  )
}
