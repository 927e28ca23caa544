import { Anchor, Badge, Group, Stack, Text } from '@mantine/core'
import { Link, useParams } from 'react-router'

import { type EndpointFragment, WebhookEndpointDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { PageFrame } from '../../ui/page.tsx'
import { Section } from '../../ui/section.tsx'
import { Found } from '../../ui/states.tsx'
import { hostOf } from '../../ui/web-link.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { Actions } from './actions.tsx'
import { ALL } from './endpoint/event-types.tsx'
import { CheckRequest } from './check-request.tsx'
import { Deliveries } from './deliveries.tsx'
import { Health } from './health.tsx'
import { Hours } from './hours.tsx'
import { Notice } from './notice.tsx'
import { VerifySnippet } from './verify-snippet.tsx'

const ALL_ENDPOINTS = { to: '/webhooks', label: 'All endpoints' }

/** One endpoint: its health, the actions on it, and its deliveries. */
export function Page() {
  const { id = '' } = useParams()
  const query = useApi(
    WebhookEndpointDocument,
    { id },
    // A handshake usually ends within moments, and the admin waits for it.
    { everyMs: (last) => (last?.webhookEndpoint?.verificationPending === true ? 1_000 : 3_000) },
  )
  return (
    <Found query={query} one={({ webhookEndpoint }) => webhookEndpoint} of="endpoint" list={ALL_ENDPOINTS}>
      {(endpoint) => (
        <PageFrame
          title={titleOf(endpoint)}
          about={
            <Anchor component={Link} to={ALL_ENDPOINTS.to} size="sm">
              {ALL_ENDPOINTS.label}
            </Anchor>
          }
          actions={<Actions endpoint={endpoint} />}
        >
          <Endpoint endpoint={endpoint} />
        </PageFrame>
      )}
    </Found>
  )
}

const titleOf = ({ description, url }: EndpointFragment): string => description ?? hostOf(url)

function Endpoint({ endpoint }: { endpoint: EndpointFragment }) {
  return (
    <Stack gap="xl">
      <Stack gap="xs">
        <Text size="sm" {...WRITTEN}>
          {endpoint.url}
        </Text>
        <Group gap={4}>
          {endpoint.eventTypes.map((type) => (
            <Badge key={type}>{type === ALL ? 'all events' : type}</Badge>
          ))}
        </Group>
        <Notice endpoint={endpoint} />
      </Stack>
      <Health endpoint={endpoint} />
      <Section title="Last 24 hours">
        <Hours endpointId={endpoint.id} />
      </Section>
      <Section title="Deliveries">
        <Deliveries endpointId={endpoint.id} />
      </Section>
      <Section title="Verify a signature">
        <Text size="sm" c="dimmed">
          What your receiver does with each request before it believes it. It takes several secrets, so that a rotation
          refuses nothing.
        </Text>
        <VerifySnippet />
      </Section>
      <Section title="Check a request">
        <CheckRequest />
      </Section>
    </Stack>
  )
}
