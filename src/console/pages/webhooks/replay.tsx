import { Button, Group, MultiSelect, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'

import {
  type EndpointFragment,
  ReplayWebhookEventsDocument,
  WebhookDeliveriesDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { isMoment, localTime } from '../../ui/inputs/moment.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { EVENT_TYPES } from './endpoint/event-types.tsx'

const DAY_MS = 86_400_000

const LABELS = { from: 'From', to: 'To', eventTypes: 'Events' }

/** Queues the events that an endpoint has missed in a span. */
export function Replay({ endpoint: { id }, onClose }: { endpoint: EndpointFragment; onClose: () => void }) {
  const replay = useWrite(ReplayWebhookEventsDocument, [WebhookDeliveriesDocument])
  const [queued, setQueued] = useState<number | null>(null)
  const [yesterday] = useState(() => localTime(Date.now() - DAY_MS))
  const form = useForm({
    initialValues: { from: yesterday, to: '', eventTypes: [] as string[] },
    validate: {
      from: (from) => (isMoment(from) ? null : 'Choose the beginning of the time span.'),
      to: (to) => (to === '' || isMoment(to) ? null : 'A time, or nothing for now.'),
    },
  })
  const send = async ({ from, to, eventTypes }: typeof form.values): Promise<void> => {
    const types = eventTypes.length === 0 ? {} : { eventTypes }
    const until = to === '' ? {} : { to: new Date(to).toISOString() }
    const answer = await replay.mutateAsync({ input: { id, from: new Date(from).toISOString(), ...until, ...types } })
    setQueued(answer.replayWebhookEvents.queued)
  }
  if (queued !== null) return <Queued queued={queued} onClose={onClose} />
  return (
    <Dialog title="Replay missed events" onClose={onClose}>
      <Form form={form} labels={LABELS} send={send} action="Replay" onCancel={onClose}>
        <Text size="sm">
          Sends the events of this period that the endpoint has not accepted and that are not queued for it. The oldest
          go first, after all other deliveries.
        </Text>
        <TextInput type="datetime-local" label={LABELS.from} data-autofocus {...form.getInputProps('from')} />
        <TextInput
          type="datetime-local"
          label={LABELS.to}
          description="Empty means now"
          {...form.getInputProps('to')}
        />
        <MultiSelect
          label={LABELS.eventTypes}
          description="Empty means the event types of the endpoint"
          data={EVENT_TYPES}
          {...form.getInputProps('eventTypes')}
        />
      </Form>
    </Dialog>
  )
}

function Queued({ queued, onClose }: { queued: number; onClose: () => void }) {
  return (
    <Dialog title="Replay missed events" onClose={onClose}>
      <Stack>
        <Text>
          {queued === 0
            ? 'Nothing was queued: all events of that time are delivered or queued already.'
            : `${formatNumber(queued)} ${queued === 1 ? 'delivery was' : 'deliveries were'} queued.`}
          {queued >= 200_000 && ' One replay queues no more than this: replay again for the rest.'}
        </Text>
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
