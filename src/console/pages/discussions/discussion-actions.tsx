import { Button, Stack } from '@mantine/core'
import { IconArchive, IconLock, IconLockOpen, IconPencil } from '../../ui/icons.tsx'
import { useState } from 'react'

import {
  ArchiveDiscussionDocument,
  DiscussionDocument,
  type DiscussionQuery,
  DiscussionsDocument,
  LockDiscussionDocument,
  UnlockDiscussionDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Problem } from '../../ui/states.tsx'
import { DiscussionRules } from './discussion-rules.tsx'
import { EditDiscussion } from './edit-discussion.tsx'

const OUTDATED = [DiscussionDocument, DiscussionsDocument]

/** Buttons to edit, rule, lock, unlock and archive. */
export function DiscussionActions({ discussion }: { discussion: NonNullable<DiscussionQuery['discussion']> }) {
  const { id, externalId, state } = discussion
  const lock = useWrite(LockDiscussionDocument, OUTDATED)
  const unlock = useWrite(UnlockDiscussionDocument, OUTDATED)
  const archive = useWrite(ArchiveDiscussionDocument, OUTDATED)
  const [isArchiving, setArchiving] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const [isRuling, setRuling] = useState(false)
  const input = { input: { discussionId: id } }
  // A refused action may have been done by another moderator meanwhile: the state shows that.
  const error = (state === 'open' ? lock : unlock).error
  if (state === 'archived') return null
  return (
    <>
      {may('manage_settings') && (
        <Button variant="default" leftSection={<IconPencil size={16} aria-hidden />} onClick={() => setEditing(true)}>
          Edit
        </Button>
      )}
      <Button variant="default" onClick={() => setRuling(true)}>
        Rules
      </Button>
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
      {isEditing && <EditDiscussion discussion={discussion} onClose={() => setEditing(false)} />}
      {isRuling && <DiscussionRules discussion={discussion} onClose={() => setRuling(false)} />}
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
