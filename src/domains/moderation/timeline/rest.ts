import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/readers/:readerId/timeline',
    summary: "List a reader's timeline",
    field: 'timeline',
    status: 200,
  },
]
