import { Button, Stack } from '@mantine/core'
import { IconArchive, IconLock, IconLockOpen } from '../../ui/icons.tsx'
import { useState } from 'react'

import {
  ArchiveDiscussionDocument,
  DiscussionDocument,
  DiscussionsDocument,
  type DiscussionState,
  LockDiscussionDocument,
  UnlockDiscussionDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Problem } from '../../ui/states.tsx'

const OUTDATED = [DiscussionDocument, DiscussionsDocument]

/** Buttons to lock, unlock and archive. */
export function DiscussionActions({
  id,
  externalId,
  state,
}: {
  id: string
  externalId: string
  state: DiscussionState
}) {
  const lock = useWrite(LockDiscussionDocument, OUTDATED)
  const unlock = useWrite(UnlockDiscussionDocument, OUTDATED)
  const archive = useWrite(ArchiveDiscussionDocument, OUTDATED)
  const [isArchiving, setArchiving] = useState(false)
  const input = { input: { discussionId: id } }
  // A refused action may have been done by another moderator meanwhile: the state shows that.
  const error = (state === 'open' ? lock : unlock).error
  if (state === 'archived') return null
  return (
    <>
      {state === 'open' ? (
        <Button
          variant="default"
          leftSection={<IconLock size={16} aria-hidden />}
          loading={lock.isPending}
          onClick={() => lock.mutate(input)}
        >
          Lock
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<IconLockOpen size={16} aria-hidden />}
          loading={unlock.isPending}
          onClick={() => unlock.mutate(input)}
        >
          Unlock
        </Button>
      )}
      <Button variant="default" leftSection={<IconArchive size={16} aria-hidden />} onClick={() => setArchiving(true)}>
        Archive
      </Button>
      {error !== null && (
        <Stack w="100%">
          <Problem error={error} />
        </Stack>
      )}
      {isArchiving && (
        <Confirm
          title="Archive this discussion?"
          action="Archive for good"
          typed={externalId}
          onConfirm={() => archive.mutateAsync(input)}
          onClose={() => setArchiving(false)}
        >
          Nothing in it can change any more: no comment, no reaction, no moderation. It cannot be opened again.
        </Confirm>
      )}
    </>
  )
}
