import { listOf, type RelayConnection, type RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/readers/me/mutes',
    summary: 'List muted readers',
    operation: `query ViewerMutes($first: Int, $after: String) {
      viewer { mutes(first: $first, after: $after) { ...ReaderMuteConnectionFields } }
    }`,
    status: 200,
    answer: ({ viewer }: { viewer: { mutes: RelayConnection } }) => listOf(viewer.mutes),
  },
  { method: 'PUT', path: '/readers/:readerId/mute', summary: 'Mute a reader', field: 'muteReader', status: 200 },
  { method: 'DELETE', path: '/readers/:readerId/mute', summary: 'Unmute a reader', field: 'unmuteReader', status: 204 },
]
