import type * as ready from 'engagement-service/graphql/documents'

// The texts of what the page asks. `COMMENT` is all that it shows of a comment.
const COMMENT = `fragment Parts on Comment {
  id discussionId parentId status bodyHtml pinnedAt replyCount
  author { id name }
  reactionGroups { type count viewerHasReacted }
}`
const LIST = `fragment List on CommentConnection { nodes { ...Parts } pageInfo { hasNextPage endCursor } } ${COMMENT}`
const COUNTS = `fragment Counts on Comment { ...Parts parent { id replyCount } discussion { id commentCount } } ${COMMENT}`

export const PAGE = `query Page($externalId: String!, $first: Int!, $after: String) {
  viewer { id name }
  thread: discussion(by: { externalId: $externalId }) {
    id commentCount lastEventId
    comments(first: $first, after: $after) { ...List }
  }
} ${LIST}`

export const HELD = `query Held($id: ID!) {
  viewer {
    pending: comments(discussionId: $id, status: pending) { nodes { ...Parts } }
    rejected: comments(discussionId: $id, status: rejected) { nodes { ...Parts } }
  }
} ${COMMENT}`

export const REPLIES = `query Replies($id: ID!, $first: Int!, $after: String) {
  thread: comment(id: $id) { id comments: replies(first: $first, after: $after, sort: oldest) { ...List } }
} ${LIST}`

export const CREATE = `mutation Create($input: CreateCommentInput!) {
  createComment(input: $input) { comment { ...Counts } }
} ${COUNTS}`

export const TOGGLE = `mutation Toggle($input: ToggleReactionInput!) {
  toggleReaction(input: $input) { comment { id reactionGroups { type count viewerHasReacted } } }
}`

export const EVENTS = `subscription Events($discussionId: ID!, $lastEventId: String!) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
    seq
    data {
      ... on CommentEventData { comment { ...Counts } tombstones { ...Counts } }
      ... on ReactionEventData { comment { id reactionGroups { type count viewerHasReacted } } }
    }
  }
} ${COUNTS}`

/** A comment, as far as an answer or an event tells of it. */
export type Comment = { id: string } & Partial<ready.CommentPlaceFragment>
export type Reader = NonNullable<ready.CurrentReaderQuery['viewer']>
export type Discussion = NonNullable<ready.DiscussionPageQuery['discussion']>
