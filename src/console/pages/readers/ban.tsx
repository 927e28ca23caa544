import { Alert, Badge, Text } from '@mantine/core'
import { IconBan } from '../../ui/icons.tsx'

import type { BanFieldsFragment } from '../../../generated/console.ts'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

export const BanBadge = ({ shadow }: Pick<BanFieldsFragment, 'shadow'>) => (
  <Badge leftSection={<IconBan size={12} aria-hidden />}>{shadow ? 'banned in shadow' : 'banned'}</Badge>
)

/** The ban in force: its effect, its start, its end and its reason. */
export function BanState({ ban: { shadow, bannedAt, until, reason } }: { ban: BanFieldsFragment }) {
  return (
    <Alert variant="default" icon={<IconBan aria-hidden />} title={shadow ? 'Shadow ban' : 'Banned'}>
      <Text size="sm">
        {shadow
          ? 'They write as before, and each comment waits for a moderator.'
          : 'They can neither write, react nor report.'}
      </Text>
      <Text size="sm">
        Since <Time at={bannedAt} />;{' '}
        {until == null ? (
          'for good'
        ) : (
          <>
            it ends <Time at={until} />
          </>
        )}
        .
      </Text>
      {reason != null && (
        <Text size="sm" {...WRITTEN}>
          {reason}
        </Text>
      )}
    </Alert>
  )
}
