import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'

import {
  AllDeliveriesDocument,
  RedeliverDeliveriesDocument,
  WebhookDeliveriesDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Problem } from '../../ui/states.tsx'

/** As many as one request sends again. */
const MOST = 100
/** More than these are asked about first. */
const UNASKED = 10

/** Sends the chosen deliveries again, in one request. */
export function Redeliver({
  endpointId,
  ids,
  onSent,
}: {
  endpointId: string
  ids: readonly string[]
  onSent: () => void
}) {
  const redeliver = useWrite(RedeliverDeliveriesDocument, [WebhookDeliveriesDocument, AllDeliveriesDocument])
  const [isAsking, setAsking] = useState(false)
  const input = { input: { id: endpointId, deliveryIds: [...ids] } }
  const title = `Redeliver ${ids.length}`
  return (
    <>
      <Group gap="sm" mih={30}>
        <Button
          size="xs"
          variant="default"
          disabled={ids.length === 0 || ids.length > MOST}
          loading={redeliver.isPending}
          onClick={() => (ids.length > UNASKED ? setAsking(true) : redeliver.mutate(input, { onSuccess: onSent }))}
        >
          {ids.length === 0 ? 'Redeliver' : title}
        </Button>
        <Text size="xs" c="dimmed">
          {ids.length > MOST ? `Choose at most ${MOST}.` : 'Sends what you choose again, each once.'}
        </Text>
      </Group>
      {redeliver.error !== null && !isAsking && <Problem error={redeliver.error} />}
      {isAsking && (
        <Confirm
          title={`${title} deliveries?`}
          action={title}
          color="indigo"
          onConfirm={async () => {
            await redeliver.mutateAsync(input)
            onSent()
          }}
          onClose={() => setAsking(false)}
        >
          The endpoint gets each of these events again, under the same idempotency key.
        </Confirm>
      )}
    </>
  )
}
