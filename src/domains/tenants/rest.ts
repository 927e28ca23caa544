import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'POST', path: '/admin/auth/login', summary: 'Log in as an admin', field: 'login', status: 200 },
  { method: 'GET', path: '/admin/me', summary: 'Retrieve the current admin', field: 'me', status: 200 },
]
