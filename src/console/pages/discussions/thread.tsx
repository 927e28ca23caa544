import { Box, Button, Stack } from '@mantine/core'
import { useState } from 'react'

import {
  type CommentSort,
  ThreadDocument,
  type ThreadCommentFragment,
  WithheldCommentDocument,
} from '../../../generated/console.ts'
import { useApi, useList } from '../../api/queries.ts'
import { Boundary } from '../../ui/boundary.tsx'
import { List } from '../../ui/list.tsx'
import { formatNumber } from '../../ui/numbers.ts'
import { Empty } from '../../ui/states.tsx'
import { CommentCard } from './comment-card.tsx'
import type { Desk } from './desk.ts'
import { type Mark, type Marks, withHidden } from './marks.ts'

interface ThreadProps {
  discussionId: string
  sort: CommentSort
  marks: Marks
  /** Archived: no actions are possible any more. */
  isFinal: boolean
  desk: Desk
}

// Deeper levels are not indented further: a phone has no room.
const DEEPEST_INDENT = 4

/** One level of a thread, including comments that only moderators see. */
export function Thread({
  parentId = null,
  depth = 0,
  ...props
}: ThreadProps & { parentId?: string | null; depth?: number }) {
  const { discussionId: id, sort, marks } = props
  const list = useList(ThreadDocument, { id, parentId, sort, first: 20 }, ({ discussion }) => discussion?.comments)
  const hidden = marks.hidden.get(parentId) ?? []
  const nodes = list.nodes && withHidden(list.nodes, hidden, { sort, isWhole: !list.hasNextPage })
  return (
    <List
      list={{ ...list, nodes }}
      of={parentId === null ? 'the thread' : 'the replies'}
      empty={<Empty title={parentId === null ? 'There is no comment yet' : 'There is no reply in view'} />}
    >
      {(comments) => (
        <Stack gap="sm" component="ol" m={0} p={0} style={{ listStyle: 'none' }}>
          {comments.map((comment) => (
            <li key={comment.id}>
              <Boundary>
                <BehindTombstone
                  comment={comment}
                  about={marks.about.get(comment.id)}
                  isFinal={props.isFinal}
                  desk={props.desk}
                />
              </Boundary>
              <Replies comment={comment} depth={depth + 1} {...props} />
            </li>
          ))}
        </Stack>
      )}
    </List>
  )
}

/** A comment, also where the list has its tombstone and the marks are too few for it. */
function BehindTombstone({ comment, ...props }: Parameters<typeof CommentCard>[0]) {
  const { id, status } = comment
  const { data } = useApi(WithheldCommentDocument, { id }, { enabled: status === 'withheld' })
  // An answer from before may still be there after an approval.
  return <CommentCard comment={(status === 'withheld' && data?.comment) || comment} {...props} />
}

function Replies({ comment, depth, ...props }: ThreadProps & { comment: ThreadCommentFragment; depth: number }) {
  const notApproved = props.marks.hidden.get(comment.id) ?? []
  // The others have a tombstone, which is counted.
  const hidden = notApproved.filter(({ replyCount }) => replyCount === 0).length
  const count = comment.replyCount + hidden
  // Comments that need attention are not folded.
  const [isOpen = notApproved.length > 0, setOpen] = useState<boolean>()
  if (count === 0) return null
  return (
    <Box
      mt="xs"
      pl={depth <= DEEPEST_INDENT ? { base: 10, sm: 20 } : 0}
      style={{ borderInlineStart: '1px solid var(--mantine-color-default-border)' }}
    >
      <Button variant="subtle" size="compact-sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Hide' : 'Show'} {count === 1 ? '1 reply' : `${formatNumber(count)} replies`}
      </Button>
      {isOpen && <Thread {...props} parentId={comment.id} depth={depth} />}
    </Box>
  )
}

/** Only the comments with one mark. */
export function MarkedOnly({ mark, marks, ...props }: { mark: Mark; marks: Marks; isFinal: boolean; desk: Desk }) {
  return (
    <Stack gap="sm" component="ol" m={0} p={0} style={{ listStyle: 'none' }}>
      {marks.lists[mark].map((item) => (
        <li key={item.comment.id}>
          <Boundary>
            <CommentCard comment={item.comment} about={item} {...props} />
          </Boundary>
        </li>
      ))}
    </Stack>
  )
}
