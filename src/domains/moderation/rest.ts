import { listOf, type RelayConnection, type RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /discussions/:discussionId/lock', summary: 'Lock a discussion', field: 'lockDiscussion' },
  { route: 'POST /discussions/:discussionId/unlock', summary: 'Unlock a discussion', field: 'unlockDiscussion' },
  { route: 'POST /discussions/:discussionId/archive', summary: 'Archive a discussion', field: 'archiveDiscussion' },
  { route: 'POST /comments/:commentId/approve', summary: 'Approve a comment', field: 'approveComment' },
  { route: 'POST /comments/:commentId/reject', summary: 'Reject a comment', field: 'rejectComment' },
  { route: 'POST /comments/:commentId/pin', summary: 'Pin a comment', field: 'pinComment' },
  { route: 'POST /comments/:commentId/unpin', summary: 'Unpin a comment', field: 'unpinComment' },
  { route: 'POST /comments/:commentId/review', summary: 'Mark a comment as reviewed', field: 'reviewComment' },
  { route: 'POST /comments/bulk', summary: 'Moderate several comments', field: 'moderateComments' },
  { route: 'POST /comments/:commentId/report', summary: 'Report a comment', field: 'reportComment', status: 201 },
  { route: 'GET /comments/:id/reports', summary: "List a comment's reports", field: 'commentReports' },
  {
    route: 'GET /moderation/queue',
    summary: 'List comments to moderate',
    field: 'moderationQueue',
    select: 'partial ...ModerationQueueItemConnectionFields',
    answer: ({ moderationQueue }: { moderationQueue: RelayConnection & { partial: boolean } }) => ({
      ...listOf(moderationQueue),
      partial: moderationQueue.partial,
    }),
  },
]
