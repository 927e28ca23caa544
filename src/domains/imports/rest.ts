import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'GET', path: '/imports', summary: 'List imports', field: 'imports', status: 200 },
  { method: 'GET', path: '/imports/:id', summary: 'Retrieve an import', field: 'import', status: 200 },
]
