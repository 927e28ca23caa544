import type { RouteDefinition } from '../../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'PUT',
    path: '/readers/:readerId/trust',
    summary: 'Set the trust in a reader',
    field: 'setReaderTrust',
    select: 'reader { ...ReaderRecordFields }',
    status: 200,
  },
]
