import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useNavigate } from 'react-router'

import {
  type EndpointFragment,
  TestWebhookEndpointDocument,
  WebhookDeliveriesDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { focusRefusal } from '../../ui/refusal.ts'
import { Problem } from '../../ui/states.tsx'
import { EVENT_TYPES } from './endpoint/event-types.tsx'

/** Sends an example event, and goes to the page that shows its delivery. */
export function TestEvent({ endpoint: { id }, onClose }: { endpoint: EndpointFragment; onClose: () => void }) {
  const navigate = useNavigate()
  const send = useWrite(TestWebhookEndpointDocument, [WebhookDeliveriesDocument])
  const [eventType, setEventType] = useState('comment_created')
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = event.currentTarget
    send.mutate(
      { input: { id, eventType } },
      {
        onSuccess: ({ testWebhookEndpoint }) => void navigate(`deliveries/${testWebhookEndpoint.delivery.id}`),
        onError: () => focusRefusal(form),
      },
    )
  }
  return (
    <Dialog title="Send a test event" onClose={onClose}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">
            An example about nothing real: its <code>seq</code> is 0, and the header X-Service-Test marks it.
          </Text>
          {send.error !== null && <Problem error={send.error} />}
          <Select
            label="Event"
            data={EVENT_TYPES}
            value={eventType}
            onChange={(value) => setEventType(value ?? eventType)}
            allowDeselect={false}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={send.isPending}>
              Send it
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
