import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /stream/ticket', summary: 'Create a stream ticket', field: 'createStreamTicket', status: 201 },
  {
    route: 'GET /discussions/:id/presence',
    summary: "Count a discussion's open streams",
    operation: `query DiscussionPresence($id: ID!) {
      discussion(by: { id: $id }) { presence { ...PresenceFields } }
    }`,
  },
]

/** The data of events, with the same fields that REST shows of these types. */
export const eventOperation = `
  subscription DiscussionEvents($discussionId: ID!, $lastEventId: String) {
    discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
      data {
        ... on CommentEventData {
          comment { ...CommentFields }
          # Optional: most events have no such members.
          tombstones @include(if: true) { ...CommentFields }
          wasApproved @include(if: true)
        }
        ... on ReactionEventData { commentId type previousType reactionCounts reader { ...ReaderFields } }
        ... on DiscussionEventData { discussion { ...DiscussionFields } }
        ... on ReplyNotificationData { comment { ...CommentFields } parentCommentId recipient { ...EventRecipientFields } }
      }
    }
  }`
