import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'PUT /readers/:readerId/trust',
    summary: 'Set the trust in a reader',
    field: 'setReaderTrust',
    select: 'reader { ...ReaderRecordFields }',
  },
]
