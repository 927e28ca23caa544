import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /latest-comments', summary: 'List the latest comments', field: 'latestComments' },
  { route: 'GET /most-discussed', summary: 'List the most discussed pages', field: 'mostDiscussed' },
]
