import { Group, Paper, Progress, SimpleGrid, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

import {
  type EndpointFragment,
  RevokeWebhookSecretDocument,
  WebhookEndpointDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Countdown } from '../../ui/countdown.tsx'
import { EndSecret } from '../../ui/end-secret.tsx'
import { Time } from '../../ui/time.tsx'
import { Circuit, EndpointStateBadge, heldWords } from './state.tsx'

/** The health of an endpoint, kept up to date. */
export function Health({ endpoint }: { endpoint: EndpointFragment }) {
  const { consecutiveFailures: failures, policy, deliveriesHeld, lastVerification, secrets } = endpoint
  const revoke = useWrite(RevokeWebhookSecretDocument, [WebhookEndpointDocument])
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      <Fact name="State">
        <EndpointStateBadge endpoint={endpoint} />
        <Text size="xs" c="dimmed">
          {lastVerification === null ? (
            'no handshake yet'
          ) : (
            <>
              handshake {lastVerification.ok ? 'succeeded' : 'failed'} <Time at={lastVerification.at} size="xs" />
            </>
          )}
        </Text>
        {deliveriesHeld > 0 && <Text size="xs">{heldWords(deliveriesHeld)} held</Text>}
      </Fact>
      <Fact name="Circuit">
        <Circuit endpoint={endpoint} />
        {endpoint.state !== 'disabled' && (
          <Towards failures={failures} threshold={policy.breakerThreshold} to="open the circuit" />
        )}
      </Fact>
      <Fact name="Failures in a row">
        <Text fw={600}>{failures}</Text>
        <Towards failures={failures} threshold={policy.disableThreshold} to="disable it" />
      </Fact>
      <Fact name="Signing secrets">
        {secrets.length === 0 && <Text size="sm">None: deliveries wait until you rotate the secret.</Text>}
        {secrets.map(({ kid, createdAt, expiresAt }) => (
          <Group key={kid} gap="xs">
            <Text size="sm" component="div">
              <Text span ff="monospace" size="sm">
                {kid}
              </Text>
              {expiresAt === null ? (
                <>
                  , created <Time at={createdAt} />
                </>
              ) : (
                <>
                  , expires <Countdown until={expiresAt} />
                </>
              )}
            </Text>
            <EndSecret
              kid={kid}
              secrets={secrets}
              replace="rotate the secret"
              stops="Deliveries wait"
              onEnd={() => revoke.mutateAsync({ input: { id: endpoint.id, kid } })}
            >
              It signs no further delivery, at once. This is final.
            </EndSecret>
          </Group>
        ))}
      </Fact>
    </SimpleGrid>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Paper withBorder p="sm" component="section" aria-label={name}>
      <Stack gap={6}>
        <Text size="xs" c="dimmed">
          {name}
        </Text>
        {children}
      </Stack>
    </Paper>
  )
}

/** How close the consecutive failures are to their consequence. */
function Towards({ failures, threshold, to }: { failures: number; threshold: number; to: string }) {
  // Attempts with an open circuit go on counting.
  const words = `${Math.min(failures, threshold)} of ${threshold} to ${to}`
  return (
    <>
      <Progress.Root size="sm">
        <Progress.Section
          value={Math.min(100, (failures / threshold) * 100)}
          color={failures * 2 < threshold ? 'indigo' : 'red'}
          aria-label={words}
        />
      </Progress.Root>
      <Text size="xs" c="dimmed">
        {words}
      </Text>
    </>
  )
}
