import { Box, Button, Group, SimpleGrid, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'

import { WebhookEndpointHealthDocument, type WebhookEndpointHealthQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { hourLabels } from '../../ui/clock.ts'
import { DataTable } from '../../ui/list.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { Answered } from '../../ui/states.tsx'

type Measured = NonNullable<WebhookEndpointHealthQuery['webhookEndpointHealth']>['hours'][number]

interface Hour extends Measured {
  label: string
}

/** How an endpoint's deliveries went, by hour. */
export function Hours({ endpointId }: { endpointId: string }) {
  const query = useApi(WebhookEndpointHealthDocument, { id: endpointId }, { everyMs: 60_000 })
  const [isTable, setTable] = useState(false)
  return (
    <Answered query={query} of="the last 24 hours">
      {({ webhookEndpointHealth }) => {
        const measured = webhookEndpointHealth?.hours ?? []
        const { labels, zone } = hourLabels(measured.map(({ at }) => at))
        const hours = measured.map((hour, n) => ({ ...hour, label: labels[n] ?? '' }))
        const attempts = sum(hours.map((hour) => hour.attempts))
        if (attempts === 0) return <Text size="sm">There was no attempt.</Text>
        return (
          <Stack gap="sm">
            <Group justify="space-between">
              <Text size="sm">
                {share(sum(hours.map((hour) => hour.succeeded)), attempts)} of {formatNumber(attempts)}{' '}
                {attempts === 1 ? 'attempt' : 'attempts'} succeeded.
                {hours.some(({ isSample }) => isSample) &&
                  ' Of a busy hour, its newest 100 deliveries are counted.'}{' '}
                Hours are in {zone}.
              </Text>
              <Button variant="default" size="compact-sm" onClick={() => setTable(!isTable)}>
                {isTable ? 'Show as chart' : 'Show as table'}
              </Button>
            </Group>
            {isTable ? <HoursTable hours={hours} zone={zone} /> : <Charts hours={hours} />}
          </Stack>
        )
      }}
    </Answered>
  )
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/** Rounded down, so that 100 % means all. */
const share = (part: number, of: number): string => `${Math.floor((part / of) * 100)} %`

const ms = (value: number | null): string => (value === null ? '–' : `${formatNumber(value)} ms`)

/** Hidden from screen readers, which get the table. */
function Charts({ hours }: { hours: readonly Hour[] }) {
  const most = Math.max(...hours.map(({ attempts }) => attempts))
  const slowest = Math.max(...hours.map(({ p95Ms }) => p95Ms ?? 0), 1)
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" aria-hidden>
      <Bars
        name={`Attempts: succeeded, failed; up to ${formatNumber(most)} an hour`}
        hours={hours}
        parts={({ attempts, succeeded }) => [
          ['bad', (attempts - succeeded) / most],
          ['good', succeeded / most],
        ]}
        words={({ attempts, succeeded }) =>
          attempts === 0 ? 'no attempt' : `${share(succeeded, attempts)} of ${attempts} succeeded`
        }
      />
      <Bars
        name={`Time of 95 % of the attempts; up to ${ms(slowest)}`}
        hours={hours}
        parts={({ p95Ms }) => [['waiting', (p95Ms ?? 0) / slowest]]}
        words={({ p95Ms, medianMs }) => `${ms(p95Ms)}, half within ${ms(medianMs)}`}
      />
    </SimpleGrid>
  )
}

/** One bar for each hour, from the top part down; each part has a share of the height. */
function Bars({
  name,
  hours,
  parts,
  words,
}: {
  name: string
  hours: readonly Hour[]
  parts: (hour: Hour) => [colour: 'good' | 'bad' | 'waiting', height: number][]
  words: (hour: Hour) => string
}) {
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Group
        gap={2}
        h={72}
        wrap="nowrap"
        align="stretch"
        style={{ borderBottom: '1px solid var(--mantine-color-default-border)' }}
      >
        {hours.map((hour) => (
          <Stack key={hour.at} gap={0} flex={1} justify="flex-end" title={`${hour.label}: ${words(hour)}`}>
            {parts(hour).map(([colour, height]) => (
              <Box key={colour} h={`${height * 100}%`} mih={height > 0 ? 2 : 0} bg={`var(--chart-${colour})`} />
            ))}
          </Stack>
        ))}
      </Group>
      <Group justify="space-between">
        {[hours[0], hours.at(-1)].map((hour) => (
          <Text key={hour?.at} size="xs" c="dimmed">
            {hour?.label}
          </Text>
        ))}
      </Group>
    </Stack>
  )
}

function HoursTable({ hours, zone }: { hours: readonly Hour[]; zone: string }) {
  return (
    <DataTable
      label="Last 24 hours"
      head={[`Hour (${zone})`, 'Attempts', 'Succeeded', 'Half within', '95 % within']}
      minWidth={480}
    >
      {hours
        .filter(({ attempts }) => attempts > 0)
        .map(({ at, label, attempts, succeeded, medianMs, p95Ms }) => (
          <Table.Tr key={at}>
            <Table.Td>{label}</Table.Td>
            <Table.Td>{formatNumber(attempts)}</Table.Td>
            <Table.Td>{share(succeeded, attempts)}</Table.Td>
            <Table.Td>{ms(medianMs)}</Table.Td>
            <Table.Td>{ms(p95Ms)}</Table.Td>
          </Table.Tr>
        ))}
    </DataTable>
  )
}
