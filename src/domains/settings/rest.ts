import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /settings', summary: 'Retrieve the settings', field: 'settings' },
  { route: 'GET /settings/public', summary: 'Retrieve the public settings', field: 'publicSettings' },
  { route: 'PATCH /settings', summary: 'Update the settings', field: 'updateSettings' },
  { route: 'POST /settings/word-matches', summary: 'Try a word list', field: 'wordMatches' },
]
