import { ActionIcon, Menu, Stack } from '@mantine/core'
import {
  IconCheck,
  IconDots,
  IconNote,
  IconPinned,
  IconPinnedOff,
  IconTrash,
  IconUser,
  IconWebhook,
  IconX,
} from '../../ui/icons.tsx'
import { useState } from 'react'
import { Link } from 'react-router'

import {
  ApproveCommentDocument,
  DeleteCommentDocument,
  DiscussionDocument,
  MarkedDocument,
  PinCommentDocument,
  RejectCommentDocument,
  ThreadDocument,
  type ThreadCommentFragment,
  UnpinCommentDocument,
  WithheldCommentDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { ExplainDialog } from '../moderation/explain.tsx'
import { AllNotes } from '../notes/notes.tsx'

const OUTDATED = [ThreadDocument, MarkedDocument, DiscussionDocument, WithheldCommentDocument]

interface Props {
  comment: ThreadCommentFragment
  /** The author's name. */
  name: string | null
  /** Whether it has unanswered reports, or a rule's objection. */
  isReported: boolean
  isFinal: boolean
  /** Gets the error of a refused action; null at each new try. */
  onError: (error: unknown) => void
}

/** A moderator's actions on a comment in its state. */
export function CommentMenu({
  comment: { id, revision, author, status, pinnedAt },
  name,
  isReported,
  isFinal,
  onError,
}: Props) {
  const approve = useWrite(ApproveCommentDocument, OUTDATED)
  const reject = useWrite(RejectCommentDocument, OUTDATED)
  const pin = useWrite(PinCommentDocument, OUTDATED)
  const unpin = useWrite(UnpinCommentDocument, OUTDATED)
  const remove = useWrite(DeleteCommentDocument, OUTDATED)
  const [isDeleting, setDeleting] = useState(false)
  const [isNoting, setNoting] = useState(false)
  const input = { input: { commentId: id } }
  const run = async (write: () => Promise<unknown>): Promise<void> => {
    onError(null)
    try {
      await write()
    } catch (refusal) {
      onError(refusal)
    }
  }
  const isPinned = pinnedAt != null
  const verb = isPinned ? unpin : pin
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Actions on the comment of ${name ?? 'an unknown author'}`}
          >
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {!isFinal && (status !== 'approved' || isReported) && (
            <Menu.Item
              leftSection={<IconCheck size={16} />}
              onClick={() => void run(() => approve.mutateAsync({ input: { commentId: id, revision } }))}
            >
              {status === 'approved' ? 'Approve, and answer the reports' : 'Approve'}
            </Menu.Item>
          )}
          {!isFinal && status !== 'rejected' && (
            <Menu.Item leftSection={<IconX size={16} />} onClick={() => void run(() => reject.mutateAsync(input))}>
              Reject
            </Menu.Item>
          )}
          {!isFinal && status === 'approved' && (
            <Menu.Item
              leftSection={isPinned ? <IconPinnedOff size={16} /> : <IconPinned size={16} />}
              onClick={() => void run(() => verb.mutateAsync(input))}
            >
              {isPinned ? 'Unpin' : 'Pin'}
            </Menu.Item>
          )}
          {!isFinal && (
            <Menu.Item leftSection={<IconTrash size={16} />} onClick={() => setDeleting(true)}>
              Delete
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconNote size={16} />} onClick={() => setNoting(true)}>
            Notes
          </Menu.Item>
          {author != null && (
            <Menu.Item leftSection={<IconUser size={16} />} component={Link} to={`/readers/${author.id}`}>
              Its author
            </Menu.Item>
          )}
          {may('manage_webhooks') && (
            <Menu.Item
              leftSection={<IconWebhook size={16} />}
              component={Link}
              to={`/webhooks/deliveries?commentId=${id}`}
            >
              Its webhook deliveries
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isNoting && (
        <Dialog title={`Notes on the comment of ${name ?? 'an unknown author'}`} onClose={() => setNoting(false)}>
          <Stack>
            <AllNotes on={{ commentId: id }} of="comment" />
            {author != null && <AllNotes on={{ readerId: author.id }} of="reader" />}
          </Stack>
        </Dialog>
      )}
      {isDeleting && (
        <ExplainDialog
          verb="delete"
          about="The text is deleted. This is final. If the comment has replies, a placeholder stays in its place."
          reader={author == null ? null : { id: author.id, name: name ?? 'an unknown author' }}
          onDecide={(decision) => void run(() => remove.mutateAsync({ input: { commentId: id, ...decision } }))}
          onClose={() => setDeleting(false)}
        />
      )}
    </>
  )
}
