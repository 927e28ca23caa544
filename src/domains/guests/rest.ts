import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/guest-mailer',
    summary: 'Retrieve the state of the mailer',
    field: 'guestMailer',
    status: 200,
  },
  {
    method: 'POST',
    path: '/mail-secrets',
    summary: 'Create a mail secret',
    field: 'createMailSecret',
    status: 201,
  },
  {
    method: 'GET',
    path: '/mail-secrets',
    summary: 'List mail secrets',
    field: 'mailSecrets',
    status: 200,
  },
  {
    method: 'DELETE',
    path: '/mail-secrets/:kid',
    summary: 'End a mail secret',
    field: 'revokeMailSecret',
    status: 204,
  },
]
