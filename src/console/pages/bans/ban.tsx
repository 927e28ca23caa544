import { Alert, Badge, Text } from '@mantine/core'
import { IconBan } from '../../ui/icons.tsx'

import type { BanFieldsFragment } from '../../../generated/console.ts'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

export const BanBadge = ({ shadow }: Pick<BanFieldsFragment, 'shadow'>) => (
  <Badge leftSection={<IconBan size={12} aria-hidden />}>{shadow ? 'banned in shadow' : 'banned'}</Badge>
)

/** How far the work on their comments is. */
function Sweep({ action, total, done, completedAt }: NonNullable<BanFieldsFragment['comments']>) {
  const verb = action === 'reject' ? 'rejected' : 'withheld'
  return (
    <Text size="sm">
      {completedAt == null
        ? `${done} of ${total ?? 'their'} comments are ${verb} so far.`
        : `${done} of their comments were ${verb}.`}
    </Text>
  )
}

/** The ban in force: its effect, its start, its end and its reason. */
export function BanState({ ban: { shadow, bannedAt, until, reason, comments } }: { ban: BanFieldsFragment }) {
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
      {comments != null && <Sweep {...comments} />}
      {reason != null && (
        <Text size="sm" {...WRITTEN}>
          {reason}
        </Text>
      )}
    </Alert>
  )
}
