import { listOf, type RelayConnection, type RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'GET /readers/me/mutes',
    summary: 'List muted readers',
    operation: `query ViewerMutes($first: Int, $after: String) {
      viewer { mutes(first: $first, after: $after) { ...ReaderMuteConnectionFields } }
    }`,
    answer: ({ viewer }: { viewer: { mutes: RelayConnection } }) => listOf(viewer.mutes),
  },
  { route: 'PUT /readers/:readerId/mute', summary: 'Mute a reader', field: 'muteReader' },
  { route: 'DELETE /readers/:readerId/mute', summary: 'Unmute a reader', field: 'unmuteReader', status: 204 },
]
