// `npm run generate` writes this from page.graphql.
import { type DocumentNode, parse } from 'graphql'

/** A document with the types of its result and variables, as Apollo Client and urql know it. */
export interface TypedDocumentNode<Result, Variables> extends DocumentNode {
  __apiType?: (variables: Variables) => Result
}

const documentOf = <Result, Variables>(...texts: string[]): TypedDocumentNode<Result, Variables> =>
  parse(texts.join('\n'))

const READER_PARTS = `fragment ReaderParts on Reader {
  id
  name
  avatarUrl
  profileUrl
}`
const COMMENT_PARTS = `fragment CommentParts on Comment {
  id
  discussionId
  parentId
  depth
  status
  bodyHtml
  createdAt
  editedAt
  deletedAt
  pinnedAt
  replyCount
  author {
    ...ReaderParts
  }
  reactionGroups {
    type
    count
    viewerHasReacted
  }
}`
const COMMENT_PAGE = `fragment CommentPage on CommentConnection {
  nodes {
    ...CommentParts
  }
  pageInfo {
    hasNextPage
    endCursor
  }
}`
const COMMENT_PLACE = `fragment CommentPlace on Comment {
  ...CommentParts
  parent {
    id
    replyCount
  }
  discussion {
    id
    commentCount
    state
  }
}`
export const ReaderParts = /* @__PURE__ */ documentOf<ReaderPartsFragment, Record<string, never>>(READER_PARTS)
export const CommentParts = /* @__PURE__ */ documentOf<CommentPartsFragment, Record<string, never>>(
  COMMENT_PARTS,
  READER_PARTS,
)
export const CommentPage = /* @__PURE__ */ documentOf<CommentPageFragment, Record<string, never>>(
  COMMENT_PAGE,
  COMMENT_PARTS,
  READER_PARTS,
)
export const CommentPlace = /* @__PURE__ */ documentOf<CommentPlaceFragment, Record<string, never>>(
  COMMENT_PLACE,
  COMMENT_PARTS,
  READER_PARTS,
)
export const DiscussionPage = /* @__PURE__ */ documentOf<DiscussionPageQuery, DiscussionPageQueryVariables>(
  `query DiscussionPage($externalId: String!, $first: Int = 20, $after: String, $sort: CommentSort = newest) {
  discussion(by: {externalId: $externalId}) {
    id
    externalId
    state
    commentCount
    lastEventId
    comments(first: $first, after: $after, sort: $sort) {
      ...CommentPage
    }
  }
}`,
  COMMENT_PAGE,
  COMMENT_PARTS,
  READER_PARTS,
)
export const CommentReplies = /* @__PURE__ */ documentOf<CommentRepliesQuery, CommentRepliesQueryVariables>(
  `query CommentReplies($id: ID!, $first: Int = 20, $after: String, $sort: CommentSort = oldest) {
  comment(id: $id) {
    id
    replyCount
    replies(first: $first, after: $after, sort: $sort) {
      ...CommentPage
    }
  }
}`,
  COMMENT_PAGE,
  COMMENT_PARTS,
  READER_PARTS,
)
export const PageSettings = /* @__PURE__ */ documentOf<
  PageSettingsQuery,
  PageSettingsQueryVariables
>(`query PageSettings {
  publicSettings {
    reactionTypes
    maxDepth
    editWindowSeconds
  }
}`)
export const CurrentReader = /* @__PURE__ */ documentOf<CurrentReaderQuery, CurrentReaderQueryVariables>(
  `query CurrentReader {
  viewer {
    ...ReaderParts
  }
}`,
  READER_PARTS,
)
export const HeldComments = /* @__PURE__ */ documentOf<HeldCommentsQuery, HeldCommentsQueryVariables>(
  `query HeldComments($discussionId: ID!) {
  viewer {
    id
    pending: comments(discussionId: $discussionId, status: pending) {
      ...CommentPage
    }
    rejected: comments(discussionId: $discussionId, status: rejected) {
      ...CommentPage
    }
  }
}`,
  COMMENT_PAGE,
  COMMENT_PARTS,
  READER_PARTS,
)
export const CreateComment = /* @__PURE__ */ documentOf<CreateCommentMutation, CreateCommentMutationVariables>(
  `mutation CreateComment($input: CreateCommentInput!) {
  createComment(input: $input) {
    comment {
      ...CommentPlace
    }
  }
}`,
  COMMENT_PLACE,
  COMMENT_PARTS,
  READER_PARTS,
)
export const UpdateComment = /* @__PURE__ */ documentOf<UpdateCommentMutation, UpdateCommentMutationVariables>(
  `mutation UpdateComment($input: UpdateCommentInput!) {
  updateComment(input: $input) {
    comment {
      ...CommentParts
    }
  }
}`,
  COMMENT_PARTS,
  READER_PARTS,
)
export const DeleteComment = /* @__PURE__ */ documentOf<DeleteCommentMutation, DeleteCommentMutationVariables>(
  `mutation DeleteComment($input: DeleteCommentInput!) {
  deleteComment(input: $input) {
    comment {
      ...CommentPlace
    }
  }
}`,
  COMMENT_PLACE,
  COMMENT_PARTS,
  READER_PARTS,
)
export const ToggleReaction = /* @__PURE__ */ documentOf<
  ToggleReactionMutation,
  ToggleReactionMutationVariables
