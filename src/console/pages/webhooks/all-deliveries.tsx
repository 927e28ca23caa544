import { Anchor, Group, Stack, Table } from '@mantine/core'
import { Link } from 'react-router'

import { AllDeliveriesDocument, type AllDeliveriesQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { useFilter } from '../../ui/inputs/filters.ts'
import { Search } from '../../ui/inputs/search.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { DELIVERY_HEAD, DeliveryCells } from './delivery-cells.tsx'
import { wholeId } from './whole-id.ts'

/** The deliveries to all endpoints: of one event, about one comment, or all. */
export function Page() {
  const [eventId, setEventId] = useFilter('eventId')
  const [commentId, setCommentId] = useFilter('commentId')
  const list = useList(
    AllDeliveriesDocument,
    { eventId: wholeId(eventId), commentId: wholeId(commentId), first: 25 },
    ({ deliveries }) => deliveries,
    { everyMs: 3_000 },
  )
  return (
    <PageFrame
      title="Deliveries to all endpoints"
      about={
        <Anchor component={Link} to="/webhooks" size="sm">
          All endpoints
        </Anchor>
      }
    >
      <Stack gap="sm">
        <Group gap="sm" align="flex-end">
          <Search label="Event id" value={eventId} onChange={setEventId} flex="1 1 140px" />
          <Search label="Comment id" value={commentId} onChange={setCommentId} flex="1 1 140px" />
        </Group>
        <List
          list={list}
          of="deliveries"
          empty={<Empty title="No such delivery">No endpoint wanted such an event, or its deliveries are gone.</Empty>}
        >
          {(deliveries) => (
            <DataTable label="Deliveries" head={['Endpoint', ...DELIVERY_HEAD]} minWidth={1180}>
              {deliveries.map((delivery) => (
                <Row key={delivery.id} delivery={delivery} />
              ))}
            </DataTable>
          )}
        </List>
      </Stack>
    </PageFrame>
  )
}

function Row({ delivery }: { delivery: AllDeliveriesQuery['deliveries']['nodes'][number] }) {
  return (
    <Table.Tr>
      <Table.Td maw={240} {...WRITTEN}>
        {delivery.endpoint === null ? (
          'deleted'
        ) : (
          <Anchor component={Link} to={`/webhooks/${delivery.endpointId}`} size="sm">
            <Breakable text={delivery.endpoint.description ?? delivery.endpoint.url} />
          </Anchor>
        )}
      </Table.Td>
      <DeliveryCells delivery={delivery} />
    </Table.Tr>
  )
}
