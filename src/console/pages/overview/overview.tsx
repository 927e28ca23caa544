import { Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useInterval } from '@mantine/hooks'
import { useState } from 'react'

import { FiguresDocument, FirstStepsDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { Boundary } from '../../ui/boundary.tsx'
import { useFilter } from '../../ui/inputs/filters.ts'
import { PageFrame } from '../../ui/page.tsx'
import { Answered } from '../../ui/states.tsx'
import { FigureCard } from './figure-card.tsx'
import { figuresOf } from './figures.ts'
import { FirstSteps, hasComments } from './first-steps.tsx'
import { boundsOf, spanNamed, type SpanName, SPANS, zoneOf } from './span.ts'
import { Top } from './top.tsx'
import { Waiting } from './waiting.tsx'

export function Page() {
  const rights = {
    readers: may('moderate_content'),
    keys: may('manage_api_keys'),
    settings: may('manage_settings'),
    webhooks: may('manage_webhooks'),
  }
  const query = useApi(FirstStepsDocument, rights, { everyMs: 30_000 })
  return (
    <PageFrame title="Overview" about="Recent activity, and work that waits for you.">
      <Answered query={query} of="the overview">
        {(steps) => (
          <>
            <Boundary>
              <Waiting />
            </Boundary>
            <Boundary>
              <FirstSteps steps={steps} />
            </Boundary>
            {hasComments(steps) && <Figures />}
          </>
        )}
      </Answered>
    </PageFrame>
  )
}

const CHOICES = Object.entries(SPANS).map(([value, { label }]) => ({ value, label }))

function Figures() {
  const [chosen, choose] = useFilter('span')
  const span = spanNamed(chosen)
  const [now, setNow] = useState(Date.now)
  useInterval(() => setNow(Date.now()), 60_000, { autoInvoke: true })
  const bounds = boundsOf(span, now)
  return (
    <Stack component="section" gap="xs" aria-label="Figures">
      <Title order={2} size="h4">
        Figures
      </Title>
      <Group gap="sm">
        <SegmentedControl aria-label="Span" data={CHOICES} value={span} onChange={choose} w="100%" maw={480} />
        <Text size="sm" c="dimmed">
          {bounds.interval === 'hour' ? 'Hours' : 'Days'} are in {zoneOf(bounds, now)}.
        </Text>
      </Group>
      <Boundary resetKeys={[bounds.from]}>
        <Charts span={span} bounds={bounds} />
      </Boundary>
      <Top from={bounds.from} />
    </Stack>
  )
}

function Charts({ span, bounds }: { span: SpanName; bounds: ReturnType<typeof boundsOf> }) {
  const query = useApi(FiguresDocument, bounds, { everyMs: 30_000 })
  return (
    <Answered query={query} of="the figures">
      {(answer) => (
        <SimpleGrid cols={{ base: 1, lg: 2 }} className="pairs">
          {figuresOf(answer, bounds.interval).map((figure) => (
            <FigureCard
              key={figure.title}
              figure={figure}
              series={answer.now.series}
              interval={bounds.interval}
              than={SPANS[span].before}
            />
          ))}
        </SimpleGrid>
      )}
    </Answered>
  )
}
