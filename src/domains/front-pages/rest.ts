import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/latest-comments',
    summary: 'List the latest comments',
    field: 'latestComments',
    status: 200,
  },
  {
    method: 'GET',
    path: '/most-discussed',
    summary: 'List the most discussed pages',
    field: 'mostDiscussed',
    status: 200,
  },
]
