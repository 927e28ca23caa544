import { Alert, Anchor, Badge, Group, Text } from '@mantine/core'
import { Link } from 'react-router'

import { GuestMailerDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { IconAlertTriangle } from '../../ui/icons.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { lackOf } from './mailer-words.ts'

const useMailer = () => useApi(GuestMailerDocument, {}, { everyMs: 5_000 }).data?.guestMailer

/** What keeps guests of the tenant's sites from getting their mails, if anything does. */
export function MailerAlert() {
  const mailer = useMailer()
  if (mailer === undefined) return null
  const lack = lackOf(mailer)
  if (lack === null) return null
  return (
    <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />} maw={640}>
      <Text size="sm" {...WRITTEN}>
        {lack}
      </Text>
      {mailer.state === 'failing' && mailer.lastFailureAt !== null && (
        <Text size="sm">
          It failed <Time at={mailer.lastFailureAt} />, and is tried again.
        </Text>
      )}
      <Anchor component={Link} to="/settings#guests" size="sm" c="var(--mantine-color-text)" underline="always">
        Settings of guests
      </Anchor>
    </Alert>
  )
}

/** That guests are on at a site, and whether they get their mails. */
export function GuestsOn() {
  const mailer = useMailer()
  const hasLack = mailer !== undefined && lackOf(mailer) !== null
  return (
    <Group gap="xs">
      on
      {hasLack && <Badge color="yellow">no mails</Badge>}
    </Group>
  )
}
