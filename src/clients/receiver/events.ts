// Events as they are sent, for backends (`engagement-service/webhooks`) and pages
// (`engagement-service/client`). Made from the schema by `npm run generate`: edit that.

/** Who did it. A reader has ids, until they are erased. */
export type Actor =
  { kind: 'reader'; readerId?: string; externalId?: string } | { kind: 'moderator' } | { kind: 'system' }

/** A reader of the tenant's site, as its backend vouches for them. */
export interface Reader {
  /** The id of the reader in this service. */
  id: string
  /** The reader's id at the tenant (`sub` of the assertion). */
  externalId: string
  /** The name to show, where the tenant gave one. */
  name: string | null
  /** An https picture of the reader. */
  avatarUrl: string | null
  /** An https page about the reader. */
  profileUrl: string | null
}

/** A comment of a reader. */
export interface Comment {
  /** The id of the comment. */
  id: string
  /** The discussion that it stands in. */
  discussionId: string
  /** The comment that it replies to; null at the top. */
  parentId: string | null
  /** How many comments stand above it; 0 at the top. */
  depth: number
  /** Who wrote it; null for a tombstone and after the erasure of the reader. */
  author: Reader | null
  /** Markdown; null for a tombstone. */
  body: string | null
  /** The body as sanitised HTML, safe to insert as it is; null for a tombstone. */
  bodyHtml: string | null
  /** Whether it is public, and why not. */
  status: 'approved' | 'deleted' | 'pending' | 'rejected'
  /** When it was pinned. */
  pinnedAt: string | null
  /** When it was last edited. */
  editedAt: string | null
  /** When it was deleted. */
  deletedAt: string | null
  /** 1 as posted; one more with each edit. */
  revision: number
  /** How many direct replies are in view. */
  replyCount: number
  /** How often each type is held: `{type: n}`. */
  reactionCounts: Record<string, number>
  /** What the asserted reader holds on it; null without an identity. */
  viewerReaction: string | null
  /** When it was posted. */
  createdAt: string
}

/** What the events of a comment carry. */
export interface CommentEventData {
  /** The comment as the event left it. */
  comment: Comment
}

/** What `reaction_toggled` carries. */
export interface Reaction {
  /** The comment. */
  commentId: string
  /** What the reader holds now; null for nothing. */
  type: string | null
  /** What the reader held before. */
  previousType: string | null
  /** How often each type is held by all readers. */
  reactionCounts: Record<string, number>
  /** Who reacted; null after an erasure. */
  reader: Reader | null
}

/** The comment thread of one of the tenant's pages. */
export interface Discussion {
  /** The id of the discussion in this service. */
  id: string
  /** The tenant's own key for the page. */
  externalId: string
  /** The title of the page. */
  title: string | null
  /** The address of the page. */
  url: string | null
  /** Who may write in it. */
  state: 'archived' | 'locked' | 'open'
  /** How many approved comments it has, exact at every commit. */
  commentCount: number
  /**
   * The stream position that this representation reflects: open the stream with it and miss
   * nothing.
   */
  lastEventId: string
  /** When it was created. */
  createdAt: string
  /** When anything in it last changed. */
  updatedAt: string
  /** When its last approved comment was posted. */
  lastCommentedAt: string | null
}

/** What the events of a discussion carry. */
export interface DiscussionEventData {
  /** The discussion as the event left it. */
  discussion: Discussion
}

/** The reader whom a notification is for. */
export interface EventRecipient {
  /** The id of the reader in this service. */
  readerId: string
  /** The reader's id at the tenant. */
  externalId: string
}

/** What `notification_reply` carries. */
export interface ReplyNotification {
  /** The reply. */
  comment: Comment
  /** The comment of the recipient that it replies to. */
  parentCommentId: string
  /** Whom it is for; null after the erasure of the reader. */
  recipient: EventRecipient | null
}

interface EventOf<Type, Data> {
  /** The id of the event, the same everywhere. */
  id: string
  /** The type of the event. */
  type: Type
  /** Where it happened. */
  discussionId: string
  /** 1, 2, 3, … per discussion, in commit order; 0 in a test delivery. */
  seq: number
  /** When it happened. */
  occurredAt: string
  /** Who did it. */
  actor: Actor
  /** What it happened to. */
  data: Data
}

/** The data of each event that streams and webhooks bring. */
interface CommonData {
  /** A comment was posted. `data.comment.status` says whether it waits for a moderator. */
  comment_created: CommentEventData
  /**
   * The author has changed the text. Of the system, without a body: reports have taken the comment
   * out of view.
   */
  comment_edited: CommentEventData
  /** The author, a moderator or an erasure has deleted the comment. */
  comment_deleted: CommentEventData
  /** A moderator or the tenant's classifier has approved the comment. */
  comment_approved: CommentEventData
  /** A moderator or the tenant's classifier has rejected the comment. */
  comment_rejected: CommentEventData
  /** A moderator has pinned the comment. */
  comment_pinned: CommentEventData
  /** A moderator has removed the pin. */
  comment_unpinned: CommentEventData
  /** A reader has set, changed or removed a reaction. */
  reaction_toggled: Reaction
  /** The discussion takes no more comments of readers. */
  discussion_locked: DiscussionEventData
  /** The discussion takes comments of readers again. */
  discussion_unlocked: DiscussionEventData
  /** The discussion is archived, which is final. */
  discussion_archived: DiscussionEventData
}

/** The data of each event that streams bring. */
interface StreamData extends CommonData {
  /** Somebody has answered a reader's comment. Only this reader's tickets and API keys get it. */
  notification_reply: ReplyNotification
}

type EventsOf<Data> = { [Type in keyof Data]: EventOf<Type, Data[Type]> }[keyof Data]

/** What a stream and a webhook both bring; `type` tells which. */
export type CommonEvent = EventsOf<CommonData>

/** What a stream brings: also replies to the reader whom its ticket names. */
export type StreamEvent = EventsOf<StreamData>
