import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /sites', summary: 'Create a site', field: 'createSite', status: 201 },
  { route: 'GET /sites', summary: 'List sites', field: 'sites' },
  { route: 'GET /sites/:id', summary: 'Retrieve a site', field: 'site' },
  { route: 'PATCH /sites/:id', summary: 'Update a site', field: 'updateSite' },
  { route: 'DELETE /sites/:id', summary: 'Delete a site', field: 'deleteSite', status: 204 },
]