>(`mutation ToggleReaction($input: ToggleReactionInput!) {
  toggleReaction(input: $input) {
    comment {
      id
      reactionGroups {
        type
        count
        viewerHasReacted
      }
    }
  }
}`)
export const ReportComment = /* @__PURE__ */ documentOf<
  ReportCommentMutation,
  ReportCommentMutationVariables
>(`mutation ReportComment($input: ReportCommentInput!) {
  reportComment(input: $input) {
    report {
      commentId
      reason
    }
  }
}`)
export const DiscussionEvents = /* @__PURE__ */ documentOf<
  DiscussionEventsSubscription,
  DiscussionEventsSubscriptionVariables
>(
  `subscription DiscussionEvents($discussionId: ID!, $lastEventId: String!) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
    id
    seq
    type
    data {
      ... on CommentEventData {
        comment {
          ...CommentPlace
        }
        tombstones {
          ...CommentPlace
        }
      }
      ... on ReactionEventData {
        comment {
          id
          reactionGroups {
            type
            count
            viewerHasReacted
          }
        }
      }
      ... on DiscussionEventData {
        discussion {
          id
          state
          commentCount
        }
      }
      ... on ReplyNotificationData {
        comment {
          ...CommentPlace
        }
      }
    }
  }
}`,
  COMMENT_PLACE,
  COMMENT_PARTS,
  READER_PARTS,
)
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] }
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never }
/** The order of a level of a thread. */
export type CommentSort =
  /** Newest first. */
  | 'newest'
  /** Oldest first. */
  | 'oldest'
  /** Most reactions first, then most replies, then newest. */
  | 'top'

/** Only the text of an approved comment is public. */
export type CommentStatus =
  /** Public. */
  | 'approved'
  /** Deleted. It stays as a tombstone while it has replies in view. */
  | 'deleted'
  /** Waits for a moderator. */
  | 'pending'
  /** Rejected by a moderator. */
  | 'rejected'
  /** The tombstone of a pending or rejected comment with replies in view. Its author gets its state instead, and so do moderators by its id. */
  | 'withheld'

/** What the operation takes. */
export type CreateCommentInput = {
  /** Markdown, 1 to 10 000 characters after trimming. */
  body: string
  /** The discussion to post in. The first comment on an external id creates it. */
  discussion: DiscussionBy
  /** The comment to reply to. */
  parentId?: string | null | undefined
}

/** The reason of a decision on a comment. */
export type DecisionReason =
  /** It insults or threatens. */
  | 'abuse'
  /** It is against the law. */
  | 'illegal'
  /** It does not belong to the page. */
  | 'off_topic'
  /** Another reason, which the message may tell. */
  | 'other'
  /** It is spam. */
  | 'spam'

/** What the operation takes. */
export type DeleteCommentInput = {
  /** Refuses the deletion unless the asserted reader is the author, even if the caller has moderate_content. */
  asAuthor?: boolean | null | undefined
  /** The comment. */
  commentId: string
  /** A message to the author of the comment, 1 to 500 characters. */
  message?: string | null | undefined
  /** The reason, for the author of the comment. */
  reason?: DecisionReason | null | undefined
}

/** Names a discussion. */
export type DiscussionBy =
  | {
      /** The tenant's own key for the page. */
      externalId: string
      id?: never
    }
  | { externalId?: never /** Its id in this service. */; id: string }

/** open → locked → open; open or locked → archived, which is final. */
export type DiscussionState =
  /** Nothing can be changed. This is final. */
  | 'archived'
  /** Readers cannot write; moderators can act. */
  | 'locked'
  /** Readers may write. */
  | 'open'

/** The type of an event. */
export type EventType =
  /** A moderator or the tenant's classifier has approved the comment. */
  | 'comment_approved'
  /** A comment was posted. `data.comment.status` says whether it waits for a moderator. */
  | 'comment_created'
  /** The author, a moderator or an erasure has deleted the comment. */
  | 'comment_deleted'
  /** The author has changed the text. If the actor is the system and there is no body, reports or a ban of its author have hidden the comment. */
  | 'comment_edited'
  /** A moderator has pinned the comment. */
  | 'comment_pinned'
  /** A moderator or the tenant's classifier has rejected the comment. */
  | 'comment_rejected'
  /** A moderator has removed the pin. */
  | 'comment_unpinned'
  /** The discussion is archived, which is final. */
  | 'discussion_archived'
  /** The discussion takes no more comments of readers. */
  | 'discussion_locked'
  /** The discussion takes comments of readers again. */
  | 'discussion_unlocked'
  /** A reader's comment was answered. Only this reader's tickets and API keys get the event. */
  | 'notification_reply'
  /** A reader has set, changed or removed a reaction. */
  | 'reaction_toggled'

