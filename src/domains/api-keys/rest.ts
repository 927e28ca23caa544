import type { RouteDefinition } from '../../graphql/route.ts'

/** The routes also exist below `/admin/`, where only admin tokens are accepted. */
const under = (base: '/keys' | '/admin/keys', by: '' | ' as admin'): readonly RouteDefinition[] => [
  {
    route: `POST ${base}`,
    summary: `Create an API key${by}`,
    field: 'createApiKey',
    select: 'apiKey { id label prefix capabilities expiresAt createdAt } key',
    status: 201,
  },
  { route: `GET ${base}`, summary: `List API keys${by}`, field: 'apiKeys' },
  { route: `DELETE ${base}/:id`, summary: `Revoke an API key${by}`, field: 'revokeApiKey', status: 204 },
]

export const routes: readonly RouteDefinition[] = [
  ...under('/keys', ''),
  ...under('/admin/keys', ' as admin'),
  { route: 'POST /backend-check', summary: 'Check the backend of pages', field: 'backendCheck' },
]
