import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'POST /classifier-secrets',
    summary: 'Create a classifier secret',
    field: 'createClassifierSecret',
    status: 201,
  },
  { route: 'GET /classifier-secrets', summary: 'List classifier secrets', field: 'classifierSecrets' },
  {
    route: 'DELETE /classifier-secrets/:kid',
    summary: 'End a classifier secret',
    field: 'revokeClassifierSecret',
    status: 204,
  },
]
