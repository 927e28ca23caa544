import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { useNavigate } from 'react-router'

import {
  DeleteWebhookEndpointDocument,
  type EndpointFragment,
  PauseWebhookEndpointDocument,
  UpdateWebhookEndpointDocument,
  VerifyWebhookEndpointDocument,
  WebhookEndpointDocument,
  WebhookEndpointsDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { hostOf } from '../../ui/web-link.tsx'
import { EndpointForm, type EndpointValues } from './endpoint/form.tsx'
import { Replay } from './replay.tsx'
import { Rotate } from './endpoint/rotate.tsx'
import { TestEvent } from './test-event.tsx'
import { headerLines, headersOf } from './endpoint/header-lines.ts'
import { policyInput, policyValues } from './endpoint/policy.ts'

/** The actions on an endpoint, the most frequent first. */
const ACTIONS = {
  test: 'Send a test event',
  edit: 'Edit',
  replay: 'Replay',
  rotate: 'Rotate the secret',
  verify: 'Verify',
  pause: 'Pause',
  delete: 'Delete',
} as const

type Action = keyof typeof ACTIONS

export function Actions({ endpoint }: { endpoint: EndpointFragment }) {
  const [action, setAction] = useState<Action | null>(null)
  const onClose = (): void => setAction(null)
  const isPaused = endpoint.pausedAt !== null
  // Only an endpoint that gets deliveries can be tested.
  const isOff = (each: Action): boolean =>
    each === 'pause' ? isPaused : (each === 'test' || each === 'replay') && (endpoint.state !== 'verified' || isPaused)
  return (
    <>
      {Object.entries(ACTIONS).map(([each, label]) => (
        <Button
          key={each}
          variant="default"
          size="xs"
          disabled={isOff(each as Action)}
          onClick={() => setAction(each as Action)}
        >
          {label}
        </Button>
      ))}
      {action === 'test' && <TestEvent endpoint={endpoint} onClose={onClose} />}
      {action === 'edit' && <Edit endpoint={endpoint} onClose={onClose} />}
      {action === 'replay' && <Replay endpoint={endpoint} onClose={onClose} />}
      {action === 'rotate' && <Rotate endpoint={endpoint} onClose={onClose} />}
      {action === 'verify' && <Verify endpoint={endpoint} onClose={onClose} />}
      {action === 'pause' && <Pause endpoint={endpoint} onClose={onClose} />}
      {action === 'delete' && <Delete endpoint={endpoint} onClose={onClose} />}
    </>
  )
}

interface Props {
  endpoint: EndpointFragment
  onClose: () => void
}

function Edit({ endpoint, onClose }: Props) {
  const update = useWrite(UpdateWebhookEndpointDocument, [WebhookEndpointDocument])
  // The endpoint as it was when the form was opened.
  const [before] = useState(endpoint)
  return (
    <Dialog title="Edit the endpoint" size="lg" onClose={onClose}>
      <Text size="sm" mb="md">
        A new URL has to pass the handshake first. Deliveries that wait then go to it; events until then are not sent to
        it. The count of failures starts again at 0.
      </Text>
      <EndpointForm
        endpoint={before}
        action="Save"
        onCancel={onClose}
        onSubmit={async (values) => {
          await update.mutateAsync({ input: { id: before.id, ...changedFields(before, values) } })
          onClose()
        }}
      />
    </Dialog>
  )
}

function Verify({ endpoint: { id, state }, onClose }: Props) {
  const verify = useWrite(VerifyWebhookEndpointDocument, [WebhookEndpointDocument])
  return (
    <Confirm
      title="Verify the endpoint again?"
      action="Verify"
      color="indigo"
      onConfirm={() => verify.mutateAsync({ input: { id } })}
      onClose={onClose}
    >
      {state === 'disabled'
        ? 'The endpoint gets a challenge. It stays disabled until you enable it.'
        : 'The endpoint gets a challenge. Until it answers, its queued deliveries wait and new events are not sent to it. A replay sends them later.'}
    </Confirm>
  )
}

function Pause({ endpoint: { id }, onClose }: Props) {
  const pause = useWrite(PauseWebhookEndpointDocument, [WebhookEndpointDocument])
  return (
    <Confirm
      title="Pause the endpoint?"
      action="Pause"
      color="indigo"
      onConfirm={() => pause.mutateAsync({ input: { id } })}
      onClose={onClose}
    >
      Nothing is sent to it until you resume it. New events are queued, so that none is lost.
    </Confirm>
  )
}

function Delete({ endpoint: { id, url, deliveriesHeld }, onClose }: Props) {
  const navigate = useNavigate()
  // Not the queries of this page: the endpoint is gone.
  const remove = useWrite(DeleteWebhookEndpointDocument, [WebhookEndpointsDocument])
  return (
    <Confirm
      title="Delete the endpoint?"
      action="Delete"
      typed={hostOf(url)}
      onConfirm={async () => {
        await remove.mutateAsync({ input: { id } })
        await navigate('/webhooks')
      }}
      onClose={onClose}
    >
      Its secret and its deliveries are deleted for good, also those that are queued
      {deliveriesHeld > 0 ? ' or held' : ''}.
    </Confirm>
  )
}

type Fields = Pick<EndpointFragment, 'url' | 'description' | 'eventTypes' | 'discussionIds' | 'headers' | 'ownPolicy'>

/**
 * The fields that differ from `before`, the form's initial values. The others are left out, because
 * someone else may have changed them.
 */
function changedFields(
  { url, description, eventTypes, discussionIds, headers, ownPolicy }: Fields,
  { policy, ...after }: EndpointValues,
): Partial<Omit<EndpointValues, 'policy'>> & { policy?: Partial<EndpointValues['policy']> } {
  const kept = headersOf(headerLines(headers))
  const before = {
    url,
    description: description ?? null,
    eventTypes,
    discussionIds: discussionIds ?? null,
    headers: kept,
  }
  const fields = differing(before, after)
  const own = differing(policyInput(policyValues(ownPolicy)), policy)
  return Object.keys(own).length === 0 ? fields : { ...fields, policy: own }
}

const differing = <Values extends object>(before: Values, after: Values): Partial<Values> =>
  Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Values]),
    ),
  ) as Partial<Values>
