import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/readers/:readerId/merge',
    summary: 'Merge a reader into another one',
    field: 'mergeReader',
    select: 'reader { ...ReaderRecordFields }',
    status: 200,
  },
  {
    method: 'GET',
    path: '/readers/:readerId/merge',
    summary: 'Retrieve the merge of a reader',
    field: 'readerMerge',
    select: 'isUnderWay into { ...ReaderRecordFields }',
    status: 200,
  },
]
