import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/moderation/claim',
    summary: 'Claim comments',
    field: 'claimComments',
    status: 200,
  },
  {
    method: 'DELETE',
    path: '/moderation/claim',
    summary: 'Give claimed comments back',
    field: 'releaseClaims',
    status: 204,
  },
]
