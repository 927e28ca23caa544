import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /moderation/try', summary: 'Try a text', field: 'moderationTrial' },
]
