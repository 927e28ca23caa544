import { Checkbox, Group, Select, Stack, Table } from '@mantine/core'
import { useState } from 'react'

import {
  type DeliveryAnswer,
  type ListedDeliveryFragment,
  WebhookDeliveriesDocument,
} from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { Day, midnight } from '../../ui/inputs/day.tsx'
import { useFilter } from '../../ui/inputs/filters.ts'
import { Search } from '../../ui/inputs/search.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { Empty } from '../../ui/states.tsx'
import { DELIVERY_HEAD, DeliveryCells } from './delivery-cells.tsx'
import { EVENT_TYPES } from './endpoint/event-types.tsx'
import { Redeliver } from './redeliver.tsx'
import { STATUSES } from './state.tsx'
import { wholeId } from './whole-id.ts'

const ANSWERS: { value: DeliveryAnswer; label: string }[] = [
  { value: 'http_2xx', label: '2xx' },
  { value: 'http_3xx', label: '3xx' },
  { value: 'http_4xx', label: '4xx' },
  { value: 'http_5xx', label: '5xx' },
  { value: 'none', label: 'no answer' },
]

/** The deliveries to an endpoint, sent, under way or waiting, newest first, kept up to date. */
export function Deliveries({ endpointId }: { endpointId: string }) {
  const [givenStatus, setStatus] = useFilter('status')
  const [givenType, setEventType] = useFilter('event')
  const [givenAnswer, setAnswer] = useFilter('answer')
  const [eventId, setEventId] = useFilter('eventId')
  const [commentId, setCommentId] = useFilter('commentId')
  const [from, setFrom] = useFilter('from')
  const [to, setTo] = useFilter('to')
  // The value may come from a typed URL.
  const status = STATUSES.find((each) => each === givenStatus) ?? null
  const eventType = EVENT_TYPES.find((each) => each === givenType) ?? null
  const answer = ANSWERS.find(({ value }) => value === givenAnswer)?.value ?? null
  const list = useList(
    WebhookDeliveriesDocument,
    {
      id: endpointId,
      status,
      eventType,
      answer,
      eventId: wholeId(eventId),
      commentId: wholeId(commentId),
      from: midnight(from, 0),
      to: midnight(to, 1),
      first: 25,
    },
    ({ webhookDeliveries }) => webhookDeliveries,
    { everyMs: 3_000 },
  )
  const isFiltered = [status, eventType, answer, eventId, commentId, from, to].some((value) => value !== null)
  return (
    <Stack gap="sm">
      <Group gap="sm" align="flex-end">
        <Select
          label="Status"
          placeholder="All"
          data={STATUSES}
          value={status}
          onChange={setStatus}
          clearable
          searchable
          flex="1 1 100px"
        />
        <Select
          label="Event"
          placeholder="All"
          data={EVENT_TYPES}
          value={eventType}
          onChange={setEventType}
          clearable
          searchable
          flex="1 1 130px"
        />
        <Select
          label="Last answer"
          placeholder="All"
          data={ANSWERS}
          value={answer}
          onChange={setAnswer}
          clearable
          flex="1 1 100px"
        />
        <Day label="From" filter={{ value: from, set: setFrom }} />
        <Day label="Until" filter={{ value: to, set: setTo }} />
        <Search label="Event id" value={eventId} onChange={setEventId} flex="1 1 110px" />
        <Search label="Comment id" value={commentId} onChange={setCommentId} flex="1 1 110px" />
      </Group>
      <List
        list={list}
        of="deliveries"
        empty={
          isFiltered ? (
            <Empty title="No such delivery">Remove a filter, or choose a longer time.</Empty>
          ) : (
            <Empty title="Nothing has been sent yet">An event that the endpoint wants is sent as it happens.</Empty>
          )
        }
      >
        {(deliveries) => <Rows endpointId={endpointId} deliveries={deliveries} />}
      </List>
    </Stack>
  )
}

function Rows({ endpointId, deliveries }: { endpointId: string; deliveries: readonly ListedDeliveryFragment[] }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const shown = deliveries.map(({ id }) => id)
  const ids = shown.filter((id) => chosen.has(id))
  const choose = (id: string, isChosen: boolean): void =>
    setChosen(new Set(isChosen ? [...ids, id] : ids.filter((each) => each !== id)))
  return (
    <Stack gap="xs">
      <Redeliver endpointId={endpointId} ids={ids} onSent={() => setChosen(new Set())} />
      <DataTable
        label="Deliveries"
        head={[
          // A column of its own would come before what the row is for.
          <Group key="all" gap="xs" wrap="nowrap">
            <Checkbox
              aria-label="Choose all that are shown"
              checked={ids.length === shown.length}
              indeterminate={ids.length > 0 && ids.length < shown.length}
              onChange={({ currentTarget }) => setChosen(new Set(currentTarget.checked ? shown : []))}
            />
            {DELIVERY_HEAD[0]}
          </Group>,
          ...DELIVERY_HEAD.slice(1),
        ]}
        minWidth={1000}
      >
        {deliveries.map((delivery) => (
          <Table.Tr key={delivery.id}>
            <DeliveryCells
              delivery={delivery}
              choice={
                <Checkbox
                  aria-label={`Choose the delivery ${delivery.id}`}
                  checked={chosen.has(delivery.id)}
                  onChange={({ currentTarget }) => choose(delivery.id, currentTarget.checked)}
                />
              }
            />
          </Table.Tr>
        ))}
      </DataTable>
    </Stack>
  )
}
