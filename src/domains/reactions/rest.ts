import {
  CommentReactionsDocument,
  RemoveReactionDocument,
  SetReactionDocument,
  ToggleReactionDocument,
} from '../../generated/documents.ts'
import { listOf, type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/comments/:id/reactions',
    summary: "List a comment's reactions",
    description: 'Returns the reactions to a comment, and how many there are of each type.',
    document: CommentReactionsDocument,
    status: 200,
    answer: ({ comment }) => comment && { reactionCounts: comment.reactionCounts, ...listOf(comment.reactions) },
  }),
  route({
    method: 'POST',
    path: '/comments/:commentId/reactions',
    summary: 'Toggle a reaction',
    document: ToggleReactionDocument,
    status: 200,
  }),
  route({
    method: 'PUT',
    path: '/comments/:commentId/reaction',
    summary: 'Set a reaction',
    document: SetReactionDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/comments/:commentId/reaction',
    summary: 'Remove a reaction',
    document: RemoveReactionDocument,
    status: 200,
  }),
]