/** What the operation takes. */
export type ReportCommentInput = {
  /** The comment. */
  commentId: string
  /** A note, at most 1 000 characters. */
  note?: string | null | undefined
  /** The reason of the report. */
  reason: ReportReason
}

/** The reason of a report. */
export type ReportReason =
  /** It insults or threatens. */
  | 'abuse'
  /** It does not belong to the page. */
  | 'off_topic'
  /** Another reason, which the note may tell. */
  | 'other'
  /** It is spam. */
  | 'spam'

/** What the operation takes. */
export type ToggleReactionInput = {
  /** The comment. */
  commentId: string
  /** One of the tenant's reaction types. */
  type: string
}

/** What the operation takes. */
export type UpdateCommentInput = {
  /** Markdown, 1 to 10 000 characters after trimming. */
  body: string
  /** The comment. */
  commentId: string
  /** The revision that the author has read. If the comment has another one, the edit is refused. */
  revision?: number | null | undefined
}

export type ReaderPartsFragment = {
  id: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
}

export type CommentPartsFragment = {
  id: string
  discussionId: string
  parentId: string | null
  depth: number
  status: CommentStatus
  bodyHtml: string | null
  createdAt: string
  editedAt: string | null
  deletedAt: string | null
  pinnedAt: string | null
  replyCount: number
  author: ReaderPartsFragment | null
  reactionGroups: Array<{ type: string; count: number; viewerHasReacted: boolean }>
}

export type CommentPageFragment = {
  nodes: Array<CommentPartsFragment>
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

export type CommentPlaceFragment = {
  parent: { id: string; replyCount: number } | null
  discussion: { id: string; commentCount: number; state: DiscussionState }
} & CommentPartsFragment

export type DiscussionPageQueryVariables = Exact<{
  externalId: string
  first?: number | null | undefined
  after?: string | null | undefined
  sort?: CommentSort | null | undefined
}>

export type DiscussionPageQuery = {
  discussion: {
    id: string
    externalId: string
    state: DiscussionState
    commentCount: number
    lastEventId: string
    comments: CommentPageFragment
  } | null
}

export type CommentRepliesQueryVariables = Exact<{
  id: string
  first?: number | null | undefined
  after?: string | null | undefined
  sort?: CommentSort | null | undefined
}>

export type CommentRepliesQuery = { comment: { id: string; replyCount: number; replies: CommentPageFragment } | null }

export type PageSettingsQueryVariables = Exact<{ [key: string]: never }>

export type PageSettingsQuery = {
  publicSettings: { reactionTypes: Array<string>; maxDepth: number; editWindowSeconds: number } | null
}

export type CurrentReaderQueryVariables = Exact<{ [key: string]: never }>

export type CurrentReaderQuery = { viewer: ReaderPartsFragment | null }

export type HeldCommentsQueryVariables = Exact<{
  discussionId: string
}>

export type HeldCommentsQuery = {
  viewer: { id: string; pending: CommentPageFragment | null; rejected: CommentPageFragment | null } | null
}

export type CreateCommentMutationVariables = Exact<{
  input: CreateCommentInput
}>

export type CreateCommentMutation = { createComment: { comment: CommentPlaceFragment } | null }

export type UpdateCommentMutationVariables = Exact<{
  input: UpdateCommentInput
}>

export type UpdateCommentMutation = { updateComment: { comment: CommentPartsFragment } | null }

export type DeleteCommentMutationVariables = Exact<{
  input: DeleteCommentInput
}>

export type DeleteCommentMutation = { deleteComment: { comment: CommentPlaceFragment } | null }

export type ToggleReactionMutationVariables = Exact<{
  input: ToggleReactionInput
}>

export type ToggleReactionMutation = {
  toggleReaction: {
    comment: { id: string; reactionGroups: Array<{ type: string; count: number; viewerHasReacted: boolean }> } | null
  } | null
}

export type ReportCommentMutationVariables = Exact<{
  input: ReportCommentInput
}>

export type ReportCommentMutation = { reportComment: { report: { commentId: string; reason: ReportReason } } | null }

export type DiscussionEventsSubscriptionVariables = Exact<{
  discussionId: string
  lastEventId: string
}>

export type DiscussionEventsSubscription = {
  discussionEvents: {
    id: string
    seq: number
    type: EventType
    data:
      | { comment: CommentPlaceFragment; tombstones: Array<CommentPlaceFragment> }
      | { discussion: { id: string; state: DiscussionState; commentCount: number } }
      | { comment: { id: string; reactionGroups: Array<{ type: string; count: number; viewerHasReacted: boolean }> } }
      | { comment: CommentPlaceFragment }
  }
}
