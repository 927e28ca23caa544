import type { RouteDefinition } from '../../graphql/route.ts'

const ONE = '/notice-channels/:id'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/notice-channels',
    summary: 'Create a notice channel',
    field: 'createNoticeChannel',
    status: 201,
  },
  { method: 'GET', path: '/notice-channels', summary: 'List notice channels', field: 'noticeChannels', status: 200 },
  { method: 'GET', path: ONE, summary: 'Retrieve a notice channel', field: 'noticeChannel', status: 200 },
  { method: 'PATCH', path: ONE, summary: 'Update a notice channel', field: 'updateNoticeChannel', status: 200 },
  { method: 'POST', path: `${ONE}/test`, summary: 'Test a notice channel', field: 'testNoticeChannel', status: 202 },
  { method: 'DELETE', path: ONE, summary: 'Delete a notice channel', field: 'deleteNoticeChannel', status: 204 },
]
