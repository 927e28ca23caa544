import type { RouteDefinition } from '../../graphql/route.ts'

interface Invited {
  member: object
  invitation: object
}

export const routes: readonly RouteDefinition[] = [
  { method: 'POST', path: '/admin/auth/login', summary: 'Log in as a member', field: 'login', status: 200 },
  {
    method: 'POST',
    path: '/admin/auth/accept',
    summary: 'Accept an invitation',
    field: 'acceptInvitation',
    status: 200,
  },
  {
    method: 'POST',
    path: '/admin/auth/password',
    summary: 'Change the own password',
    field: 'changePassword',
    status: 200,
  },
  {
    method: 'POST',
    path: '/admin/auth/switch',
    summary: 'Switch to another tenant',
    field: 'switchTenant',
    status: 200,
  },
  { method: 'POST', path: '/admin/auth/totp', summary: 'Make a second factor', field: 'beginTotp', status: 200 },
  {
    method: 'POST',
    path: '/admin/auth/totp/confirm',
    summary: 'Confirm the second factor',
    field: 'confirmTotp',
    status: 200,
    answer: ({ confirmTotp }: { confirmTotp: object }) => confirmTotp,
  },
  { method: 'DELETE', path: '/admin/auth/totp', summary: 'Remove the second factor', field: 'removeTotp', status: 204 },
  { method: 'POST', path: '/admin/auth/logout', summary: 'Log out', field: 'logout', status: 204 },
  {
    method: 'POST',
    path: '/admin/auth/logout-everywhere',
    summary: 'Log out everywhere',
    field: 'logoutEverywhere',
    status: 204,
  },
  {
    method: 'GET',
    path: '/admin/me',
    summary: 'Retrieve the current member',
    field: 'me',
    status: 200,
    answer: ({ me: { member, ...rest } }: { me: { member: object } }) => ({ ...member, ...rest }),
  },
  { method: 'GET', path: '/admin/members', summary: 'List members', field: 'members', status: 200 },
  {
    method: 'POST',
    path: '/admin/members',
    summary: 'Invite a member',
    field: 'inviteMember',
    status: 201,
    answer: ({ inviteMember: { member, invitation } }: { inviteMember: Invited }) => ({ ...member, invitation }),
  },
  {
    method: 'POST',
    path: '/admin/members/:id/invitation',
    summary: 'Renew an invitation',
    field: 'renewInvitation',
    status: 201,
    answer: ({ renewInvitation: { member, invitation } }: { renewInvitation: Invited }) => ({ ...member, invitation }),
  },
  { method: 'PATCH', path: '/admin/members/:id', summary: 'Update a member', field: 'updateMember', status: 200 },
  { method: 'DELETE', path: '/admin/members/:id', summary: 'Remove a member', field: 'deleteMember', status: 204 },
]
