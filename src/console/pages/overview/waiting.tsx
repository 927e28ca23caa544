import { Anchor, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { Link } from 'react-router'

import { WaitingDocument, type WaitingQuery } from '../../../generated/console.ts'
import { useQueueChanges } from '../../api/live.ts'
import { useApi } from '../../api/queries.ts'
import { Answered } from '../../ui/states.tsx'
import { formatCount, formatNumber } from '../../ui/numbers.ts'

type Overview = NonNullable<WaitingQuery['overview']>

/** What may need attention, in the order of urgency, with its page. */
const KINDS: readonly { name: keyof Overview; label: string; to: string; isBounded?: true }[] = [
  { name: 'pending', label: 'Pending comments', to: '/moderation?status=pending', isBounded: true },
  { name: 'reported', label: 'Reported comments', to: '/moderation?status=reported', isBounded: true },
  { name: 'circuitsOpen', label: 'Open circuits', to: '/webhooks' },
  { name: 'endpointsDisabled', label: 'Disabled endpoints', to: '/webhooks' },
  { name: 'endpointsUnverified', label: 'Unverified endpoints', to: '/webhooks' },
  { name: 'deliveriesHeld', label: 'Held deliveries', to: '/webhooks', isBounded: true },
]

/** Where the service stops counting: this number means as many or more. */
const BOUND = 1_000

const OF_QUEUES = [WaitingDocument]

export function Waiting() {
  useQueueChanges(OF_QUEUES)
  // The other numbers have no subscription.
  const query = useApi(WaitingDocument, {}, { everyMs: 5_000 })
  return (
    <Stack component="section" gap="xs" aria-label="Needs attention">
      <Answered query={query} of="what needs attention">
        {({ overview }) =>
          overview != null && (
            <>
              <Group justify="space-between">
                <Title order={2} size="h4">
                  Needs attention
                </Title>
                <Text size="sm">
                  Open streams now: <b>{formatNumber(overview.openStreams)}</b>
                </Text>
              </Group>
              <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="xs">
                {KINDS.map((kind) => (
                  <Tile key={kind.name} {...kind} count={overview[kind.name] ?? null} />
                ))}
              </SimpleGrid>
            </>
          )
        }
      </Answered>
    </Stack>
  )
}

function Tile({ count, label, to, isBounded }: { count: number | null; label: string; to: string; isBounded?: true }) {
  if (count === null) return null
  const colour = count === 0 ? { c: 'dimmed' } : {}
  const words = isBounded === true ? formatCount(count, BOUND) : formatNumber(count)
  return (
    <Card withBorder padding="sm">
      <Anchor component={Link} to={to} c="inherit" underline="hover">
        <Text span display="block" size="xl" fw={600} {...colour}>
          {words}
        </Text>
        <Text span display="block" size="sm" {...colour}>
          {label}
        </Text>
      </Anchor>
    </Card>
  )
}
