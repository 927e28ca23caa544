import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /overview', summary: 'Retrieve the overview', field: 'overview' },
]
