import { ActionIcon, Menu, Stack } from '@mantine/core'
import {
  IconBan,
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

import type { ThreadCommentFragment } from '../../../generated/console.ts'
import { may } from '../../api/session.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { BanDialog } from '../moderation/ban.tsx'
import { ExplainDialog } from '../moderation/explain.tsx'
import { AllNotes } from '../notes/notes.tsx'
import type { Desk } from './desk.ts'

interface Props {
  comment: ThreadCommentFragment
  /** The author's name. */
  name: string | null
  /** Whether it has unanswered reports, or a rule's objection. */
  isReported: boolean
  isFinal: boolean
  desk: Desk
}

/** A moderator's actions on a comment in its state. */
export function CommentMenu({ comment, name, isReported, isFinal, desk }: Props) {
  const { id, author, status, pinnedAt } = comment
  const [toExplain, setToExplain] = useState<'reject' | 'delete' | null>(null)
  const [isBanning, setBanning] = useState(false)
  const [isNoting, setNoting] = useState(false)
  const reader = author == null ? null : { id: author.id, name: name ?? 'an unknown author' }
  const isPinned = pinnedAt != null
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
            <Menu.Item leftSection={<IconCheck size={16} />} onClick={() => desk.judge('approve', comment)}>
              {status === 'approved' ? 'Approve, and answer the reports' : 'Approve'}
            </Menu.Item>
          )}
          {!isFinal && status !== 'rejected' && (
            <>
              <Menu.Item leftSection={<IconX size={16} />} onClick={() => desk.judge('reject', comment)}>
                Reject
              </Menu.Item>
              <Menu.Item leftSection={<IconX size={16} />} onClick={() => setToExplain('reject')}>
                Reject, and say why
              </Menu.Item>
            </>
          )}
          {!isFinal && status === 'approved' && (
            <Menu.Item
              leftSection={isPinned ? <IconPinnedOff size={16} /> : <IconPinned size={16} />}
              onClick={() => desk.judge(isPinned ? 'unpin' : 'pin', comment)}
            >
              {isPinned ? 'Unpin' : 'Pin'}
            </Menu.Item>
          )}
          {!isFinal && (
            <Menu.Item leftSection={<IconTrash size={16} />} onClick={() => setToExplain('delete')}>
              Delete
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconNote size={16} />} onClick={() => setNoting(true)}>
            Notes
          </Menu.Item>
          {author != null && (
            <Menu.Item leftSection={<IconBan size={16} />} onClick={() => setBanning(true)}>
              Ban
            </Menu.Item>
          )}
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
      {toExplain !== null && (
        <ExplainDialog
          verb={toExplain}
          {...(toExplain === 'delete' && { about: DELETION })}
          reader={reader}
          onDecide={(decision, pending) => desk.judge(toExplain, comment, decision, pending)}
          onClose={() => setToExplain(null)}
        />
      )}
      {isBanning && reader !== null && (
        <BanDialog
          reader={reader}
          onDone={({ words, undo, isRejecting }) => {
            setBanning(false)
            desk.remember(words, undo)
            if (isRejecting) desk.rejectAllOf(reader.id)
          }}
          onClose={() => setBanning(false)}
        />
      )}
    </>
  )
}

const DELETION =
  'The text is deleted. After 5 seconds this is final. If the comment has replies, a placeholder stays in its place.'
