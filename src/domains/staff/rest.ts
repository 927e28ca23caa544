import type { RouteDefinition } from '../../graphql/route.ts'

interface Invited {
  member: object
  invitation: object
}

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /admin/auth/login', summary: 'Log in as a member', field: 'login' },
  { route: 'POST /admin/auth/accept', summary: 'Accept an invitation', field: 'acceptInvitation' },
  { route: 'POST /admin/auth/password', summary: 'Change the own password', field: 'changePassword' },
  { route: 'POST /admin/auth/switch', summary: 'Switch to another tenant', field: 'switchTenant' },
  { route: 'POST /admin/auth/totp', summary: 'Make a second factor', field: 'beginTotp' },
  {
    route: 'POST /admin/auth/totp/confirm',
    summary: 'Confirm the second factor',
    field: 'confirmTotp',
    answer: ({ confirmTotp }: { confirmTotp: object }) => confirmTotp,
  },
  { route: 'DELETE /admin/auth/totp', summary: 'Remove the second factor', field: 'removeTotp', status: 204 },
  { route: 'POST /admin/auth/logout', summary: 'Log out', field: 'logout', status: 204 },
  {
    route: 'POST /admin/auth/logout-everywhere',
    summary: 'Log out everywhere',
    field: 'logoutEverywhere',
    status: 204,
  },
  {
    route: 'GET /admin/me',
    summary: 'Retrieve the current member',
    field: 'me',
    answer: ({ me: { member, ...rest } }: { me: { member: object } }) => ({ ...member, ...rest }),
  },
  { route: 'GET /admin/members', summary: 'List members', field: 'members' },
  {
    route: 'POST /admin/members',
    summary: 'Invite a member',
    field: 'inviteMember',
    status: 201,
    answer: ({ inviteMember: { member, invitation } }: { inviteMember: Invited }) => ({ ...member, invitation }),
  },
  {
    route: 'POST /admin/members/:id/invitation',
    summary: 'Renew an invitation',
    field: 'renewInvitation',
    status: 201,
    answer: ({ renewInvitation: { member, invitation } }: { renewInvitation: Invited }) => ({ ...member, invitation }),
  },
  { route: 'PATCH /admin/members/:id', summary: 'Update a member', field: 'updateMember' },
  { route: 'DELETE /admin/members/:id', summary: 'Remove a member', field: 'deleteMember', status: 204 },
]
