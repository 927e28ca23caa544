import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /imports', summary: 'List imports', field: 'imports' },
  { route: 'GET /imports/:id', summary: 'Retrieve an import', field: 'import' },
]
