import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /exports', summary: 'Create an export', field: 'createExport', status: 202 },
  { route: 'GET /exports', summary: 'List exports', field: 'exports' },
  { route: 'GET /exports/:id', summary: 'Retrieve an export', field: 'export' },
  { route: 'DELETE /exports/:id', summary: 'Delete an export', field: 'deleteExport', status: 204 },
]
