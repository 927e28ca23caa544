import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /moderation/claim', summary: 'Claim comments', field: 'claimComments' },
  { route: 'DELETE /moderation/claim', summary: 'Give claimed comments back', field: 'releaseClaims', status: 204 },
]
