import { listOf, type RelayConnection, type RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'GET /comments',
    summary: 'Search comments',
    description:
      "Returns the tenant's comments in any state. A request looks at 10 000 comments at most: a page that ends there is partial, may be short or empty, and has a nextCursor.",
    operation: `query SearchComments(
      $search: String, $status: CommentStatus, $authorId: ID, $discussionId: ID, $reason: HoldReason,
      $from: DateTime, $to: DateTime, $sort: CommentSearchSort, $first: Int, $after: String
    ) {
      comments(
        search: $search, status: $status, authorId: $authorId, discussionId: $discussionId, reason: $reason,
        from: $from, to: $to, sort: $sort, first: $first, after: $after
      ) { partial ...CommentConnectionFields }
    }`,
    answer: ({ comments }: { comments: RelayConnection & { partial: boolean } }) => ({
      ...listOf(comments),
      partial: comments.partial,
    }),
  },
]
