import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/analytics/summary',
    summary: 'Retrieve the analytics summary',
    field: 'analyticsSummary',
    status: 200,
  },
  {
    method: 'GET',
    path: '/analytics/top',
    summary: 'List top discussions and readers',
    field: 'analyticsTop',
    status: 200,
  },
  {
    method: 'GET',
    path: '/analytics/team',
    summary: 'Retrieve the analytics of the team',
    field: 'analyticsTeam',
    status: 200,
  },
]
