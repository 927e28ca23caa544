import { Anchor, Group, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'react-router'

import type { ListedDeliveryFragment } from '../../../generated/console.ts'
import { may } from '../../api/session.ts'
import { Breakable } from '../../ui/breakable.tsx'
import { Countdown } from '../../ui/countdown.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { pageName } from '../../ui/page-name.ts'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { DeliveryStatusBadge } from './state.tsx'

export const DELIVERY_HEAD = ['Event', 'Status', 'Page', 'Attempts', 'Last answer', 'Took', 'Happened', 'Next attempt']

/** What a list's row says of a delivery; `choice` stands before its event. */
export function DeliveryCells({ delivery, choice }: { delivery: ListedDeliveryFragment; choice?: ReactNode }) {
  const { id, endpointId, eventType, discussion, status, attempts, createdAt, nextAttemptAt } = delivery
  const last = attempts.at(-1)
  return (
    <>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          {choice}
          <Anchor component={Link} to={`/webhooks/${endpointId}/deliveries/${id}`} size="sm">
            {eventType}
          </Anchor>
        </Group>
      </Table.Td>
      <Table.Td>
        <DeliveryStatusBadge status={status} />
      </Table.Td>
      <Table.Td maw={220} {...WRITTEN}>
        <PageOf discussion={discussion} />
      </Table.Td>
      <Table.Td>{attempts.length}</Table.Td>
      <Table.Td maw={320} {...WRITTEN}>
        {last === undefined ? '–' : (last.error ?? last.statusCode)}
      </Table.Td>
      <Table.Td>{last === undefined ? '–' : `${formatNumber(last.durationMs)} ms`}</Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>{nextAttemptAt === null ? '–' : <Countdown until={nextAttemptAt} />}</Table.Td>
    </>
  )
}

/** The page that the event happened on, by its title; where it has none by its path. */
export function PageOf({ discussion }: Pick<ListedDeliveryFragment, 'discussion'>) {
  if (discussion === null) return 'none: a test'
  const { id, title, url, externalId } = discussion
  const address = url ?? externalId
  const name = pageName({ title, externalId: address })
  return may('moderate_content') ? (
    <Anchor component={Link} to={`/discussions/${id}`} size="sm" lineClamp={2} title={address}>
      <Breakable text={name} />
    </Anchor>
  ) : (
    <Text size="sm" lineClamp={2} title={address}>
      <Breakable text={name} />
    </Text>
  )
}
