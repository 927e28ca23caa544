import { Anchor, Button, Code, Group, SimpleGrid, Stack, Text, Tooltip } from '@mantine/core'
import { type ReactNode } from 'react'
import { Link, useNavigate, useParams } from 'react-router'

import {
  AllDeliveriesDocument,
  type DeliveryStatus,
  RedeliverDeliveryDocument,
  WebhookDeliveriesDocument,
  WebhookDeliveryDocument,
  type WebhookDeliveryQuery,
} from '../../../generated/console.ts'
import { useApi, useWrite } from '../../api/queries.ts'
import { Countdown } from '../../ui/countdown.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Section } from '../../ui/section.tsx'
import { Copy } from '../../ui/secret.tsx'
import { Found, Problem } from '../../ui/states.tsx'
import { ExactTime } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { Attempts } from './attempts.tsx'
import { curlOf } from './curl.ts'
import { PageOf } from './delivery-cells.tsx'
import { headerRows, Headers } from './headers.tsx'
import { DeliveryStatusBadge } from './state.tsx'

type DeliveryDetail = NonNullable<WebhookDeliveryQuery['webhookDelivery']>

/** One delivery: its content, its attempts, the receiver's answers. */
export function Page() {
  const { id = '', deliveryId = '' } = useParams()
  const navigate = useNavigate()
  const query = useApi(
    WebhookDeliveryDocument,
    { id, deliveryId },
    { everyMs: (last) => (isUnderWay(last?.webhookDelivery?.status) ? 1_000 : 5_000) },
  )
  const redeliver = useWrite(RedeliverDeliveryDocument, [WebhookDeliveriesDocument, AllDeliveriesDocument])
  const again = (): void =>
    redeliver.mutate(
      { input: { id, deliveryId } },
      {
        onSuccess: ({ redeliverDelivery }) =>
          void navigate(`/webhooks/${id}/deliveries/${redeliverDelivery.delivery.id}`),
      },
    )
  const endpoint = { to: `/webhooks/${id}`, label: 'The endpoint and its deliveries' }
  return (
    <Found query={query} one={({ webhookDelivery }) => webhookDelivery} of="delivery" list={endpoint}>
      {(delivery) => (
        <PageFrame
          title={`Delivery of ${delivery.eventType}`}
          about={
            <Anchor component={Link} to={endpoint.to} size="sm">
              {endpoint.label}
            </Anchor>
          }
          actions={
            <>
              <CopyCurl delivery={delivery} endpoint={query.data?.webhookEndpoint ?? null} />
              <Button loading={redeliver.isPending} onClick={again}>
                Redeliver
              </Button>
            </>
          }
        >
          {redeliver.error !== null && <Problem error={redeliver.error} />}
          <Delivery delivery={delivery} />
        </PageFrame>
      )}
    </Found>
  )
}

/** Copies a command that sends the delivery again from a shell, without its secret. */
function CopyCurl({
  delivery,
  endpoint,
}: {
  delivery: DeliveryDetail
  endpoint: WebhookDeliveryQuery['webhookEndpoint'] | null
}) {
  const { id, body } = delivery
  const kid = endpoint?.secrets[0]?.kid
  if (endpoint === null || kid === undefined || body === null) return null
  const headers = Object.fromEntries(headerRows(delivery.headers))
  return (
    <Tooltip label="A shell command that sends this body, signed now by $SECRET." multiline w={260}>
      <div>
        <Copy value={curlOf({ url: endpoint.url, deliveryId: id, kid, headers, body })} label="Copy as curl" />
      </div>
    </Tooltip>
  )
}

const isUnderWay = (status: DeliveryStatus | undefined): boolean => status === 'pending' || status === 'delivering'

function Delivery({ delivery }: { delivery: DeliveryDetail }) {
  const { id, eventId, status, createdAt, deliveredAt, nextAttemptAt, attempts, body } = delivery
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
        <Fact name="Status">
          <DeliveryStatusBadge status={status} />
        </Fact>
        <Fact name="Happened">
          <ExactTime at={createdAt} />
        </Fact>
        <Fact name="Delivered">{deliveredAt === null ? 'not yet' : <ExactTime at={deliveredAt} />}</Fact>
        <Fact name="Next attempt">{nextAttemptAt === null ? 'none' : <Countdown until={nextAttemptAt} />}</Fact>
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 3 }} spacing="sm">
        <Fact name="Page">
          <PageOf discussion={delivery.discussion} />
        </Fact>
        <Fact name="Delivery">
          <Code {...WRITTEN}>{id}</Code>
        </Fact>
        <Fact name="Event">
          <Code {...WRITTEN}>{eventId}</Code>{' '}
          <Anchor component={Link} to={`/webhooks/deliveries?eventId=${eventId}`} size="sm" underline="always">
            Its deliveries to all endpoints
          </Anchor>
        </Fact>
      </SimpleGrid>
      <Section gap="xs" title="Attempts">
        <Attempts attempts={attempts} />
      </Section>
      <Section gap="xs" title="Headers">
        <Headers label="Headers" headers={delivery.headers} />
      </Section>
      <Section gap="xs" title="Body">
        {body === null ? (
          <Text size="sm">The event is no longer stored. Its body cannot be shown or sent again.</Text>
        ) : (
          <Body body={body} />
        )}
      </Section>
    </Stack>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text size="sm" component="div">
        {children}
      </Text>
    </div>
  )
}

function Body({ body }: { body: string }) {
  return (
    <>
      <Code block {...WRITTEN} tabIndex={0} aria-label="Body" mah={560}>
        {prettyJson(body)}
      </Code>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          Formatted for reading. The signature covers the bytes as they are sent.
        </Text>
        <Copy value={body} label="Copy as it is sent" />
      </Group>
    </>
  )
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
