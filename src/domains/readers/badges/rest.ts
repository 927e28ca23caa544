import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'PUT /readers/:readerId/badges',
    summary: 'Set the badges of a reader',
    field: 'setReaderBadges',
    select: 'reader { ...ReaderRecordFields }',
  },
]
