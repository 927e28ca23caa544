import { MergeReaderDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/readers/:readerId/merge',
    summary: 'Merge a reader into another one',
    document: MergeReaderDocument,
    status: 200,
  }),
]
