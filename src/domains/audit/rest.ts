import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /audit-log', summary: 'List audit log entries', field: 'auditLog' },
]
