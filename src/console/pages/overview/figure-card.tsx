import { Button, Card, Group, Skeleton, Stack, Table, Text, Title } from '@mantine/core'
import { Suspense, useState } from 'react'

import type { AnalyticsInterval, FiguresQuery } from '../../../generated/console.ts'
import { Boundary } from '../../ui/boundary.tsx'
import { lazily } from '../../ui/lazy.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { changeWords, type Figure } from './figures.ts'
import { bucketLabels } from './span.ts'

const Chart = lazily(async () => (await import('./chart.tsx')).Chart)

/** One figure: its number, its change, and its course as a chart or table. */
export function FigureCard({
  figure,
  series,
  interval,
  than,
}: {
  figure: Figure
  series: FiguresQuery['now']['series']
  interval: AnalyticsInterval
  than: string
}) {
  const [isTable, setTable] = useState(false)
  const { labels, zone } = bucketLabels(series, interval)
  const rows = series.map((bucket, n) => ({
    at: labels[n] ?? '',
    ...Object.fromEntries(figure.parts.map(({ name, of }) => [name, of(bucket)])),
  }))
  return (
    <Card withBorder component="section" aria-label={figure.title}>
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Stack gap={0}>
          <Title order={3} size="h5">
            {figure.title}
          </Title>
          <Text size="xl" fw={600}>
            {formatNumber(figure.value)}
            {figure.unit !== undefined && (
              <Text span size="sm" c="dimmed" fw={400}>
                {` ${figure.unit}`}
              </Text>
            )}
          </Text>
          <Text size="sm" c="dimmed" mb="sm">
            {changeWords(figure, than)}
          </Text>
        </Stack>
        <Button
          variant="default"
          size="compact-sm"
          miw="fit-content"
          aria-label={`${isTable ? 'Show as chart' : 'Show as table'}: ${figure.title}`}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? 'Show as chart' : 'Show as table'}
        </Button>
      </Group>
      {isTable ? (
        <FigureTable figure={figure} rows={rows} time={`${interval === 'hour' ? 'Hour' : 'Day'} (${zone})`} />
      ) : (
        <Boundary>
          <Suspense fallback={<Skeleton h={figure.parts.length > 1 ? 220 : 180} />}>
            <Chart figure={figure} rows={rows} />
          </Suspense>
        </Boundary>
      )}
    </Card>
  )
}

function FigureTable({
  figure: { title, parts },
  rows,
  time,
}: {
  figure: Figure
  rows: readonly Record<string, string | number>[]
  /** The heading of the first column. */
  time: string
}) {
  return (
    <Table.ScrollContainer
      minWidth={0}
      maxHeight={320}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': `${title} as a table` } }}
    >
      <Table stickyHeader aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{time}</Table.Th>
            {parts.map(({ name }) => (
              <Table.Th key={name} ta="end">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            <Table.Tr key={index}>
              <Table.Th scope="row" fw={400}>
                {row.at}
              </Table.Th>
              {parts.map(({ name }) => (
                <Table.Td key={name} ta="end">
                  {row[name]}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
