import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /analytics/summary', summary: 'Retrieve the analytics summary', field: 'analyticsSummary' },
  { route: 'GET /analytics/top', summary: 'List top discussions and readers', field: 'analyticsTop' },
  { route: 'GET /analytics/team', summary: 'Retrieve the analytics of the team', field: 'analyticsTeam' },
]
