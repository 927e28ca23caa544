import { Alert, Anchor, Badge, Group, Text } from '@mantine/core'
import { Link } from 'react-router'

import { GuestMailerDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { IconAlertTriangle } from '../../ui/icons.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { LACKS, lackOf } from './mailer-words.ts'
import type { Site } from './service.ts'

const useMailer = () => useApi(GuestMailerDocument, {}, { everyMs: 5_000 }).data?.guestMailer

/** What keeps the tenant's sites from taking guests, or guests from getting their mails. */
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

/** Whether guests can write on a site, and what they lack. Where nobody posts, guests do not. */
export function Guests({ site: { posting, guests, takesGuests } }: { site: Site }) {
  const mailer = useMailer()
  if (!posting || guests !== 'email') return 'no'
  const lack = mailer === undefined ? null : LACKS[mailer.state]
  return (
    <Group gap="xs">
      {takesGuests ? 'yes' : 'not yet'}
      {lack !== null && <Badge color="yellow">{lack}</Badge>}
    </Group>
  )
}
