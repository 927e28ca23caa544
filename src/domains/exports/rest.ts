import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'POST', path: '/exports', summary: 'Create an export', field: 'createExport', status: 202 },
  { method: 'GET', path: '/exports', summary: 'List exports', field: 'exports', status: 200 },
  { method: 'GET', path: '/exports/:id', summary: 'Retrieve an export', field: 'export', status: 200 },
  { method: 'DELETE', path: '/exports/:id', summary: 'Delete an export', field: 'deleteExport', status: 204 },
]
