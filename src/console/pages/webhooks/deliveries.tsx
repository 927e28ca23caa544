import { Anchor, Group, Select, Stack, Table, Text } from '@mantine/core'
import { Link } from 'react-router'

import { WebhookDeliveriesDocument, type WebhookDeliveriesQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { Countdown } from '../../ui/countdown.tsx'
import { useFilter } from '../../ui/inputs/filters.ts'
import { DataTable, List } from '../../ui/list.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { EVENT_TYPES } from './endpoint/event-types.tsx'
import { DeliveryStatusBadge, STATUSES } from './state.tsx'

type Delivery = WebhookDeliveriesQuery['webhookDeliveries']['nodes'][number]

/** The deliveries to an endpoint, sent, under way or waiting, newest first, kept up to date. */
export function Deliveries({ endpointId }: { endpointId: string }) {
  const [givenStatus, setStatus] = useFilter('status')
  const [givenType, setEventType] = useFilter('event')
  // The value may come from a typed URL.
  const status = STATUSES.find((each) => each === givenStatus) ?? null
  const eventType = EVENT_TYPES.find((each) => each === givenType) ?? null
  const list = useList(
    WebhookDeliveriesDocument,
    { id: endpointId, status, eventType, first: 25 },
    ({ webhookDeliveries }) => webhookDeliveries,
    { everyMs: 3_000 },
  )
  const isFiltered = status !== null || eventType !== null
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Select
          label="Status"
          placeholder="All"
          data={STATUSES}
          value={status}
          onChange={setStatus}
          clearable
          searchable
          w={180}
        />
        <Select
          label="Event"
          placeholder="All"
          data={EVENT_TYPES}
          value={eventType}
          onChange={setEventType}
          clearable
          searchable
          w={220}
        />
      </Group>
      <List
        list={list}
        of="deliveries"
        empty={
          isFiltered ? (
            <Empty title="No such delivery">Choose another status, or another event.</Empty>
          ) : (
            <Empty title="Nothing has been sent yet">An event that the endpoint wants is sent as it happens.</Empty>
          )
        }
      >
        {(deliveries) => (
          <DataTable label="Deliveries" head={['Event', 'Status', 'Attempts', 'Happened', 'Next attempt']}>
            {deliveries.map((delivery) => (
              <DeliveryRow key={delivery.id} delivery={delivery} />
            ))}
          </DataTable>
        )}
      </List>
    </Stack>
  )
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { id, eventType, status, attempts, createdAt, nextAttemptAt } = delivery
  const last = attempts.at(-1)
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} to={`deliveries/${id}`} size="sm">
          {eventType}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <DeliveryStatusBadge status={status} />
      </Table.Td>
      <Table.Td maw={320}>
        {attempts.length}
        {last !== undefined && (
          <Text span size="sm" c="dimmed" {...WRITTEN}>
            {' '}
            · {last.error ?? last.statusCode}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>{nextAttemptAt === null ? '–' : <Countdown until={nextAttemptAt} />}</Table.Td>
    </Table.Tr>
  )
}
