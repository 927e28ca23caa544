// Events as they are sent, for backends (`engagement-service/webhooks`) and pages
// (`engagement-service/client`). Made from the schema by `npm run generate`: edit that.

/** Who did it. A reader has ids, until they are erased. */
export type Actor =
  | { kind: 'reader'; readerId?: string; externalId?: string }
  | { kind: 'moderator' }
  | { kind: 'system' }

/** A reader of the tenant's site, as its backend asserts them. */
export interface Reader {
  /** The id of the reader in this service. */
  id: string
  /** The reader's id at the tenant (`sub` of the assertion). */
  externalId: string
  /** The name to show, if the tenant gave one. */
  name: string | null
  /** An https picture of the reader. */
  avatarUrl: string | null
  /** An https page about the reader. */
  profileUrl: string | null
  /** The ids of their badges: at most 10. The public setting `badges` has their labels. */
  badges: string[]
}

/** A decision on a comment, as its author sees it. */
export interface CommentDecision {
  /** What was decided. */
  action: 'approve' | 'reject' | 'delete'
  /** The reason. Null if none was given. */
  reason: 'spam' | 'abuse' | 'off_topic' | 'illegal' | 'other' | null
  /** The moderator's message to the author. */
  message: string | null
  /** Whether the tenant's classifier decided. */
  automated: boolean
  /** When it was decided. */
  at: string
}

/** A comment of a reader. */
export interface Comment {
  /** The id of the comment. */
  id: string
  /** The discussion that it belongs to. */
  discussionId: string
  /** The comment that it replies to. Null at the top level. */
  parentId: string | null
  /** The number of comments above it. 0 at the top level. */
  depth: number
  /** The author. Null for a tombstone and after the erasure of the reader. */
  author: Reader | null
  /** The text in Markdown. Null for a tombstone. */
  body: string | null
  /** The body as sanitised HTML, safe to insert into a page. Null for a tombstone. */
  bodyHtml: string | null
  /** The state of the comment. Only the text of an approved comment is public. */
  status: 'pending' | 'approved' | 'rejected' | 'deleted' | 'withheld'
  /** When it was pinned. */
  pinnedAt: string | null
  /** When it was last edited. Null for a tombstone. */
  editedAt: string | null
  /** When it was deleted. */
  deletedAt: string | null
  /** The version of the text: 1 when posted, one more with each edit. 1 for a tombstone. */
  revision: number
  /** The number of direct replies in view: approved ones, and tombstones with replies in view. */
  replyCount: number
  /** The number of reactions by type: `{type: n}`. */
  reactionCounts: Record<string, number>
  /** The reaction of the asserted reader. Null without an identity. */
  viewerReaction: string | null
  /** True if the asserted reader has muted the author. Null otherwise, and without an identity. */
  authorMuted: boolean | null
  /**
   * The last decision on it, for its author. Null for everyone else, before a decision, and after
   * an edit.
   */
  decision: CommentDecision | null
  /** When it was posted. */
  createdAt: string
}

/** The data of events about a comment. */
export interface CommentEventData {
  /** The comment after the event; in GraphQL as its subscriber may read it now. */
  comment: Comment
  /**
   * Tombstones that come into view, leave it (`replyCount` 0) or change with the comment, the
   * nearest first. None of them was approved before.
   */
  tombstones?: Comment[]
  /**
   * Of `comment_approved`: the comment was approved before, and counts already. A moderator has
   * told its author something, and nobody else gets the event.
   */
  wasApproved?: boolean
}

/** The data of `reaction_toggled`. */
export interface Reaction {
  /** The comment. */
  commentId: string
  /** The reader's present reaction. Null if they removed it. */
  type: string | null
  /** The reader's previous reaction. */
  previousType: string | null
  /** The number of reactions of all readers by type. */
  reactionCounts: Record<string, number>
  /** The reader who reacted. Null after their erasure. */
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
  state: 'open' | 'locked' | 'archived'
  /** The stream position of this answer. Open the stream with it to miss nothing. */
  lastEventId: string
  /** When it was created. */
  createdAt: string
  /** When anything in it last changed. */
  updatedAt: string
  /**
   * When the last comment that came into view was posted. It stays when that comment leaves the
   * view.
   */
  lastCommentedAt: string | null
  /** When moderators see its comments. Null: as the tenant's setting says. */
  moderationMode: 'none' | 'pre' | 'post' | null
  /** When it is locked. Null: as the tenant's autoCloseDays says. */
  closesAt: string | null
  /**
   * Seconds in which a reader can post one comment in it; 0: any number. Null: as the tenant's
   * setting says.
   */
  slowModeSeconds: number | null
  /** The number of approved comments, exact at every commit. */
  commentCount: number
}

/** The data of events about a discussion. */
export interface DiscussionEventData {
  /** The discussion after the event; in GraphQL as it is now. */
  discussion: Discussion
}

/** The reader that notifications are for. */
export interface EventRecipient {
  /** The id of the reader in this service. */
  readerId: string
  /** The reader's id at the tenant. */
  externalId: string
}

/** The data of `notification_reply`. */
export interface ReplyNotification {
  /** The reply; in GraphQL as its subscriber may read it now. */
  comment: Comment
  /** The id of the recipient's comment that was answered. */
  parentCommentId: string
  /** The recipient. Null after the erasure of the reader. */
  recipient: EventRecipient | null
}

interface EventOf<Type, Data> {
  /** The id of the event, the same everywhere. */
  id: string
  /** The type of the event. */
  type: Type
  /** The discussion of the event. */
  discussionId: string
  /** 1, 2, 3, … per discussion, in commit order; 0 in a test delivery. */
  seq: number
  /** When it happened. */
  occurredAt: string
  /** Who did it. */
  actor: Actor
  /** What the event is about. */
  data: Data
}

/** The data of each event that streams and webhooks bring. */
interface CommonData {
  /** A comment was posted. `data.comment.status` says whether it waits for a moderator. */
  comment_created: CommentEventData
  /**
   * The author has changed the text. If the actor is the system and there is no body, reports or a
   * ban of its author have hidden the comment.
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
  /** A reader's comment was answered. Only this reader's tickets and API keys get the event. */
  notification_reply: ReplyNotification
}

type EventsOf<Data> = { [Type in keyof Data]: EventOf<Type, Data[Type]> }[keyof Data]

/** What a stream and a webhook both bring; `type` tells which. */
export type CommonEvent = EventsOf<CommonData>

/** What a stream brings: also replies to the reader whom its ticket names. */
export type StreamEvent = EventsOf<StreamData>
