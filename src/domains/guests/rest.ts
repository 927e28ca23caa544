import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'GET /guest-mailer', summary: 'Retrieve the state of the mailer', field: 'guestMailer' },
  { route: 'POST /mail-secrets', summary: 'Create a mail secret', field: 'createMailSecret', status: 201 },
  { route: 'GET /mail-secrets', summary: 'List mail secrets', field: 'mailSecrets' },
  { route: 'DELETE /mail-secrets/:kid', summary: 'End a mail secret', field: 'revokeMailSecret', status: 204 },
]
