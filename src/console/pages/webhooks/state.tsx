import { Badge, Stack, Text } from '@mantine/core'

import type { DeliveryStatus, EndpointFragment } from '../../../generated/console.ts'
import { Countdown } from '../../ui/countdown.tsx'
import { WRITTEN } from '../../ui/written.ts'

const STATE_COLOURS: Readonly<Record<EndpointFragment['state'], string>> = {
  verified: 'green',
  unverified: 'yellow',
  disabled: 'red',
}

export function EndpointStateBadge({ endpoint: { state, verificationPending } }: { endpoint: EndpointFragment }) {
  return (
    <Badge variant="dot" color={STATE_COLOURS[state]}>
      {state === 'unverified' && verificationPending ? 'verifying…' : state}
    </Badge>
  )
}

const CIRCUITS: Readonly<Record<EndpointFragment['circuit'], { colour: string; words: string }>> = {
  closed: { colour: 'green', words: 'closed' },
  half_open: { colour: 'yellow', words: 'half open' },
  open: { colour: 'red', words: 'open' },
}

/** Whether deliveries flow; for an open circuit and a pause, when it tries the next one. */
export function Circuit({ endpoint }: { endpoint: EndpointFragment }) {
  const { state, circuit, circuitOpenUntil, lastFailure, pausedAt, pausedUntil } = endpoint
  // A disabled endpoint gets nothing, whatever the state of its circuit.
  if (state === 'disabled') return '–'
  if (pausedAt !== null) return 'paused'
  const { colour, words } = CIRCUITS[circuit]
  return (
    <Stack gap={2} align="flex-start">
      <Badge variant="dot" color={colour}>
        {words}
      </Badge>
      {pausedUntil !== null && (
        <Text size="xs">
          paused <Countdown until={pausedUntil} lead="for" size="xs" />
        </Text>
      )}
      {circuit === 'open' && circuitOpenUntil !== null && (
        <Text size="xs">
          next attempt <Countdown until={circuitOpenUntil} size="xs" />
        </Text>
      )}
      {circuit !== 'closed' && lastFailure !== null && (
        <Text size="xs" maw={240} lineClamp={2} {...WRITTEN}>
          {lastFailure.error}
        </Text>
      )}
    </Stack>
  )
}

const STATUS_COLOURS: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'blue',
  delivering: 'blue',
  delivered: 'green',
  failed: 'red',
  held: 'yellow',
}

export const STATUSES = Object.keys(STATUS_COLOURS) as DeliveryStatus[]

export function DeliveryStatusBadge({ status }: { status: DeliveryStatus }) {
  return (
    <Badge variant="dot" color={STATUS_COLOURS[status]}>
      {status}
    </Badge>
  )
}

/** Held deliveries are counted up to a bound, which means as many or more. */
export const heldWords = (held: number): string => (held >= 1_000 ? '1 000 or more' : String(held))
