import { Button } from '@mantine/core'
import { IconTrash } from '../../ui/icons.tsx'
import { useState } from 'react'

import { DeleteDiscussionDocument, type DiscussionQuery, DiscussionsDocument } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'

/** Deletes a discussion for good, after a question. */
export function DeleteDiscussion({
  discussion: { id, externalId },
  onGone,
}: {
  discussion: NonNullable<DiscussionQuery['discussion']>
  onGone: () => void
}) {
  const remove = useWrite(DeleteDiscussionDocument, [DiscussionsDocument])
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => setAsking(true)}>
        Delete
      </Button>
      {isAsking && (
        <Confirm
          title="Delete this discussion?"
          action="Delete for good"
          typed={externalId}
          onConfirm={async () => {
            await remove.mutateAsync({ input: { id } })
            onGone()
          }}
          onClose={() => setAsking(false)}
        >
          Its comments go, with their reactions, reports and notes; its streams end, and deliveries that still wait are
          cancelled. The next comment on its page begins a new discussion. If you may want it back, export your data
          first.
        </Confirm>
      )}
    </>
  )
}
