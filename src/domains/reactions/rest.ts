import { RemoveReactionDocument, SetReactionDocument, ToggleReactionDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
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
