import {
  CommentReactionsDocument,
  RemoveReactionDocument,
  SetReactionDocument,
  ToggleReactionDocument,
} from '../../generated/documents.ts'
import { listOf, type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/comments/:id/reactions',
    summary: 'How often each type is held, and a page of who holds it, the last first',
    document: CommentReactionsDocument,
    status: 200,
    answer: ({ comment }) => comment && { reactionCounts: comment.reactionCounts, ...listOf(comment.reactions) },
  }),
  route({
    method: 'POST',
    path: '/comments/:commentId/reactions',
    summary: 'Toggles a reaction',
    document: ToggleReactionDocument,
    status: 200,
  }),
  route({
    method: 'PUT',
    path: '/comments/:commentId/reaction',
    summary: 'Sets the reaction; safe to send again',
    document: SetReactionDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/comments/:commentId/reaction',
    summary: 'Removes the reaction; safe to send again',
    document: RemoveReactionDocument,
    status: 200,
  }),
]
