import { Anchor, Button, Stack, Table, Text } from '@mantine/core'
import { IconPlus } from '../../ui/icons.tsx'
import { useState } from 'react'
import { Link, useNavigate } from 'react-router'

import {
  CreateWebhookEndpointDocument,
  type EndpointFragment,
  WebhookEndpointsDocument,
} from '../../../generated/console.ts'
import { useWholeList, useWrite } from '../../api/queries.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { useFilter } from '../../ui/inputs/filters.ts'
import { matches } from '../../ui/inputs/matches.ts'
import { Search } from '../../ui/inputs/search.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { SecretOnce } from '../../ui/secret.tsx'
import { Empty } from '../../ui/states.tsx'
import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { EndpointForm } from './endpoint/form.tsx'
import { ALL, EVENT_TYPES } from './endpoint/event-types.tsx'
import { Circuit, EndpointStateBadge, heldWords } from './state.tsx'

/** Endpoints that get nothing come first. */
function urgency({ state, circuit }: EndpointFragment): number {
  if (state === 'disabled') return 1
  if (state === 'unverified') return 2
  return circuit === 'closed' ? 3 : 0
}

export function Page() {
  const [search, setSearch] = useFilter('search')
  const list = useWholeList(WebhookEndpointsDocument, { first: 100 }, ({ webhookEndpoints }) => webhookEndpoints, {
    everyMs: 4_000,
    arrange: (endpoints) =>
      endpoints
        .filter(({ url, description }) => matches(search, url, description))
        .toSorted((one, other) => urgency(one) - urgency(other)),
  })
  const [isRegistering, setRegistering] = useState(false)
  return (
    <PageFrame
      title="Webhooks"
      about="Your addresses that receive signed events as they happen."
      actions={
        <>
          <Button variant="default" component={Link} to="deliveries">
            All deliveries
          </Button>
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setRegistering(true)}>
            Register an endpoint
          </Button>
        </>
      }
    >
      <Search label="Address or description" value={search} onChange={setSearch} />
      <List
        list={list}
        of="webhook endpoints"
        empty={
          search === null ? (
            <Empty title="There is no endpoint yet">Register one to receive every event from then on.</Empty>
          ) : (
            <Empty title="No endpoint was found">Its address or description must have all the words. Try fewer.</Empty>
          )
        }
      >
        {(endpoints) => (
          <DataTable
            label="Webhook endpoints"
            head={['Address', 'State', 'Circuit', 'Failures', 'Held', 'Events']}
            minWidth={820}
          >
            {endpoints.map((endpoint) => (
              <EndpointRow key={endpoint.id} endpoint={endpoint} />
            ))}
          </DataTable>
        )}
      </List>
      {isRegistering && <Register onClose={() => setRegistering(false)} />}
    </PageFrame>
  )
}

function EndpointRow({ endpoint }: { endpoint: EndpointFragment }) {
  const { id, url, description, eventTypes, consecutiveFailures, policy, deliveriesHeld } = endpoint
  return (
    <Table.Tr>
      <Table.Td maw={360}>
        <Stack gap={0}>
          <Anchor component={Link} to={id} size="sm" {...WRITTEN} lineClamp={2}>
            <Breakable text={url} />
          </Anchor>
          {description !== null && (
            <Text size="xs" c="dimmed" {...WRITTEN} lineClamp={1}>
              {description}
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td>
        <EndpointStateBadge endpoint={endpoint} />
      </Table.Td>
      <Table.Td>
        <Circuit endpoint={endpoint} />
      </Table.Td>
      <Table.Td>{consecutiveFailures === 0 ? 'none' : `${consecutiveFailures} of ${policy.disableThreshold}`}</Table.Td>
      <Table.Td>{deliveriesHeld === 0 ? 'none' : heldWords(deliveriesHeld)}</Table.Td>
      <Table.Td>{eventTypes.includes(ALL) ? 'all' : `${eventTypes.length} of ${EVENT_TYPES.length}`}</Table.Td>
    </Table.Tr>
  )
}

/**
 * Registers an endpoint, shows its secret once, and goes to its page, which shows the handshake.
 */
function Register({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const create = useWrite(CreateWebhookEndpointDocument, [WebhookEndpointsDocument])
  const [made, setMade] = useState<{ id: string; secret: string | null; standardSecret: string | null } | null>(null)
  if (made !== null) {
    return (
      <SecretOnce
        title="The endpoint's signing secret"
        secret={made.secret}
        standardSecret={made.standardSecret}
        warning="This is the only time that it is shown. Your receiver needs it to tell the service's requests from others."
        onClose={() => void navigate(made.id)}
      />
    )
  }
  return (
    <Dialog title="Register an endpoint" size="lg" onClose={onClose}>
      <EndpointForm
        action="Register"
        onCancel={onClose}
        onSubmit={async (input) => {
          const { createWebhookEndpoint } = await create.mutateAsync({ input })
          const { webhookEndpoint, ...shown } = createWebhookEndpoint
          setMade({ id: webhookEndpoint.id, ...shown })
        }}
      />
    </Dialog>
  )
}
