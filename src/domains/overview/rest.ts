import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'GET', path: '/overview', summary: 'Retrieve the overview', field: 'overview', status: 200 },
]
