import { Button, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconTrash } from '../../ui/icons.tsx'
import { useState } from 'react'

import { DeleteDiscussionDocument, type DiscussionQuery, DiscussionsDocument } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { pageName } from '../../ui/page-name.ts'
import { Problem } from '../../ui/states.tsx'
import { downloadDiscussion } from './download.ts'

type Discussion = NonNullable<DiscussionQuery['discussion']>

/** Deletes a discussion for good, after a question. */
export function DeleteDiscussion({ discussion, onGone }: { discussion: Discussion; onGone: () => void }) {
  const { id, externalId } = discussion
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
            notifications.show({ message: begunWords(discussion), autoClose: 15_000 })
            onGone()
          }}
          onClose={() => setAsking(false)}
        >
          Its comments go, with their reactions, reports and notes; its streams end, and deliveries that still wait are
          cancelled. The next comment on its page begins a new discussion.
          <Download discussion={discussion} />
        </Confirm>
      )}
    </>
  )
}

function begunWords(discussion: Discussion): string {
  const { commentCount } = discussion
  const rest =
    commentCount === 0
      ? ''
      : ` Its ${commentCount === 1 ? 'comment is' : `${formatNumber(commentCount)} comments are`} removed in the background: until then moderators still see them in their lists, without a title.`
  return `${pageName(discussion)} is deleted. The audit log has who deleted it.${rest}`
}

/** Saves the comments before they are gone. */
function Download({ discussion }: { discussion: Discussion }) {
  const [read, setRead] = useState<number | null>(null)
  const [isDone, setDone] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const download = async (): Promise<void> => {
    setError(null)
    setDone(false)
    setRead(0)
    try {
      await downloadDiscussion(discussion, setRead)
      setDone(true)
    } catch (refusal) {
      setRead(null)
      setError(refusal)
    }
  }
  return (
    <Stack gap="xs" mt="sm">
      <Text size="sm">
        If you may want them back, download the comments first: an import takes the file. Only an export of all your
        data, under Settings, also has their earlier texts, the reasons and messages of decisions, reactions, reports
        and notes.
      </Text>
      <Group gap="xs">
        <Button variant="default" size="compact-sm" loading={read !== null && !isDone} onClick={() => void download()}>
          Download the comments
        </Button>
        <Text size="sm" component="output">
          {read !== null && `${isDone ? 'Downloaded' : 'So far'}: ${formatNumber(read)}`}
        </Text>
      </Group>
      {error !== null && <Problem error={error} />}
    </Stack>
  )
}
