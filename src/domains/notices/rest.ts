import type { RouteDefinition } from '../../graphql/route.ts'

const ONE = '/notice-channels/:id'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /notice-channels', summary: 'Create a notice channel', field: 'createNoticeChannel', status: 201 },
  { route: 'GET /notice-channels', summary: 'List notice channels', field: 'noticeChannels' },
  { route: `GET ${ONE}`, summary: 'Retrieve a notice channel', field: 'noticeChannel' },
  { route: `PATCH ${ONE}`, summary: 'Update a notice channel', field: 'updateNoticeChannel' },
  { route: `POST ${ONE}/test`, summary: 'Test a notice channel', field: 'testNoticeChannel', status: 202 },
  { route: `DELETE ${ONE}`, summary: 'Delete a notice channel', field: 'deleteNoticeChannel', status: 204 },
]
