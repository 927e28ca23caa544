import { listOf, type RelayConnection, type RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/discussions/:discussionId/lock',
    summary: 'Lock a discussion',
    field: 'lockDiscussion',
    status: 200,
  },
  {
    method: 'POST',
    path: '/discussions/:discussionId/unlock',
    summary: 'Unlock a discussion',
    field: 'unlockDiscussion',
    status: 200,
  },
  {
    method: 'POST',
    path: '/discussions/:discussionId/archive',
    summary: 'Archive a discussion',
    field: 'archiveDiscussion',
    status: 200,
  },
  {
    method: 'POST',
    path: '/comments/:commentId/approve',
    summary: 'Approve a comment',
    field: 'approveComment',
    status: 200,
  },
  {
    method: 'POST',
    path: '/comments/:commentId/reject',
    summary: 'Reject a comment',
    field: 'rejectComment',
    status: 200,
  },
  { method: 'POST', path: '/comments/:commentId/pin', summary: 'Pin a comment', field: 'pinComment', status: 200 },
  {
    method: 'POST',
    path: '/comments/:commentId/unpin',
    summary: 'Unpin a comment',
    field: 'unpinComment',
    status: 200,
  },
  {
    method: 'POST',
    path: '/comments/:commentId/review',
    summary: 'Mark a comment as reviewed',
    field: 'reviewComment',
    status: 200,
  },
  {
    method: 'POST',
    path: '/comments/bulk',
    summary: 'Moderate several comments',
    field: 'moderateComments',
    status: 200,
  },
  {
    method: 'POST',
    path: '/comments/:commentId/report',
    summary: 'Report a comment',
    field: 'reportComment',
    status: 201,
  },
  {
    method: 'GET',
    path: '/comments/:id/reports',
    summary: "List a comment's reports",
    field: 'commentReports',
    status: 200,
  },
  {
    method: 'GET',
    path: '/moderation/queue',
    summary: 'List comments to moderate',
    operation: `query ModerationQueue(
      $status: ModerationQueueStatus, $discussionId: ID, $authorId: ID, $reason: HoldReason, $sort: ModerationQueueSort,
      $first: Int, $after: String
    ) {
      moderationQueue(
        status: $status, discussionId: $discussionId, authorId: $authorId, reason: $reason, sort: $sort,
        first: $first, after: $after
      ) {
        partial ...ModerationQueueItemConnectionFields
      }
    }`,
    status: 200,
    answer: ({ moderationQueue }: { moderationQueue: RelayConnection & { partial: boolean } }) => ({
      ...listOf(moderationQueue),
      partial: moderationQueue.partial,
    }),
  },
]
