import type { RouteDefinition } from '../../graphql/route.ts'

/** The routes also exist below `/admin/`, where only admin tokens are accepted. */
const under = (base: '/keys' | '/admin/keys', by: '' | ' as admin'): readonly RouteDefinition[] => [
  {
    method: 'POST',
    path: base,
    summary: `Create an API key${by}`,
    field: 'createApiKey',
    select: 'apiKey { id label prefix capabilities expiresAt createdAt } key',
    status: 201,
  },
  { method: 'GET', path: base, summary: `List API keys${by}`, field: 'apiKeys', status: 200 },
  { method: 'DELETE', path: `${base}/:id`, summary: `Revoke an API key${by}`, field: 'revokeApiKey', status: 204 },
]

export const routes: readonly RouteDefinition[] = [
  ...under('/keys', ''),
  ...under('/admin/keys', ' as admin'),
  { method: 'POST', path: '/backend-check', summary: 'Check the backend of pages', field: 'backendCheck', status: 200 },
]
