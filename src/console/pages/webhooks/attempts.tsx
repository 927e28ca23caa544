import { Code, Table, Text } from '@mantine/core'

import type { WebhookDeliveryQuery } from '../../../generated/console.ts'
import { DataTable } from '../../ui/list.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

type Attempt = NonNullable<WebhookDeliveryQuery['webhookDelivery']>['attempts'][number]

/** What was tried, in order, and what the receiver said to it. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return <Text size="sm">There was no attempt yet.</Text>
  return (
    <DataTable
      label="Attempts"
      head={['No.', 'When', 'Took', 'Answer', 'Why it failed', 'Body of the answer']}
      minWidth={720}
    >
      {attempts.map(({ n, at, durationMs, statusCode, error, responseSnippet }) => (
        <Table.Tr key={n}>
          <Table.Td>{n}</Table.Td>
          <Table.Td>
            <Time at={at} />
          </Table.Td>
          <Table.Td>{formatNumber(durationMs)} ms</Table.Td>
          <Table.Td>{statusCode ?? 'none'}</Table.Td>
          <Table.Td {...WRITTEN}>{error ?? '–'}</Table.Td>
          <Table.Td maw={360}>
            {responseSnippet === null || responseSnippet === '' ? (
              '–'
            ) : (
              <Code block {...WRITTEN} tabIndex={0} mah={160} aria-label={`Answer to attempt ${n}`}>
                {responseSnippet}
              </Code>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  )
}
