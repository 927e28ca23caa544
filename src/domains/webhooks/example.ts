import { encodeEvent, type EventType } from '../../core/events.ts'
import { type Id, newId } from '../../core/ids.ts'
import { NO_TEXT } from '../../core/withdrawal.ts'
import { type Comment, NULLS } from '../comments/comment.ts'
import { VIEWERS_FIELDS } from '../comments/fields.ts'
import { type Discussion, withNulls } from '../discussions/fields.ts'
import { NO_CLAIMS } from '../readers/fields.ts'

/** An invented event in the shape of real ones: its ids refer to nothing, and its `seq` is 0. */
export interface ExampleEvent {
  eventId: Id
  discussionId: Id
  body: string
}

/** An example event for testing a receiver. */
export function exampleEvent(type: EventType): ExampleEvent {
  const [eventId, discussionId, commentId, readerId] = [newId(), newId(), newId(), newId()]
  const now = new Date()
  const reader = { id: readerId, externalId: 'reader-1', ...NO_CLAIMS, name: 'Ann Example', badges: [] }
  const byReader = JSON.stringify({ kind: 'reader', readerId, externalId: reader.externalId })
  const at = now.toISOString()
  const encode = (actor: string, data: object): string =>
    encodeEvent({ id: eventId, type, discussionId, seq: 0, occurredAt: now, actor, data: JSON.stringify(data) })
  const example = (body: string): ExampleEvent => ({ eventId, discussionId, body })
  if (type === 'reaction_toggled') {
    const reaction = { commentId, type: 'like', previousType: null, reactionCounts: { like: 1 }, reader }
    return example(encode(byReader, reaction))
  }
  if (type.startsWith('discussion_'))
    return example(encode(MODERATOR, { discussion: discussion(type, discussionId, at) }))
  const isByReader = type === 'comment_created' || type === 'comment_edited'
  const data = {
    comment: { ...comment(type, at), id: commentId, discussionId, author: type === 'comment_deleted' ? null : reader },
  }
  return example(encode(isByReader ? byReader : MODERATOR, data))
}

const MODERATOR = JSON.stringify({ kind: 'moderator' })

const discussion = (type: EventType, id: Id, at: string): Discussion =>
  withNulls({
    id,
    externalId: 'example-page',
    title: 'An example',
    url: 'https://www.example.com/example-page',
    state: type === 'discussion_locked' ? 'locked' : type === 'discussion_archived' ? 'archived' : 'open',
    commentCount: 1,
    lastEventId: '0',
    createdAt: at,
    updatedAt: at,
    lastCommentedAt: at,
  })

const comment = (type: EventType, at: string): Omit<Comment, 'id' | 'discussionId' | 'author'> => ({
  ...NULLS,
  depth: 0,
  body: 'An example of a comment.',
  bodyHtml: '<p>An example of a comment.</p>\n',
  status: type === 'comment_rejected' ? 'withheld' : type === 'comment_deleted' ? 'deleted' : 'approved',
  pinnedAt: type === 'comment_pinned' ? at : null,
  editedAt: type === 'comment_edited' ? at : null,
  deletedAt: type === 'comment_deleted' ? at : null,
  revision: type === 'comment_edited' ? 2 : 1,
  replyCount: 0,
  reactionCounts: {},
  ...VIEWERS_FIELDS,
  createdAt: at,
  // Deleted and rejected comments have no text.
  ...(type === 'comment_deleted' || type === 'comment_rejected' ? NO_TEXT : {}),
})
