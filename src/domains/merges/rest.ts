import { MergeReaderDocument, ReaderMergeDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/readers/:readerId/merge',
    summary: 'Merge a reader into another one',
    document: MergeReaderDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/readers/:readerId/merge',
    summary: 'Retrieve the merge of a reader',
    document: ReaderMergeDocument,
    status: 200,
    answer: ({ readerMerge }) => readerMerge,
  }),
]
