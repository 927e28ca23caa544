import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'POST /client-tokens',
    summary: 'Create a client token',
    field: 'createClientToken',
    status: 201,
    // A copy has its own name in OpenAPI.
    answer: ({ createClientToken }: { createClientToken: object }) => ({ ...createClientToken }),
  },
]
