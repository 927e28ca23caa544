import { listOf, type RelayConnection, type RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'GET /comments/:id/reactions',
    summary: "List a comment's reactions",
    description: 'Returns the reactions to a comment, and how many there are of each type.',
    operation: `query CommentReactions($id: ID!, $type: String, $first: Int, $after: String) {
      comment(id: $id) {
        reactionCounts
        reactions(type: $type, first: $first, after: $after) { ...HeldReactionConnectionFields }
      }
    }`,
    answer: ({ comment }: { comment: { reactionCounts: object; reactions: RelayConnection } }) => ({
      reactionCounts: comment.reactionCounts,
      ...listOf(comment.reactions),
    }),
  },
  { route: 'POST /comments/:commentId/reactions', summary: 'Toggle a reaction', field: 'toggleReaction' },
  { route: 'PUT /comments/:commentId/reaction', summary: 'Set a reaction', field: 'setReaction' },
  { route: 'DELETE /comments/:commentId/reaction', summary: 'Remove a reaction', field: 'removeReaction' },
]
