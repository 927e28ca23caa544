import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /readers/:readerId/timeline', summary: "List a reader's timeline", field: 'timeline' },
]
