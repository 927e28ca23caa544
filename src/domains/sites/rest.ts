import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'POST', path: '/sites', summary: 'Create a site', field: 'createSite', status: 201 },
  { method: 'GET', path: '/sites', summary: 'List sites', field: 'sites', status: 200 },
  { method: 'GET', path: '/sites/:id', summary: 'Retrieve a site', field: 'site', status: 200 },
  { method: 'PATCH', path: '/sites/:id', summary: 'Update a site', field: 'updateSite', status: 200 },
  { method: 'DELETE', path: '/sites/:id', summary: 'Delete a site', field: 'deleteSite', status: 204 },
]
