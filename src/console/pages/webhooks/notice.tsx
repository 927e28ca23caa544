import { Alert, Button, Group, Loader, Text } from '@mantine/core'
import { useState } from 'react'

import {
  EnableWebhookEndpointDocument,
  type EndpointFragment,
  ProbeWebhookEndpointDocument,
  ResumeWebhookEndpointDocument,
  VerifyWebhookEndpointDocument,
  WebhookDeliveriesDocument,
  WebhookEndpointDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Countdown } from '../../ui/countdown.tsx'
import { Problem } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { heldWords } from './state.tsx'

/** Whether an endpoint gets deliveries; if not, the reason and the remedy. */
export function Notice({ endpoint }: { endpoint: EndpointFragment }) {
  return (
    <div aria-live="polite">
      {endpoint.verificationPending && <UnderWay />}
      {endpoint.pausedAt !== null && <Paused id={endpoint.id} since={endpoint.pausedAt} />}
      {endpoint.state === 'disabled' ? (
        <Disabled endpoint={endpoint} />
      ) : endpoint.state === 'verified' ? (
        endpoint.pausedAt === null && <Verified endpoint={endpoint} />
      ) : (
        !endpoint.verificationPending && <Unverified endpoint={endpoint} />
      )}
    </div>
  )
}

/** An endpoint whose handshake succeeded: whether it gets deliveries now. */
function Verified({ endpoint }: { endpoint: EndpointFragment }) {
  const { circuit, pausedUntil } = endpoint
  if (circuit !== 'closed') return <Tripped endpoint={endpoint} />
  if (pausedUntil !== null) {
    return (
      <Text size="sm">
        Its receiver has asked for a pause: deliveries go on <Countdown until={pausedUntil} />.
      </Text>
    )
  }
  return <Text size="sm">The handshake succeeded: it gets deliveries.</Text>
}

/** An endpoint whose circuit is not closed: the last error, when it is tried, and "Try now". */
function Tripped({
  endpoint: { id, circuit, circuitOpenUntil, lastFailure, pausedUntil },
}: {
  endpoint: EndpointFragment
}) {
  const probe = useWrite(ProbeWebhookEndpointDocument, [WebhookEndpointDocument, WebhookDeliveriesDocument])
  const tries = latest(circuit === 'open' ? circuitOpenUntil : null, pausedUntil)
  return (
    <Alert color="red" title="The circuit is open: deliveries wait">
      <Text size="sm" {...WRITTEN}>
        {lastFailure === null ? (
          'Too many attempts have failed.'
        ) : (
          <>
            Too many attempts have failed, the last one <Time at={lastFailure.at} />: {lastFailure.error}
          </>
        )}
      </Text>
      <Text size="sm">
        {tries === null ? (
          'The next attempt decides whether deliveries go on.'
        ) : (
          <>
            One delivery is tried <Countdown until={tries} />. If it succeeds, the others follow.
          </>
        )}
      </Text>
      {probe.error !== null && <Problem error={probe.error} />}
      <Button
        mt="sm"
        size="compact-sm"
        variant="default"
        loading={probe.isPending}
        onClick={() => probe.mutate({ input: { id } })}
      >
        Try now
      </Button>
    </Alert>
  )
}

const latest = (...instants: (string | null)[]): string | null =>
  instants.reduce((one, other) => (one !== null && (other === null || one > other) ? one : other), null)

/** An endpoint that the tenant has paused, whatever its state. */
function Paused({ id, since }: { id: string; since: string }) {
  const resume = useWrite(ResumeWebhookEndpointDocument, [WebhookEndpointDocument, WebhookDeliveriesDocument])
  return (
    <Alert color="yellow" title="The endpoint is paused">
      <Text size="sm">
        Nothing is sent to it since <Time at={since} />. New events are queued, and wait with its other deliveries.
      </Text>
      {resume.error !== null && <Problem error={resume.error} />}
      <Button
        mt="sm"
        size="compact-sm"
        variant="default"
        loading={resume.isPending}
        onClick={() => resume.mutate({ input: { id } })}
      >
        Resume
      </Button>
    </Alert>
  )
}

function UnderWay() {
  return (
    <Alert color="blue">
      <Group gap="sm" wrap="nowrap">
        <Loader size="xs" aria-hidden />
        <Text size="sm">
          The handshake is under way: the endpoint is sent a challenge, and has 30 seconds to answer 200 with it.
        </Text>
      </Group>
    </Alert>
  )
}

function Unverified({ endpoint: { id, lastVerification } }: { endpoint: EndpointFragment }) {
  const verify = useWrite(VerifyWebhookEndpointDocument, [WebhookEndpointDocument])
  return (
    <Alert color="yellow" title={`The handshake failed: ${lastVerification?.error ?? 'it has not been made'}`}>
      <Text size="sm">
        Until it succeeds the endpoint gets nothing; afterwards Replay sends the events it missed. It has to answer the
        challenge with status 200 and the JSON {'{"challenge": "…"}'}, with the challenge's value unchanged.
      </Text>
      {verify.error !== null && <Problem error={verify.error} />}
      <Button
        mt="sm"
        size="compact-sm"
        variant="default"
        loading={verify.isPending}
        onClick={() => verify.mutate({ input: { id } })}
      >
        Verify again
      </Button>
    </Alert>
  )
}

const reasonOf = (reason: string | null | undefined): string =>
  reason === 'gone' ? 'Its receiver has answered 410, Gone' : (reason ?? 'Too many attempts have failed in a row')

function Disabled({ endpoint: { id, disabledReason, deliveriesHeld } }: { endpoint: EndpointFragment }) {
  const [isAsking, setAsking] = useState(false)
  const enable = useWrite(EnableWebhookEndpointDocument, [WebhookEndpointDocument, WebhookDeliveriesDocument])
  const held = heldWords(deliveriesHeld)
  const deliveries = deliveriesHeld === 1 ? 'delivery' : 'deliveries'
  return (
    <Alert color="red" title="The endpoint is disabled">
      <Text size="sm">
        {reasonOf(disabledReason)}. It gets no new events;{' '}
        {deliveriesHeld === 0
          ? 'nothing is held for it'
          : `${held} held ${deliveries} ${deliveriesHeld === 1 ? 'waits' : 'wait'} for it`}
        . Mend the receiver first, then enable it.
      </Text>
      {may('admin') ? (
        <Button mt="sm" size="compact-sm" variant="default" onClick={() => setAsking(true)}>
          Enable
        </Button>
      ) : (
        <Text size="sm">An owner or admin can enable it.</Text>
      )}
      {isAsking && (
        <Confirm
          title="Enable the endpoint?"
          action="Enable it"
          color="indigo"
          onConfirm={() => enable.mutateAsync({ input: { id } })}
          onClose={() => setAsking(false)}
        >
          {deliveriesHeld === 0
            ? 'No deliveries are held for it. '
            : `${held} held ${deliveries} will go out, at first a few at once, then more. `}
          Its count of failures begins at 0. What happened since it was disabled is not among them: replay brings it.
        </Confirm>
      )}
    </Alert>
  )
}
