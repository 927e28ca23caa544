// Events as they are sent, typed for those who take them: backends (`engagement-service/webhooks`)
// and pages (`engagement-service/client`).

export interface Reader {
  id: string
  externalId: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
}

export interface Comment {
  id: string
  discussionId: string
  parentId: string | null
  depth: number
  author: Reader | null
  body: string | null
  bodyHtml: string | null
  status: 'pending' | 'approved' | 'rejected' | 'deleted'
  pinnedAt: string | null
  editedAt: string | null
  deletedAt: string | null
  revision: number
  replyCount: number
  reactionCounts: Record<string, number>
  createdAt: string
}

export interface Discussion {
  id: string
  externalId: string
  title: string | null
  url: string | null
  state: 'open' | 'locked' | 'archived'
  commentCount: number
  lastEventId: string
  createdAt: string
  updatedAt: string
  lastCommentedAt: string | null
}

/** Who made the change. Of a reader who has been erased only the kind is left. */
export type Actor =
  { kind: 'reader'; readerId?: string; externalId?: string } | { kind: 'moderator' } | { kind: 'system' }

interface EventOf<Type extends string, Data> {
  id: string
  type: Type
  discussionId: string
  /** The order within the discussion; 0 for a test. */
  seq: number
  occurredAt: string
  actor: Actor
  data: Data
}

type CommentEvent = `comment_${'created' | 'edited' | 'deleted' | 'approved' | 'rejected' | 'pinned' | 'unpinned'}`
type DiscussionEvent = `discussion_${'locked' | 'unlocked' | 'archived'}`

export interface Reaction {
  commentId: string
  type: string | null
  previousType: string | null
  reactionCounts: Record<string, number>
  /** Null after an erasure. */
  reader: Reader | null
}

export interface ReplyNotification {
  comment: Comment
  parentCommentId: string
  /** Null after an erasure. */
  recipient: { readerId: string; externalId: string } | null
}

/** What a stream and a webhook both bring; `type` tells which. */
export type CommonEvent =
  | { [Type in CommentEvent]: EventOf<Type, { comment: Comment }> }[CommentEvent]
  | { [Type in DiscussionEvent]: EventOf<Type, { discussion: Discussion }> }[DiscussionEvent]
  | EventOf<'reaction_toggled', Reaction>

/** What a stream brings: also replies to the reader whom its ticket names. */
export type StreamEvent = CommonEvent | EventOf<'notification_reply', ReplyNotification>
