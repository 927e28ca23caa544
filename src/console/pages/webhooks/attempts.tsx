import { Button, Code, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'

import type { WebhookDeliveryQuery } from '../../../generated/console.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { DataTable } from '../../ui/list.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { Section } from '../../ui/section.tsx'
import { ExactTime } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { Headers } from './headers.tsx'

type Attempt = NonNullable<WebhookDeliveryQuery['webhookDelivery']>['attempts'][number]

/** What was tried, in order, and what the receiver said to it. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return <Text size="sm">There was no attempt yet.</Text>
  return (
    <DataTable
      label="Attempts"
      head={['No.', 'When', 'Took', 'Answer', 'Why it failed', 'Body of the answer', 'Headers']}
      minWidth={720}
    >
      {attempts.map(({ n, at, durationMs, statusCode, error, responseSnippet, requestHeaders, responseHeaders }) => (
        <Table.Tr key={n}>
          <Table.Td>{n}</Table.Td>
          <Table.Td>
            <ExactTime at={at} />
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
          <Table.Td>
            <HeadersButton n={n} sent={requestHeaders} answered={responseHeaders} />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  )
}

/** Opens the headers of an attempt; those of attempts before they were recorded are unknown. */
function HeadersButton({ n, sent, answered }: { n: number; sent: unknown; answered: unknown }) {
  const [isOpen, setOpen] = useState(false)
  if (sent == null) return '–'
  return (
    <>
      <Button variant="default" size="compact-sm" aria-label={`Headers of attempt ${n}`} onClick={() => setOpen(true)}>
        Headers
      </Button>
      {isOpen && (
        <Dialog title={`Headers of attempt ${n}`} size="lg" onClose={() => setOpen(false)}>
          <Stack>
            <Text size="sm">
              Signatures, and the values of the endpoint’s own headers and of cookies, are not kept.
            </Text>
            <Section title="Sent" gap="xs">
              <Headers label="Sent" headers={sent} />
            </Section>
            <Section title="Answered" gap="xs">
              <Headers label="Answered" headers={answered} />
            </Section>
          </Stack>
        </Dialog>
      )}
    </>
  )
}
