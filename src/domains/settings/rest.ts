import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'GET', path: '/settings', summary: 'Retrieve the settings', field: 'settings', status: 200 },
  {
    method: 'GET',
    path: '/settings/public',
    summary: 'Retrieve the public settings',
    field: 'publicSettings',
    status: 200,
  },
  { method: 'PATCH', path: '/settings', summary: 'Update the settings', field: 'updateSettings', status: 200 },
  { method: 'POST', path: '/settings/word-matches', summary: 'Try a word list', field: 'wordMatches', status: 200 },
]
