import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'POST /readers/:readerId/merge',
    summary: 'Merge a reader into another one',
    field: 'mergeReader',
    select: 'reader { ...ReaderRecordFields }',
  },
  {
    route: 'GET /readers/:readerId/merge',
    summary: 'Retrieve the merge of a reader',
    field: 'readerMerge',
    select: 'isUnderWay into { ...ReaderRecordFields }',
  },
]
