import { Alert, Anchor, Badge, Button, Group, PasswordInput, Stack, Text, Textarea } from '@mantine/core'
import { Link, useParams } from 'react-router'
import { type FormEvent, useState } from 'react'

import { type EndpointFragment, WebhookEndpointDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { PageFrame } from '../../ui/page.tsx'
import { Section } from '../../ui/section.tsx'
import { Found } from '../../ui/states.tsx'
import { hostOf } from '../../ui/web-link.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { Actions } from './actions.tsx'
import { ALL } from './endpoint/event-types.tsx'
import { Deliveries } from './deliveries.tsx'
import { Health } from './health.tsx'
import { Hours } from './hours.tsx'
import { Notice } from './notice.tsx'
import { Snippets } from '../../ui/snippets.tsx'
import go from './snippets/verify.go?raw'
// Its text, which is no module's.
// oxlint-disable-next-line import/default
import node from './snippets/verify.mjs?raw'
import php from './snippets/verify.php?raw'
import python from './snippets/verify.py?raw'
import { checkRequest, type Finding, type Given } from './check.ts'

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

/** The code that a receiver needs to verify the service's requests. */
function VerifySnippet() {
  return <Snippets label="Verifying a signature" snippets={{ Node: node, Python: python, PHP: php, Go: go }} />
}

const HINT = 'X-Service-Timestamp: …\nX-Service-Signature: …'

/** Tells whether a pasted request is genuine. The browser does it alone: nothing is sent. */
function CheckRequest() {
  const [given, setGiven] = useState<Given>({ headers: '', body: '', secret: '' })
  const [finding, setFinding] = useState<Finding | null>(null)
  const field = (name: keyof Given) => ({
    value: given[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => {
      setGiven((before) => ({ ...before, [name]: value }))
      setFinding(null)
    },
  })
  // A page over plain http has no cryptography, unless it is on this machine.
  if (!isSecureContext) return <Text size="sm">Open the console over https to check a request here.</Text>
  const check = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setFinding(await checkRequest(given, Date.now()))
  }
  return (
    <Stack component="form" gap="sm" maw={640} onSubmit={(event) => void check(event)}>
      <Text size="sm" c="dimmed">
        Paste what your receiver got. It is checked in this browser alone: neither the request nor the secret is sent.
      </Text>
      <Textarea
        label="Request headers"
        placeholder={HINT}
        autosize
        minRows={2}
        maxRows={12}
        spellCheck={false}
        {...field('headers')}
      />
      <Textarea label="Raw body" autosize minRows={2} maxRows={12} spellCheck={false} {...field('body')} />
      <PasswordInput label="Signing secret" autoComplete="off" {...field('secret')} />
      <Group>
        <Button type="submit" variant="default">
          Check
        </Button>
      </Group>
      <div aria-live="polite">
        {finding !== null && (
          <Alert color={finding.isGenuine ? 'green' : 'red'} title={finding.isGenuine ? 'Genuine' : 'Not genuine'}>
            <Text size="sm">{finding.words}</Text>
          </Alert>
        )}
      </div>
    </Stack>
  )
}
