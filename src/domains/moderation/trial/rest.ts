import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/moderation/try',
    summary: 'Try a text',
    field: 'moderationTrial',
    status: 200,
  },
]
