import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/classifier-secrets',
    summary: 'Create a classifier secret',
    field: 'createClassifierSecret',
    status: 201,
  },
  {
    method: 'GET',
    path: '/classifier-secrets',
    summary: 'List classifier secrets',
    field: 'classifierSecrets',
    status: 200,
  },
  {
    method: 'DELETE',
    path: '/classifier-secrets/:kid',
    summary: 'End a classifier secret',
    field: 'revokeClassifierSecret',
    status: 204,
  },
]
